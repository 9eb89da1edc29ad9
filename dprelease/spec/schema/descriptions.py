"""What each key of the spec means: the words of the README's reference and of the JSON Schema.

Checked against the models by a test.
"""

from __future__ import annotations

SECTIONS: dict[str, tuple[str, str]] = {
    "ReleaseSection": ("[release]", "Who publishes what, and why. Goes into the report."),
    "DataSection": (
        "[data]",
        "Where the table is. The keys from `delimiter` on are for CSV; nothing is sniffed.",
    ),
    "PrivacySection": ("[privacy]", "What is protected, and the total that may be spent."),
    "BoundingSection": (
        "[privacy.bounding]",
        'How much of one unit counts; needed with `unit = "column"`. Of the unit\'s rows that pass '
        "`where` and lie in a group, so many are kept in every table, picked pseudo-randomly.",
    ),
    "LedgerSection": ("[ledger]", "Where spending is written down. There is always a ledger."),
    "ColumnSection": (
        "[columns.NAME]",
        "What is publicly known of a column. Columns that no query needs may be left out.",
    ),
    "QuerySection": (
        "[[query]]",
        "One statistic. State one of `epsilon`, `rho`, `accuracy` and `weight`, or none "
        "(weight 1).",
    ),
    "AccuracySection": (
        "accuracy = { ... }",
        "How large the noise of a query may be; the budget follows from that.",
    ),
    "SelectionSection": (
        "partition_selection = { ... }",
        "Which groups without public keys are shown: those whose noisy count reaches a threshold. "
        "It is one selection for the whole table, by its `count` (`count_units`, if the unit is a "
        "column); a table without one gets `<table>_rows` or `<table>_units`.",
    ),
    "PartSection": (
        "numerator = { ... }, denominator = { ... }",
        "What a `ratio` divides: the sum of a column, or without one a number of records.",
    ),
    "PerturbSection": (
        "[[perturb]]",
        "A table of records in the local model: the same columns and one row for each record, each "
        "cell perturbed on its own. How many records there are is public. State `epsilon` or "
        "`truth`; a `[[perturb]]` that is all of the spec can have the total.",
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
        "unit": (
            "required",
            'what one protected thing is: `"row"`, one record, or `"column"`, all records with one '
            "value of a column",
        ),
        "unit_column": (
            "-",
            "that column, such as a patient's number; need not be declared; nulls are left out",
        ),
        "unit_description": ("warned", "what a unit stands for, in words"),
        "adjacency": ("required", "which two tables are neighbours: see Concepts"),
        "epsilon": ("sum of the queries", "the total of this release"),
        "delta": ("0", "the total delta"),
        "rho": ("-", "a total in zCDP, instead of `epsilon`"),
        "accounting": (
            '"auto"',
            "how losses add up: the least valid figure; or plain sums, zCDP, distributions alone",
        ),
        "bounding": ("-", 'needed with `unit = "column"`'),
    },
    "BoundingSection": {
        "max_rows_per_unit": ("required", "most rows of one unit that count in a table"),
        "max_groups_per_unit": (
            "required with a query",
            "most groups of a table that they lie in; without a `[[query]]` there are none",
        ),
        "max_rows_per_unit_per_group": (
            "as many as in all",
            "most rows of one unit that count in one group",
        ),
    },
    "LedgerSection": {
        "path": ("`dprelease-ledger.sqlite` beside the spec", "the ledger's file"),
        "dataset": (
            "file or folder name of the data",
            "what the budget belongs to: all specs that name it add up",
        ),
        "epsilon_cap": ("no cap, warned", "most that may ever be spent on the dataset"),
        "delta_cap": ("no cap", "the same for delta; a tenth of it is kept for composing"),
        "witness": (
            "the ledger's path with `.witness`",
            "file that keeps the ledger's last entry, to notice an older copy of it",
        ),
        "disjoint_periods": (
            "false",
            "each protected unit has records in one period only; needs `{period}` in the path of "
            "the data",
        ),
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
        "keys_file": ("-", "the same in a UTF-8 file below the spec's folder, one a line"),
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
        "statistic": (
            "required",
            "count, count_units, count_distinct, sum, mean, variance, stddev, ratio, proportion, "
            "histogram, quantile, median, min, max, mode, top_k or best",
        ),
        "by": ("overall", "grouping columns; each needs keys, bins or `partition_selection`"),
        "column": ("-", "what is summed, averaged, put in order, counted or chosen by value"),
        "bins": ("those of the column", "edges for a histogram, mode or top_k of its own"),
        "where": (
            "all records",
            "a condition; only records for which it is true count; of a proportion: the condition "
            "whose share of the records is published",
        ),
        "q": ("-", "which quantiles, at most 100; median is 0.5, min 0.01, max 0.99"),
        "k": ("-", "how many values top_k names"),
        "candidates": (
            "-",
            "numbers or texts that best chooses from, at most 1,000,000; or for a quantile: the "
            "values it may take, multiples of the step",
        ),
        "candidates_file": (
            "-",
            "the same in a UTF-8 file below the spec's folder, one a line; a text that reads as a "
            'number stands in double quotes, such as `"01"`',
        ),
        "score": (
            "-",
            "what a record adds to the score of `candidate`, a number; below 0 and null count 0",
        ),
        "score_upper": ("-", "the most that one record adds; more counts as this"),
        "score_step": ("1, or chosen", "the grid of scores, as `step` of a column"),
        "numerator": ("-", "of a ratio"),
        "denominator": ("-", "of a ratio"),
        "partition_selection": ("-", "shows groups without public keys that many units are in"),
        "epsilon": ("-", "the query's own budget"),
        "delta": ("-", "with `epsilon`, for Gaussian noise"),
        "rho": ("-", "the query's own budget in zCDP"),
        "weight": ("1", "how much its variance matters in sharing what the others leave"),
        "accuracy": ("-", "the noise that is bearable, instead of a budget"),
        "mechanism": (
            '"auto"',
            "which noise; auto takes the best; choices and quantiles are exponential",
        ),
        "table": ("`overall` or `by_...`", "which table it is published in"),
    },
    "AccuracySection": {
        "within": (
            "required",
            "the largest noise, in the unit of the figure; in scores of a choice, "
            "ranks of a quantile",
        ),
        "confidence": ("0.95", "how often it must be within, 0.5 to below 1"),
        "records": (
            "-",
            "of means, shares, ratios and variances: at how many records the target holds, if "
            "their values are spread evenly over the bounds",
        ),
    },
    "SelectionSection": {
        "delta": ("required", "the chance that a group of a single unit is shown"),
        "epsilon": (
            "the count's own",
            "the budget of the count that selects, if it states none itself",
        ),
    },
    "PartSection": {
        "column": ("-", "what is summed; needs bounds"),
        "where": ("all records", "which records count"),
        "statistic": ("sum with a column, else count", "`sum` or `count`"),
    },
    "PerturbSection": {
        "name": ("required", "name of the table and its file"),
        "columns": (
            "required",
            "the columns, in order; each needs keys or bins, or bounds, or is boolean. A value "
            "that is not declared, without `other`, is answered at random",
        ),
        "mechanism": (
            '"auto"',
            "which noise; auto takes the best for each column: of labels randomized-response or "
            "subset-selection, of numbers laplace or piecewise; or by column: "
            '`{ region = "randomized-response" }`',
        ),
        "epsilon": ("the total", "what the whole table costs one unit: all columns of its rows"),
        "delta": ("0", "with `epsilon`, the same"),
        "truth": (
            "-",
            "instead of `epsilon`: the chance of the true answer in each column; labels only",
        ),
        "weights": ("1 each", "how much of epsilon each column has: `{ region = 2 }`"),
    },
    "OutputSection": {
        "path": (
            "required",
            "a directory of its own, relative to the spec; may hold `{period}`",
        ),
        "format": ('"csv"', "format of the tables"),
        "interval": ("0.95", "level of the noise intervals, 0.5 to 0.999999"),
    },
    "ReportSection": {
        "formats": (
            '["html", "md", "json"]',
            "of `html`, `md`, `json` and `registry` (an entry for OpenDP's registry)",
        )
    },
}
