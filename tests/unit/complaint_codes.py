"""Every code that a complaint can have: one code, one thing, made in one place.

``SPEC_CODES`` are those of the spec loader, which are part of the published format; ``CODE_TABLE``
are all others. A code keeps its meaning for good: what is no longer used is not used again.
"""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """A code, the module or package that makes it, and what it says."""

    code: str
    made_by: str
    meaning: str


CODE_TABLE: tuple[Code, ...] = (
    Code("E000", "cli.guard", "a mistake on the command line"),
    # E01x: files that commands are asked to write or to show
    Code("E010", "cli.console", "a file in the way of one to be written"),
    Code("E011", "cli.console", "a file that can't be written"),
    Code("E012", "output.released_tables", "a directory that holds no release"),
    Code("E013", "output.released_tables", "a released table that can't be read"),
    Code("E014", "cli.show", "no released table of that name"),
    Code("E015", "scaffold", "data whose columns can't be read"),
    Code("E016", "scaffold", "a first line that is no header"),
    # E30x: the ledger refuses the budget
    Code("E301", "ledger.messages", "the budget is over the cap"),
    Code("E302", "ledger.messages", "a charged run that now has another cost"),
    Code("E303", "ledger.messages", "the deltas of all releases reach 1"),
    Code("E304", "ledger.guarantee", "releases of one data set that promise different things"),
    # E31x: the queries' budgets don't make a plan
    Code("E311", "planning.planner", "the queries come to more than the total"),
    Code("E312", "planning.solve", "nothing is left of the total for a query"),
    Code("E313", "planning.stated_budgets", "no delta is left for gaussian noise"),
    Code("E314", "planning.planner", "the queries need more than the total delta, or 1"),
    Code("E315", "planning.planner", "budgets that can't be composed as asked"),
    Code("E316", "planning.partition_selection", "no epsilon for the selection of private keys"),
    Code("E317", "planning.accuracy_targets", "an accuracy that no noise meets"),
    Code("E318", "planning.solve", "the total does not meet the accuracy targets"),
    Code("E319", "planning.record_tables", "a column that can't be perturbed as asked"),
    Code("E320", "release.saved_plan", "not the plan that was approved"),
    # E4xx: the data have not the declared structure; nothing was charged
    Code("E401", "engines", "no data file"),
    Code("E402", "engines", "a data file that can't be read"),
    Code("E403", "engines", "an empty data file"),
    Code("E404", "engines", "no header that can be read"),
    Code("E405", "engines", "a declared column is missing"),
    Code("E406", "engines", "a column name that stands twice"),
    Code("E407", "engines", "files that differ in their columns"),
    Code("E408", "engines", "an encoding that is not supported"),
    Code("E409", "engines", "no readable Parquet file"),
    Code("E410", "engines", "columns that are computed from each other"),
    Code("E411", "engines", "a step with too many digits"),
    Code("E412", "engines", "a column of another type than declared"),
    Code("E413", "engines", "an unusable amount of memory is asked for"),
    # E5xx: after the charge. E502 to E505 were once the output's: see E8xx
    Code("E501", "engines", "the data could not be read to its end"),
    Code("E510", "engines", "memory ran out while the data was read"),
    Code("E590", "cli.run", "complete, but standard output can't be written"),
    Code("E591", "cli.run", "complete, but an internal error in telling so"),
    Code(
        "E596",
        "release.single_draw",
        "internal error after noise was drawn, which the ledger does not know",
    ),
    Code("E597", "release.run", "the system failed"),
    Code(
        "E598", "release.single_draw", "internal error after noise was drawn: the charge is used up"
    ),
    Code("E599", "release.run", "internal error, free to repeat"),
    # E6xx: the ledger itself
    Code("E601", "ledger.messages", "the ledger is locked"),
    Code("E602", "ledger.messages", "the ledger can't be where it is to be"),
    Code("E603", "ledger.messages", "no whole ledger"),
    Code("E604", "ledger.messages", "a ledger of another version, or with other tables"),
    Code("E605", "ledger.messages", "a ledger that was changed from outside"),
    Code("E606", "ledger.messages", "the ledger's disk is full or failing"),
    Code("E607", "ledger.messages", "SQLite is too old"),
    Code("E608", "ledger.messages", "there is no ledger"),
    Code("E609", "ledger.messages", "the ledger no longer holds a charge"),
    Code("E610", "release.payload", "sealed numbers of other noise than is planned"),
    Code("E611", "ledger.messages", "another process has used the charge up"),
    Code("E612", "ledger.messages", "no witness of the ledger that can be used"),
    Code("E613", "ledger.messages", "not the ledger that its witness or a report has seen"),
    Code("E614", "ledger.messages", "no report to hold a ledger against"),
    Code("E615", "ledger.messages", "exported entries that can't be written"),
    Code("E616", "local.store", "no folder for record-level tables"),
    Code("E617", "local.store", "a released record-level table that is gone"),
    # E7xx: interruptions and bugs
    Code("E700", "cli.guard", "interrupted"),
    Code("E701", "cli.guard", "internal error"),
    Code("E702", "kernel.certify", "a plan that could not be certified"),
    # E8xx: the output
    Code("E801", "output.publish", "the output can't be where it is to be"),
    Code("E802", "output.publish", "the output can't be written"),
    Code("E803", "output.publish", "a name that no published file can have"),
    Code("E804", "output.parquet_table", "a number too large for Parquet"),
    Code("E805", "output.publish", "a file in the way that is not ours"),
    # E82x: a report rendered again
    Code("E820", "report.rerender", "no report.json that can be read"),
    Code("E821", "report.rerender", "a report.json that is none of ours"),
    Code("E822", "report.rerender", "a table that is not as it was released"),
    Code("E823", "cli.report", "a page or report that can't be written"),
    # E83x: estimates from a record-level table
    Code("E830", "cli.estimate", "a record-level table that can't be opened"),
    Code("E831", "cli.estimate", "no report that tells of the table"),
    Code("E832", "cli.estimate", "a table that is not record-level"),
    Code("E833", "cli.estimate", "not the record-level table that was released"),
    Code("E834", "local.read_table", "a record-level table that can't be read"),
    Code("E835", "cli.estimate", "columns that no cross table can be made of"),
    Code("W801", "output.released_tables", "a released table that is not as it was released"),
    # W3xx: the plan works, but deserves a second look
    Code(
        "W301",
        "report.facts.explanations",
        "a minimum or maximum that says nothing in small groups",
    ),
)

