"""A figure's chart as a Vega-Lite specification, which reads the published file by a relative path.

A Parquet file is not read by Vega-Lite: of such a table the specification holds the values that it
draws. It draws released figures only, and is made of nothing but the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dprelease.model import OutputColumn, OutputTable
from dprelease.model.outputs import SUPPRESSED, UNRELIABLE
from dprelease.output.csv_table import escape_formula, is_escaped
from dprelease.postprocess.intervals.fixed_point import write_fixed_point
from dprelease.reports.text.shown_names import get_column_title, title_with_unit, write_key

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
LOW, HIGH, LABEL, PLACE = "interval low", "interval high", "row label", "row number"
BLUE, SOFT = "#0a5cb8", "#5b92d6"
FOLDER = "figures"
MOST_LETTERS = 60  # of the name of a file
_PLAIN = re.compile(r"[\w-]+")
Spec = dict[str, Any]


def name_vega_file(table: str, figure: str, otherwise: str) -> str:
    """Name the file of a chart after its table and figure; ``otherwise`` if these are odd."""
    names = f"{table}.{figure}"
    if len(names) > MOST_LETTERS or not all(map(_PLAIN.fullmatch, (table, figure))):
        names = otherwise
    return f"{FOLDER}/{names}.vl.json"


class Layers(NamedTuple):
    """What is drawn: the names of the columns, and the ends of the axis of figures."""

    kind: str
    table: OutputTable
    file: str
    figures: tuple[str, ...]
    beside: Mapping[str, str]  # by ending, of the first figure; no flag
    flags: tuple[str, ...]
    keys: tuple[str, ...]
    facet: str
    orders: Mapping[str, frozenset[str]]
    axis: tuple[float, float]


def build_specification(layers: Layers, title: str, description: str) -> Spec:
    """Give the chart of a figure."""
    unit_spec: Spec = {"layer": _LAYERS[layers.kind](layers)}
    spec: Spec = {"$schema": SCHEMA, "title": title, "description": description}
    spec |= {"data": _build_data(layers), "transform": _build_transforms(layers)}
    if not layers.facet:
        return {**spec, **unit_spec}
    facet = {**_build_key(layers, layers.facet), "sort": {"field": PLACE, "op": "min"}}
    return {**spec, "facet": facet, "columns": 3, "spec": {"width": 200, **unit_spec}}


def _find_column(layers: Layers, name: str) -> OutputColumn:
    return next(column for column in layers.table.columns if column.name == name)


def _list_texts(layers: Layers, name: str) -> list[str | float | None]:
    """Give the cells of a column as the data of the specification holds them."""
    column = _find_column(layers, name)
    if column.kind in {"integer", "number"}:
        return [
            float(write_fixed_point(value, column.decimals)) if isinstance(value, int) else None
            for value in column.values
        ]
    escape = layers.file.endswith(".csv") and is_escaped(column)
    labels = ["" if value is None else str(value) for value in column.values]
    return [escape_formula(label) if escape else label for label in labels]


def _build_key_expression(layers: Layers, name: str) -> str:
    """Give an expression for what people read of a key of the data."""
    column = _find_column(layers, name)
    shown_words = [write_key(column, key) for key in column.values]
    words = dict(zip(map(str, _list_texts(layers, name)), shown_words, strict=True))
    if all(key == word for key, word in words.items()):
        return _write_datum(layers, name)
    keys, word = _write_list(list(words)), _write_list(list(words.values()))
    return f"slice({word}[indexof({keys}, ' ' + {_write_datum(layers, name)})], 1)"


def _write_list(texts: Sequence[str]) -> str:
    """Give a list for an expression, with a blank before each text."""
    # Vega takes a text such as "constructor" for what it is to JavaScript.
    return json.dumps([f" {text}" for text in texts], ensure_ascii=False)


def _name_field(layers: Layers, name: str) -> str:
    """Name the field that holds what people read of a key."""
    return f"words of {layers.table.columns.index(_find_column(layers, name))}"


def _build_key(layers: Layers, name: str) -> Spec:
    title = get_column_title(_find_column(layers, name))
    return {"field": _name_field(layers, name), "type": "nominal", "sort": None, "title": title}


def _name_header(layers: Layers, name: str) -> str:
    """Name a column as the data of the specification has it."""
    return escape_formula(name) if layers.file.endswith(".csv") else name


def _escape_path(layers: Layers, name: str) -> str:
    """Name a field so that no letter of its name is taken for a path."""
    header = _name_header(layers, name)
    return "".join(f"\\{letter}" if letter in "\\.[]" else letter for letter in header)


def _write_datum(layers: Layers, name: str) -> str:
    return f"datum[{json.dumps(_name_header(layers, name))}]"


def _list_keys(layers: Layers) -> list[str]:
    return [*layers.keys, *([layers.facet] if layers.facet else [])]


def _build_data(layers: Layers) -> Spec:
    keys = _list_keys(layers)
    numbers = [*layers.figures, *layers.beside.values()]
    names = [*keys, *numbers, *layers.flags]
    if layers.file.endswith(".csv"):
        types = dict.fromkeys((_name_header(layers, key) for key in keys), "string")
        types |= dict.fromkeys((_name_header(layers, name) for name in numbers), "number")
        return {"url": f"../{layers.file}", "format": {"type": "csv", "parse": types}}
    cells = zip(*(_list_texts(layers, name) for name in names), strict=True)
    return {"values": [dict(zip(names, row, strict=True)) for row in cells]}


def _build_transforms(layers: Layers) -> list[Spec]:
    steps: list[Spec] = [
        {"calculate": _build_key_expression(layers, key), "as": _name_field(layers, key)}
        for key in _list_keys(layers)
    ]
    if layers.facet:
        steps.append({"window": [{"op": "row_number", "as": PLACE}]})
    figure, beside = _write_datum(layers, layers.figures[0]), layers.beside
    if "_low" in beside and "_high" in beside:
        ends = _write_datum(layers, beside["_low"]), _write_datum(layers, beside["_high"])
    elif "_noise_moe" in beside:
        half = _write_datum(layers, beside["_noise_moe"])
        ends = f"{figure} - {half}", f"{figure} + {half}"
    else:
        ends = figure, figure
    if layers.kind in {"dots", "line"}:
        steps += [{"calculate": ends[0], "as": LOW}, {"calculate": ends[1], "as": HIGH}]
        steps.append({"filter": f"isValid({figure})"})
    if layers.kind in {"dots", "range"}:
        label = " + ' · ' + ".join(f"datum['{_name_field(layers, key)}']" for key in layers.keys)
        steps.append({"calculate": label, "as": LABEL})
    return steps


def _build_figure(layers: Layers, name: str | None = None, channel: str = "field") -> Spec:
    low, high = layers.axis
    return {
        channel: _escape_path(layers, name or layers.figures[0]),
        "type": "quantitative",
        "title": _title(layers) if len(layers.figures) == 1 else None,
        "scale": {"domain": [low, high], "zero": False},
    }


def _title(layers: Layers) -> str:
    return title_with_unit(_find_column(layers, layers.figures[0]))


def _build_fill(layers: Layers, color: str = BLUE) -> Spec:
    """Build the fill of a mark: of a flagged figure it is hollow."""
    if not layers.flags:
        return {"value": color}
    flags = [f"({_write_datum(layers, name)} || '')" for name in layers.flags]
    words = (UNRELIABLE, SUPPRESSED)
    weak = " || ".join(f"indexof({flag}, '{word}') >= 0" for flag in flags for word in words)
    return {"condition": {"test": weak, "value": "white"}, "value": color}


def _build_dots(layers: Layers) -> list[Spec]:
    y = {"field": LABEL, "type": "nominal", "sort": None, "title": None}
    interval = {"x": {**_build_figure(layers), "field": LOW}, "x2": {"field": HIGH}, "y": y}
    point = {"x": _build_figure(layers), "y": y, "fill": _build_fill(layers)}
    return [
        {"mark": {"type": "bar", "height": 5, "color": SOFT}, "encoding": interval},
        {"mark": {"type": "point", "stroke": BLUE, "opacity": 1}, "encoding": point},
    ]


def _build_range(layers: Layers) -> list[Spec]:
    y = {"field": LABEL, "type": "nominal", "sort": None, "title": None}
    first, last = layers.figures[0], layers.figures[-1]
    ends = {
        "x": _build_figure(layers, first),
        "x2": {"field": _escape_path(layers, last)},
        "y": y,
        "fill": _build_fill(layers, SOFT),
    }
    strokes = [
        {
            "mark": {"type": "tick", "thickness": 2, "color": BLUE},
            "encoding": {"x": _build_figure(layers, name), "y": y},
        }
        for name in layers.figures
    ]
    return [{"mark": {"type": "bar", "height": 6, "stroke": SOFT}, "encoding": ends}, *strokes]


def _build_line(layers: Layers) -> list[Spec]:
    key = layers.keys[-1]
    x = {**_build_key(layers, key), "type": "ordinal"}
    outside = _write_list(["", *sorted(map(escape_formula, layers.orders[key]))])
    inside = [{"filter": f"indexof({outside}, ' ' + {_write_datum(layers, key)}) < 0"}]
    band = {"x": x, "y": {**_build_figure(layers), "field": LOW}, "y2": {"field": HIGH}}
    figure = {"x": x, "y": _build_figure(layers)}
    return [
        {"mark": {"type": "area", "color": SOFT}, "transform": inside, "encoding": band},
        {"mark": {"type": "line", "color": BLUE}, "transform": inside, "encoding": figure},
        {
            "mark": {"type": "point", "stroke": BLUE, "opacity": 1},
            "encoding": {**figure, "fill": _build_fill(layers)},
        },
    ]


def _heat(layers: Layers) -> list[Spec]:
    down, across = layers.keys
    color = {"field": _escape_path(layers, layers.figures[0]), "type": "quantitative"}
    cell = {
        "x": _build_key(layers, across),
        "y": _build_key(layers, down),
        "color": {**color, "title": _title(layers), "scale": {"scheme": "blues"}},
    }
    return [{"mark": "rect", "encoding": cell}]


_LAYERS = {"dots": _build_dots, "line": _build_line, "range": _build_range, "heat": _heat}
