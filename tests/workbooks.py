"""Workbooks of the tests: written part by part, so that odd ones can be too."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
DATE = 1  # the number of the style
STYLES = (
    f'<styleSheet xmlns="{MAIN}"><numFmts>'
    '<numFmt numFmtId="170" formatCode="[Red]0.0 &quot;d&quot;"/>'
    '<numFmt numFmtId="171" formatCode="[$-407]d/\\ mmm;@"/></numFmts>'
    '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>'
    '<xf numFmtId="22"/><xf numFmtId="170"/><xf numFmtId="171"/></cellXfs></styleSheet>'
)


def letters(column: int) -> str:
    """The letters of a column, from 0."""
    text = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def cell(value: object, place: str, shared: dict[str, int] | None = None) -> str:
    """The XML of a cell; texts are in it, or among those that cells share."""
    at = f'r="{place}"'
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c {at} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime(*value.timetuple()[:3])
        since = moment - (datetime(1899, 12, 30) if moment >= datetime(1900, 3, 1)
                          else datetime(1899, 12, 31))  # fmt: skip
        return f'<c {at} s="{DATE}"><v>{since.days + since.seconds / 86400!r}</v></c>'
    if not isinstance(value, str):
        return f"<c {at}><v>{value}</v></c>"
    if shared is not None:
        return f'<c {at} t="s"><v>{shared.setdefault(value, len(shared))}</v></c>'
    return f'<c {at} t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def write_rows(rows: Sequence[Sequence[object]], shared: dict[str, int] | None = None) -> str:
    """The XML of rows of values."""
    return "".join(
        f'<row r="{number}">'
        + "".join(cell(value, f"{letters(at)}{number}", shared) for at, value in enumerate(row))
        + "</row>"
        for number, row in enumerate(rows, 1)
    )


def write(
    path: Path,
    sheets: Mapping[str, str],
    texts: Sequence[str] = (),
    styles: str = STYLES,
    properties: str = "",
) -> Path:
    """Write a workbook: the XML of each sheet's rows by its name, and the XML of shared texts."""
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    listed = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{number}" r:id="r{number}"/>'
        for number, name in enumerate(sheets, 1)
    )
    related = [(f"r{number}", "worksheet", f"worksheets/sheet{number}.xml")
               for number in range(1, len(sheets) + 1)]  # fmt: skip
    related += [("styles", "styles", "styles.xml"), ("t", "sharedStrings", "/xl/sharedStrings.xml")]
    shared = "".join(f"<si>{text}</si>" for text in texts)
    types = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        f'<Override PartName="/xl/workbook.xml" ContentType="{types}.sheet.main+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{types}.sharedStrings+xml"/>'
        "</Types>",
        "_rels/.rels": relations([("a", "officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">{properties}'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": relations(related),
        "xl/styles.xml": styles,
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{shared}</sst>',
    }
    for number, rows in enumerate(sheets.values(), 1):
        body = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
        parts[f"xl/worksheets/sheet{number}.xml"] = body
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, body in parts.items():
            file.writestr(name, body if body.startswith("<?xml") else head + body)
    return path


def relations(listed: Sequence[tuple[str, str, str]]) -> str:
    made = "".join(
        f'<Relationship Id="{identity}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for identity, kind, target in listed
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{made}</Relationships>'


def table(path: Path, rows: Sequence[Sequence[object]], share: bool = True) -> Path:
    """Write a workbook of one sheet with these rows, the names of columns first."""
    shared: dict[str, int] | None = {} if share else None
    xml = write_rows(rows, shared)
    texts = [f'<t xml:space="preserve">{escape(text)}</t>' for text in shared or ()]
    return write(path, {"Data": xml}, texts)
