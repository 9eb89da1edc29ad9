"""What each key of the spec means, in the README's words. Checked against the models."""

from __future__ import annotations

SECTIONS: dict[str, tuple[str, str]] = {
    "ReleaseSection": ("[release]", "Who publishes what, and why. Goes into the report."),
    "DataSection": (
        "[data]",
        "Where the table is. The keys from `delimiter` on are for CSV; nothing is sniffed.",
    ),
    "PrivacySection": ("[privacy]", "What is protected, and the total that may be spent."),
    "LedgerSection": ("[ledger]", "Where spending is written down. There is always a ledger."),
    "ColumnSection": (
        "[columns.NAME]",
        "What is publicly known of a column. Columns that no query needs may be left out.",
    ),
    "QuerySection": (
        "[[query]]",
        "One statistic. State one of `epsilon`, `rho` and `weight`, or none (weight 1).",
    ),
    "OutputSection": ("[output]", "Where the release is written."),
    "ReportSection": ("[report]", "Which reports are written."),
}

WORDS: dict[str, dict[str, tuple[str, str]]] = {
    # section -> key -> (default where absent, meaning)
    "ReleaseSection": {
        "name": ("required", "name of the release; part of its identity"),
        "title": ("the name", "heading of the report and the tables"),
        "curator": ("-", "who holds the data and publishes"),
        "contact": ("-", "where readers can ask"),
        "purpose": ("-", "what the release is for"),
        "region": ("-", "which place the data is about"),
        "sector": ("-", "such as health or education"),
        "approved_by": ("-", "who agreed to the release"),
    },
    "DataSection": {
        "path": (
            "required",
            "a file, a glob or a directory, relative to the spec; may hold `{period}`",
        ),
        "format": ("by suffix", "`.csv`, `.tsv`, `.txt` are CSV; `.parquet`, `.pq` Parquet"),
        "engine": ('"duckdb"', "what reads the data"),
        "snapshot": (
            "-",
            "names the version of the data; part of the identity; may hold `{period}`",
        ),
        "delimiter": ('","', 'one ASCII character (`"\\t"` by itself for `.tsv`)'),
        "quote": ('`"`', 'one ASCII character; `""` means that fields are never quoted'),
        "encoding": ('"utf-8"', "utf-8, latin-1 or cp1252"),
        "null_values": ('[""]', "texts that stand for a missing value"),
        "header": ("true", "whether the first line names the columns"),
        "names": ("-", "the columns' names, all in order, when `header = false`"),
        "strip": ("false", "take blanks around fields off"),
    },
    "PrivacySection": {
        "unit": ("required", 'what one protected thing is: `"row"`, one record'),
        "unit_description": ("warned", "what a row stands for, in words"),
        "adjacency": ("required", "which two tables are neighbours: see Concepts"),
        "epsilon": ("sum of the queries", "the total of this release"),
        "delta": ("0", "the total delta"),
        "rho": ("-", "a total in zCDP, instead of `epsilon`"),
        "accounting": (
            '"auto"',
            "how losses add up: the least valid figure, plain sums, or zCDP alone",
        ),
    },
    "LedgerSection": {
        "path": ("`dprelease-ledger.sqlite` beside the spec", "the ledger's file"),
        "dataset": (
            "file or folder name of the data",
            "what the budget belongs to: all specs that name it add up",
        ),
        "epsilon_cap": ("no cap, warned", "most that may ever be spent on the dataset"),
        "delta_cap": ("no cap", "the same for delta"),
    },
    "ColumnSection": {
        "type": ("required", "how its values are read"),
        "lower": ("-", "least value that counts; sums and means need both bounds"),
        "upper": ("-", "greatest value that counts"),
        "step": (
            "1, or chosen",
            "the grid; must divide both bounds; chosen: a power of ten, at least 100,000 steps",
        ),
        "keys": ("-", "the public list of values to group by"),
        "keys_file": ("-", "the same in a UTF-8 file, one a line, relative to the spec"),
        "other": ("dropped", "label of the group for values that are not declared"),
        "nulls": (
            '"drop"',
            "what a missing or unreadable value counts as: a value, or the label in `other`",
        ),
        "bins": ("-", "edges of ranges to group by: half-open, the last one closed"),
        "expression": ("-", "computes the column from others of the same record"),
        "source": ("warned", "which public rule the bounds or keys come from"),
    },
    "QuerySection": {
        "name": ("required", "name of the published column"),
        "statistic": ("required", "count, sum, mean or histogram"),
        "by": ("overall", "grouping columns; each needs keys or bins"),
        "column": ("-", "what is summed, averaged or counted by value"),
        "bins": ("those of the column", "edges for a histogram of its own"),
        "where": ("all records", "a condition; only records for which it is true count"),
        "epsilon": ("-", "the query's own budget"),
        "delta": ("-", "with `epsilon`, for Gaussian noise"),
        "rho": ("-", "the query's own budget in zCDP"),
        "weight": ("1", "its share of what the others leave of the total"),
        "mechanism": ('"auto"', "which noise; auto takes the smaller one"),
        "table": ("`overall` or `by_...`", "which table it is published in"),
    },
    "OutputSection": {
        "path": (
            "required",
            "a directory of its own, relative to the spec; may hold `{period}`",
        ),
        "format": ('"csv"', "format of the tables"),
        "interval": ("0.95", "level of the noise intervals, 0.5 to 0.999999"),
    },
    "ReportSection": {"formats": ('["md", "json"]', "`md`, `json` or both")},
}
