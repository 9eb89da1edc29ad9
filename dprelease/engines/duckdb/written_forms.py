"""The default form of texts for which the spec declares another form.

Numbers with declared marks and dates with a format become texts that ``text_values`` describes; a
text that is not written as declared becomes null. A text with an offset keeps it, and becomes the
wall-clock time of the column's zone when it is typed.
"""

from __future__ import annotations

from dprelease.expressions.nodes import BLANKS
from dprelease.expressions.sqltext import Sql, call
from dprelease.expressions.typed_texts import case_when
from dprelease.model import NUMERIC_TYPES, ColumnType, Dialect, InputColumn
from dprelease.model.date_formats import parse_date_format

_SPACES = "[[:space:]]*"
_NAMED = "[iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN]"
_WORD = f"{_SPACES}[a-zA-Z]+{_SPACES}"
_ONE_DIGIT = r"([- ])([0-9])\b"  # of a month, day or hour


def is_default(declared: InputColumn, dialect: Dialect) -> bool:
    """Tell if texts of the column are in the default form."""
    return not (_has_format(declared) or _has_marks(declared, dialect))


def write_default_form(value: Sql, declared: InputColumn, dialect: Dialect) -> Sql:
    """Rewrite a text in the default form; null if it is not as declared."""
    if _has_format(declared):
        pattern = parse_date_format((declared.format or "").strip(BLANKS))
        regex = f"^{_SPACES}{pattern.regex}{_SPACES}$"
        iso = call("REGEXP_REPLACE", value, regex, pattern.iso)
        padded = call("REGEXP_REPLACE", iso, _ONE_DIGIT, r"\10\2", "g")
        return case_when(call("REGEXP_MATCHES", value, regex), padded)
    if _has_marks(declared, dialect):
        plain = value
        if dialect.thousands:
            plain = call("REPLACE", plain, dialect.thousands, "")
        plain = call("REPLACE", plain, dialect.decimal, ".")
        shape = _number_shape(dialect)
        if declared.type is ColumnType.BOOLEAN:
            shape = f"{shape}|{_WORD}"
        return case_when(call("REGEXP_FULL_MATCH", value, shape), plain)
    return value


def _has_format(declared: InputColumn) -> bool:
    return declared.format is not None and not declared.opaque


def _has_marks(declared: InputColumn, dialect: Dialect) -> bool:
    if declared.opaque or declared.type not in NUMERIC_TYPES:
        return False
    return (dialect.decimal, dialect.thousands) != (".", "")


def _number_shape(dialect: Dialect) -> str:
    """Build a regular expression of numbers written with these marks."""
    whole, mark = "[0-9]+", f"[{dialect.decimal}]"
    if dialect.thousands:
        whole = f"([0-9]+|[0-9]{{1,3}}([{dialect.thousands}][0-9]{{3}})+)"
    digits = f"({whole}({mark}[0-9]*)?|{mark}[0-9]+)([eE][+-]?[0-9]+)?"
    return f"{_SPACES}[+]?-?({digits}|{_NAMED}){_SPACES}"
