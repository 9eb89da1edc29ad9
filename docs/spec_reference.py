"""The spec reference, from the sections that read the spec; ``build_reference`` builds its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import wrap
from typing import Any

from dprelease.local import perturb_section
from dprelease.specfile.keys import fields, number_texts
from dprelease.specfile.keys.section_reader import Choice, Key
from dprelease.specfile.schema import query_tables, review, sections

KINDS: dict[Callable[[object], object], str] = {
    fields.read_text: "text",
    fields.read_line: "line",
    fields.read_safe_name: "file-safe name",
    fields.read_option: "text",
    fields.read_variable: "name of a variable",
    fields.read_day: "date",
    fields.label: "short text",
    fields.read_labels: "table of short texts",
    fields.read_licence: "SPDX identifier, or URL",
    fields.read_decimals: "whole number from 0 to 12",
    fields.flag: "true or false",
    number_texts.read_exact: "number",
    number_texts.read_budget: "number above 0",
    number_texts.weight: "number above 0",
    number_texts.read_probability: "number in [0, 1)",
    number_texts.read_interval: "number",
    number_texts.bound: "whole number from 1",
    number_texts.read_record_number: "whole number from 1",
    number_texts.read_skipped_rows: "whole number from 1 to 10,000",
    number_texts.record_lines: "whole number from 2 to 10,000",
    number_texts.read_design_effect: "number above 0, at most 1,000",
    number_texts.read_population: "whole number from 1",
    number_texts.read_halfwidth: "number above 0",
    number_texts.read_bandwidth: "number above 0, or list of them",
    number_texts.read_points: "whole number from 2, or list",
    number_texts.display_step: "number above 0",
    number_texts.read_confidence: "number from 0.5 to below 1",
    number_texts.read_picks: "whole number from 1",
    number_texts.read_whole_number: "whole number from 1 to 1,000,000",
    number_texts.read_selection_delta: "number above 0, to 0.001",
    fields.read_quantiles: "number in (0, 1), or list of them",
    perturb_section.read_mechanisms: " ".join(f'`"{word}"`' for word in perturb_section.MECHANISMS)
    + ", or table by column",
    perturb_section.read_weights: "table by column, of numbers above 0",
    perturb_section.read_truth: "number in (0, 1)",
    review.read_attestations: "table, see below",
    sections.read_bounding: "table, see below",
    query_tables.read_accuracy: "table, see below",
    query_tables.read_clip: "table, see below",
    query_tables.read_selection: "table, see below",
    query_tables.read_half: "condition, or table, see below",
    fields.read_texts: "list of texts",
    fields.read_names: "list of texts",
    fields.read_sets: "list of lists of texts",
    fields.read_ways: "whole number from 1, or list from 0",
    fields.read_weighed_alike: "`tables` or `cells`",
    fields.read_scalars: "list of values",
    fields.read_scalar: "value",
}


def kind(key: Key[Any]) -> str:
    """What a key takes, in words. KeyError for a reading function that has none yet."""
    if isinstance(key, Choice):
        return " ".join(f'`"{word}"`' for word in key.words)
    return KINDS[key.read]


def cell(text: str) -> str:
    """Text inside a Markdown table."""
    return text.replace("|", "\\|")


def default(text: str) -> str:
    """Literal defaults as code, descriptions as they are."""
    literal = text[:1] in {'"', "["} or text in {"true", "false", "0", "1", "0.95"}
    return f"`{text}`" if literal else text


def lines() -> Iterator[str]:
    """The reference, line by line."""
    for section in sections.SECTIONS:
        yield f"## `{section.HEADER}`"
        yield ""
        yield from wrap(section.WORDS, 100, break_long_words=False, break_on_hyphens=False)
        yield ""
        yield "| key | takes | if left out | meaning |"
        yield "|---|---|---|---|"
        for name, key in section.KEYS.items():
            cells = cell(kind(key)), cell(default(key.absent)), cell(key.meaning)
            yield f"| `{name}` | {' | '.join(cells)} |"
        yield ""
