"""Made-up lines of CSV files: values of every notation, well written, and lines with some damage.

All of it follows from a random generator, so a seed tells a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from dprelease.model import ColumnType, Dialect
from dprelease.sources.shared.first_lines import BOM, LINE_LIMIT

T = ColumnType
KINDS = {
    "s": T.STRING,
    "i": T.INTEGER,
    "x": T.FLOAT,
    "c": T.DECIMAL,
    "b": T.BOOLEAN,
    "d": T.DATE,
    "t": T.TIMESTAMP,
    "o": T.STRING,  # opaque: the unit
    "n": T.STRING,  # not read
}
NEWLINES = (b"\n", b"\n", b"\r\n", b"\r")
NULLS = (
    ("",),
    ("",),
    ("", "n/a"),
    (),
    ("1",),
    ("0", "-1", "NULL"),
    (" ",),
    ("\\N", "inf"),
    ('""',),
)
DELIMITERS = ",,,,;\t| .-+:/\\#_*'"
QUOTES = ('"', '"', '"', "'", "", "`", "\\", "-", ".")

BLANKS = (" ", "  ", "\t", " \t", "\v", "\f", "\xa0", "\u2003", "\x1f", "\x85")
INTEGERS = (
    "9007199254740991", "9007199254740992", "9007199254740993", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
    "9223372036854775807.0", "9.223372036854775807e18", "00000000000000000000000000000000012",
    "+9007199254740993", " 9007199254740993 ", "9007199254740993_", "900719925474099_3", "12.0",
    "12.5", "1e3", "1e-3", "-0", "+0", "0x10", "0b1", "1,5", "1 000", "\u0661\u0662", "\xbd",
)  # fmt: skip
ODD_NUMBERS = (
    ".", "-", "+", "+-1", "-+1", "--1", "++1", "1.", ".5", "1e", "e5", "1e+", "1.e5", ".e5",
    "1e5.", "1_000", "1__0", "_1", "1_", "1_.5", "1._5", "1e_5", "1e5_", "1e1_0", "0_0",
    "1_000_000.000_001", "inf", "-inf", "+inf", "INF", "+-inf", "Infinity", "-INFINITY", "infinit",
    "infinity1", "nan", "-nan", "+nan", "NaN", "nan(1)", "1#INF", "1d", "1f", "1L", "1%", "$1",
    "1e308", "1e309", "-1e309", "1.7976931348623157e308", "1.7976931348623158e308",
    "1.7976931348623159e308", "5e-324", "4.9e-324", "2.4703282292062327e-324",
    "2.4703282292062328e-324", "2.2250738585072014e-308", "2.2250738585072011e-308", "1e-400",
    "-1e-400", "1e99999999999999999999", "0.1", "-0.0", "0e9", "123456789012345678901234567890_1",
    "12345678901234567890_12345678901234567890", "1.5_5", "0.12345678_901234", "9" * 400,
    "0." + "0" * 400 + "1", "1" + "0" * 310, "9" * 1001, "0" * 2000,
)  # fmt: skip
TRUTHS = (
    "true", "false", "TRUE", "False", "tRuE", "t", "f", "T", "F", "yes", "no", "YES", "No", "y",
    "n", "Y", "N", "1", "0", "on", "off", "1.0", "01", "+1", "-0", " true", "true ", "tru",
    "truee", "\uff11",
)  # fmt: skip
DAYS = (
    "2026-01-31", "2026-02-29", "2024-02-29", "1900-02-29", "2000-02-29", "0001-01-01",
    "0000-12-31", "9999-12-31", "10000-01-01", "-0001-01-01", "+2026-01-31", "2026-1-31",
    "2026-01-1", "26-01-31", "2026/01/31", "2026-01-31 ", " 2026-01-31", "2026-13-01",
    "2026-00-10", "2026-01-00", "2026-01-32", "20260131", "2026-01-31T00:00:00", "2026-01-31 (BC)",
    "infinity", "-infinity", "epoch", "290000-01-01", "5881580-07-10",
    "\u0662\u0660\u0662\u0666-01-31", "2026\u201001\u201031",
)  # fmt: skip
CLOCKS = (
    "00:00:00", "23:59:59", "24:00:00", "23:59:60", "23:60:00", "12:00", "1:02:03", "12:34:56.7",
    "12:34:56.", "12:34:56.1234567", "12:34:56.123456789", "12:34:56.1234567890",
    "23:59:59.9999999", "12:34:56,5", "12:34:56Z", "12:34:56+00", "12:34:56+01:00", "12:34:56 UTC",
    "12:34:56.5+00:00", "12:34:56 PM", "12:34:56 ", "12:34:5\u0666", "-1:00:00",
)  # fmt: skip
BETWEEN = (" ", " ", "T", "T", "t", "  ", "_", "")
WORDS = (
    "", "", "a", "b", "other", "null", "NULL", "n/a", "\\N", "\\", "#", "# a", "--", "//", "=1+1",
    "caf\xe9", "cafe\u0301", "\u1e69\u0323", "\U0001f4a9", "\u2028", "\u202e", "\ufffd", "\uffff",
    "\x01", "\x1a", "\x1c", "\x7f", "\ufeff", "'", "a'b", '"', '""', 'a"b', 'say ""hi""',
    "x" * 300, "ab" * 600, "'\"'", "%", "_", "a,b", "a;b", "a\tb", "a|b", "{}", "[1,2]", "\\n",
    "\\\"", "\\'", "\u0130\u0131\xdf\u1e9e", "\u212b", "\ufb01", "\u1100\u1161\u11a8",
)  # fmt: skip
BYTES = (
    b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x92", b"\xc0\x80", b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80", b"\x80", b"\xfe\xff", b"\xef\xbb", b"\xf8\x88\x80\x80\x80",
)  # fmt: skip


@dataclass(frozen=True)
class Form:
    """How files are written: their dialect, their columns in order, their line ends."""

    dialect: Dialect
    columns: tuple[str, ...]
    newline: bytes = b"\n"
    bom: bool = False
    ended: bool = True  # whether the last line is
    files: int = 1
    before: tuple[bytes, ...] = ()  # lines before the header, or the first record

    def written(self, folder: Path, some: Sequence[bytes]) -> bool:
        """Write the lines to as many files; False where a file would be empty."""
        made = [self._bytes_of(some[start :: self.files]) for start in range(self.files)]
        for number, content in enumerate(made):
            (folder / f"{number}.csv").write_bytes(content)
        return all(made)

    def _bytes_of(self, some: Sequence[bytes]) -> bytes:
        names = [self.dialect.delimiter.join(self.columns).encode()] if self.dialect.header else []
        marked = self.bom or (not names and bool(some) and some[0].startswith(BOM))
        end = self.newline if self.ended and (names or some or self.before) else b""
        return BOM * marked + self.newline.join([*self.before, *names, *some]) + end


def forms(rng: Random) -> Form:
    """Any form."""
    delimiter = rng.choice(DELIMITERS)
    quote = rng.choice([each for each in QUOTES if each != delimiter])
    encoding = rng.choice(("utf-8",) * 9 + ("latin-1", "cp1252"))
    columns = list(KINDS)
    rng.shuffle(columns)
    if rng.random() < 0.2:
        columns = [each for each in columns if each != "n"][: rng.choice((1, 1, 2, 3))]
    header = rng.random() < 0.7
    dialect = Dialect(
        delimiter,
        quote,
        encoding,
        rng.choice(NULLS),
        header,
        None if header else tuple(columns),
        rng.random() < 0.4,
    )
    newline, bom, ended = rng.choice(NEWLINES), rng.random() < 0.2, rng.random() < 0.7
    return Form(dialect, tuple(columns), newline, bom, ended, rng.choice((1, 1, 1, 3)))


# --- values --------------------------------------------------------------------------------------


def digits(rng: Random) -> str:
    """Some digits, seldom parted by underscores."""
    size = rng.choice((0, 1, 1, 2, 2, 3, 5, 8, 9, 14, 15, 16, 17, 18, 19, 20, 21, 25, 40))
    found = "".join(rng.choices("0123456789", k=size))
    if size > 1 and rng.random() < 0.08:
        at = rng.randrange(size)
        found = f"{found[:at]}_{found[at:]}"
    return found


def number(rng: Random) -> str:
    """A number, or what is nearly one."""
    roll = rng.random()
    if roll < 0.25:
        return rng.choice(ODD_NUMBERS if roll < 0.15 else INTEGERS)
    if roll < 0.5:
        return str(rng.randint(-300, 300) / rng.choice((1, 2, 4, 10, 100)))
    made = rng.choice(("", "", "", "-", "+", "+-")) + digits(rng)
    if rng.random() < 0.5:
        made += "." + digits(rng)
    if rng.random() < 0.3:
        power = rng.choice(
            ("0", "5", "15", "22", "23", "-5", "-323", "-324", "+308", "309", "-400")
        )
        made += rng.choice("eE") + power
    return made


def whole(rng: Random) -> str:
    """An integer, or any number."""
    return str(rng.randint(-99, 99)) if rng.random() < 0.4 else number(rng)


def truth(rng: Random) -> str:
    return rng.choice(TRUTHS)


def day(rng: Random) -> str:
    """A day, or what is nearly one."""
    if rng.random() < 0.4:
        return rng.choice(DAYS)
    return f"{rng.randint(0, 9999):04}-{rng.randint(0, 13):02}-{rng.randint(0, 32):02}"


def moment(rng: Random) -> str:
    """A day and a clock, or what is nearly that."""
    clock = rng.choice(CLOCKS)
    if rng.random() < 0.5:
        clock = ":".join(f"{rng.randint(0, most):02}" for most in (24, 60, 60))
        clock += rng.choice(("", "", "." + digits(rng)))
    return day(rng) + rng.choice(BETWEEN) + clock


def word(rng: Random) -> str:
    return "".join(rng.choices(WORDS, k=rng.choice((1, 1, 1, 2, 3))))


VALUES: dict[str, Callable[[Random], str]] = {
    "s": word, "i": whole, "x": number, "c": number, "b": truth, "d": day, "t": moment, "o": word,
    "n": word,
}  # fmt: skip


def value(rng: Random, column: str) -> str:
    """A value for the column, now and then one for another, with blanks around or with a null."""
    roll = rng.random()
    if roll < 0.05:
        return rng.choice(("", "", "n/a", "1", "NULL", " ", "0", "\\N", '""'))
    made = VALUES[column if roll < 0.9 else rng.choice("sixcbdt")](rng)
    if rng.random() < 0.06:
        made = rng.choice(BLANKS) + made
    if rng.random() < 0.06:
        made += rng.choice(BLANKS)
    return made


# --- lines ---------------------------------------------------------------------------------------


def clean(rng: Random, form: Form) -> bytes:
    """A record as a program would write it, in which no byte is damaged."""
    texts = [value(rng, column) for column in form.columns]
    return write_fields(form, texts, rng.random() < 0.1, rng.random() < 0.001)


def write_fields(form: Form, texts: Sequence[str], quote_all: bool, keep_blanks: bool) -> bytes:
    """A record of these texts; where the dialect can't hold one, of the rest of it."""
    delimiter, quote = form.dialect.delimiter, form.dialect.quote
    fields = []
    for text in texts:
        field = text
        if not quote:
            field = text.replace(delimiter, "")
        elif quote_all or delimiter in text or text.lstrip(" \t").startswith(quote):
            if not keep_blanks:  # blanks about quotes are for the careful reader
                field = text.replace(" ", "").replace("\t", "")
            field = quote + field.replace(quote, quote * 2) + quote
        fields.append(field)
    return delimiter.join(fields).encode(form.dialect.encoding, "replace")