SPEC_CODES: tuple[tuple[str, str], ...] = (
    # E0xx: the file can't be read as TOML
    ("E001", "the text is not valid TOML"),
    ("E002", "a key or table is written twice"),
    ("E003", "a whole number has too many digits"),
    ("E004", "arrays, tables or dotted keys are nested too deep"),
    ("E005", "the file is not UTF-8"),
    ("E006", "the file starts with a byte order mark"),
    ("E007", "the spec file can't be read"),
    ("E008", "the spec file is too large"),
    # E1xx: the structure is not that of a spec
    ("E101", "unknown statistic"),
    ("E102", "unknown key or section"),
    ("E103", "a value of the wrong type"),
    ("E104", "part of the format, but not available in this version"),
    ("E105", "a value outside a fixed list of choices"),
    ("E106", "a name that is not safe as a file name"),
    ("E107", "a text that is empty, too long or holds control characters"),
    ("E108", "more complaints than are shown"),
    ("E109", "unknown version of the spec format"),
    ("E110", "a required key or section is missing"),
    ("E111", "keys that don't go together"),
    ("E112", "the keys_file or candidates_file can't be read"),
    # E2xx: the meaning is impossible or unsafe
    ("E201", "a sum or mean needs the column's bounds"),
    ("E202", "a grouping column has no public keys"),
    ("E203", "an impossible budget (epsilon, rho, weight, cap)"),
    ("E204", "delta outside [0, 1)"),
    ("E205", "an unusable number"),
    ("E206", "lower is not below upper"),
    ("E207", "the step doesn't divide the bounds"),
    ("E208", "the grid is too fine for exact conversion"),
    ("E209", "bounds on a column that takes none"),
    ("E210", "a key that is no value of the column's type"),
    ("E211", "a key is declared twice"),
    ("E212", "the label for undeclared values clashes or has no use"),
    ("E213", "impossible bins"),
    ("E214", "an impossible replacement for nulls"),
    ("E215", "an expression outside the whitelist"),
    ("E216", "a column that is not declared"),
    ("E217", "a column that this statistic can't use"),
    ("E218", "two queries of one name"),
    ("E219", "two published columns of one name in a table"),
    ("E220", "a table name that is reserved, clashes or is too long"),
    ("E221", "queries with different groups in one table"),
    ("E222", "too many cells"),
    ("E223", "no budget is stated"),
    ("E224", "budget keys that contradict each other"),
    ("E225", "a mechanism that the budget rules out"),
    ("E226", "the period is missing or unsafe"),
    ("E227", "paths that collide"),
    ("E228", "the data's format is unknown or not supported"),
    ("E229", "an impossible CSV option"),
    ("E230", "an interval outside its range"),
    ("E231", "a column named twice"),
    ("E232", "an impossible quantile"),
    ("E233", "an impossible number of values to name"),
    ("E234", "an impossible list of values or candidates"),
    ("E235", "a mechanism that the statistic can't use"),
    ("E236", "an impossible bound on the rows of a unit"),
    ("E237", "groups or values that would be the units themselves"),
    ("E238", "an impossible selection of private keys"),
    ("E239", "a variance of numbers with too many steps"),
    ("E240", "an impossible accuracy target"),
    ("E241", "disjoint periods that all read the same data"),
    ("E242", "a record-level table where the number of records is protected"),
    ("E243", "a mechanism of records that the column can't have"),
    ("E244", "a mechanism or weight of a column that is not perturbed"),
    ("E245", "a perturbed column with neither public values nor bounds"),
    ("E246", "a perturbed column that tells units apart"),
    ("E247", "a perturbed column with fewer than two labels"),
    ("E248", "an impossible chance of the true answer"),
    ("E249", "a record-level table without columns"),
    ("E250", "a record-level table whose name is taken"),
    ("E251", "a keys_file or candidates_file that lies outside of the spec's folder, or may"),
    ("E270", "a bandwidth that a density can't have"),
    ("E271", "points that a density can't have"),
    # W: the spec works, but deserves a second look
    ("W201", "no budget cap"),
    ("W202", "the unit of privacy is not described"),
    ("W203", "bounds or keys without a source"),
    ("W204", "a period is given, but the spec has no {period}"),
    ("W205", "a key that no record can match"),
    ("W206", "a delta, but no cap on it"),
    ("W207", "a large delta"),
    ("W208", "arithmetic with the column that tells units apart"),
    ("W209", "more groups of a unit than it has rows"),
    ("W210", "more rows of a unit in one group than in all"),
    ("W211", "more rows of a unit than its groups can hold"),
    ("W212", "more groups of a unit than any table has"),
    ("W213", "a large bound on a unit, which needs much noise"),
    ("W214", "bounds on a unit that no query is affected by"),
    ("W215", "neighbours that a record-level table takes as replace-one"),
    ("W216", "a bound on groups where there are none"),
)