def odd(rng: Random, form: Form) -> bytes:
    """A line with some damage."""
    return damage(rng, form, clean(rng, form))


def damage(rng: Random, form: Form, line: bytes) -> bytes:
    """The line with some damage."""
    delimiter, quote = form.dialect.delimiter.encode(), form.dialect.quote.encode()
    if rng.random() < 0.1:
        empty = (
            b"",
            b"",
            b" ",
            b"\t",
            delimiter,
            quote,
            quote * 2,
            b"#",
            b"\r",
            BOM,
            b"\0",
            b"\x1a",
        )
        return rng.choice((*empty, delimiter * (len(form.columns) - 1)))
    pieces = (
        delimiter, quote, quote, quote * 2, b" " + quote, quote + b" ", b"\t" + quote,
        quote + b"\t", quote + delimiter, delimiter + quote, delimiter + b" " + quote,
        quote + b" " + delimiter, b"\r", b"\0", BOM, b" ", b"\\", b"\\" + quote,
        *rng.choices(BYTES, k=2), b"\xc2\xa0" + quote,
    )  # fmt: skip
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.choice((0, len(line), rng.randint(0, len(line))))
        roll = rng.random()
        if roll < 0.75:
            line = line[:at] + rng.choice(pieces) + line[at:]
        elif roll < 0.9:
            line = line[:at] + line[at + rng.choice((1, 1, 5)) :]
        else:
            line = line[:at]
    line = line.replace(b"\n", b"")
    if rng.random() < 0.001:
        at = rng.randint(0, len(line))
        line = line[:at] + b"x" * (LINE_LIMIT + rng.randint(-2, 2) - len(line)) + line[at:]
    return line


def lines(rng: Random, form: Form, size: int, share: float) -> list[bytes]:
    """Lines of a file, of which so many are damaged."""
    return [(odd if rng.random() < share else clean)(rng, form) for _ in range(size)]
