"""Every mistake has its code, its exact place and a remedy. One edit of a good spec each."""

from __future__ import annotations

import pytest

Q1 = 'statistic = "count"\nby = ["region"]\nepsilon = 0.4'
Q2 = 'statistic = "mean"\ncolumn = "salary"\nby = ["region"]\nepsilon = 0.6'
KEYS = 'keys = ["north", "south", "east"]'
BOUNDS = "lower = 15_000\nupper = 120_000"
EPS = "epsilon = 1.0"
SALARY = '[columns.salary]\ntype = "integer"\n' + BOUNDS
REGION = '[columns.region]\ntype = "string"\n' + KEYS


def table(*rows):
    return pytest.mark.parametrize(
        ("before", "after", "code", "line", "column", "said", "hint"),
        rows,
        ids=[f"{row[2]}-{number}" for number, row in enumerate(rows)],
    )


STRUCTURE = [
    ("schema = 1", "schema = 2", "E109", 1, 10, "schema 1, not 2", "schema = 1"),
    ("schema = 1", "schema = true", "E109", 1, 10, "not true", "schema = 1"),
    ("[ledger]", "[leger]", "E102", 15, 1, 'unknown section "leger"', '"ledger"'),
    ("[ledger]", "[ledger]\ncap = 1", "E102", 16, 1, 'unknown key "cap" in [ledger]', "_cap"),
    (EPS, EPS.replace("n =", "nn ="), "E102", 13, 1, 'unknown key "epsilonn" in [privacy]',
     '"epsilon"'),
    ("by = [\"region\"]\nepsilon = 0.4", 'By = ["region"]\nepsilon = 0.4', "E102", 32, 1,
     'unknown key "By" in [[query]]', '"by"'),
    ('unit = "row"\n', "", "E110", 9, 1, "[privacy] has no `unit`",
     "say what one protected thing is; there is no default"),
    ('adjacency = "add-remove"\n', "", "E110", 9, 1, "has no `adjacency`", '"replace-one"'),
    ('name = "headcount"\n', "", "E110", 29, 1, "[[query]] has no `name`", "column"),
    ('[output]\npath = "out/staff"', "", "E110", 1, 1, "no [output]", "path"),
    ('title = "Headcount and mean salary by region, 2026"', "title = 5", "E103", 4, 9,
     "5 is not a text", 'write "5"'),
    ('title = "Headcount and mean salary by region, 2026"', 'title = " "', "E107", 4, 9,
     "empty", "leave"),
    ('title = "Headcount and mean salary by region, 2026"', 'title = "a\\u0007b"', "E107", 4, 9,
     "control character", "remove"),
    ("[data]", "[columns]\nage = 1\n[data]", "E103", 7, 7, "columns.age is 1", "[columns.age]"),
    ("[[query]]\nname = \"headcount\"", '[query]\nname = "headcount"', "E002", 35, 1, "second", ""),
    ('unit = "row"', 'unit = "rows"', "E105", 10, 8, '"rows" is no unit', '"row"'),
    (EPS, EPS + '\naccounting = "rdp"', "E105", 14, 14, '"rdp" is no', '"zcdp"'),
    ("[ledger]", '[[perturb]]\nname = "x"\n[ledger]', "E110", 15, 1,
     "[[perturb]] has no `columns`", "list the columns"),
    ("[ledger]", '[perturb]\nname = "x"\n[ledger]', "E103", 15, 1, "not a list of tables", "two"),
    ("[ledger]", "[[derived]]\nname = 'd'\n[ledger]", "E104", 15, 1, "not available", ""),
    ("[ledger]", '[report]\nformats = ["docx"]\n[ledger]', "E105", 16, 12, '"docx" is no', "md"),
    ("[ledger]", '[report]\nformats = ["md","md"]\n[ledger]', "E105", 16, 17, "twice", ""),
    ('path = "staff.csv"', 'path = "staff.csv"\nengine = "reference"', "E105", 8, 10, "engine",
     "duckdb"),
    ('statistic = "count"', 'statistic = "cont"', "E101", 31, 13, 'unknown statistic "cont"',
     'did you mean "count"?'),
    ("epsilon = 0.4", "accuracy = { within = 10 }\nepsilon = 0.4", "E224", 33, 12,
     "both epsilon and accuracy", "a query states"),
    ('name = "headcount"', 'name = "../x"', "E106", 30, 8, '"../x" is not safe', "A-Z"),
    ('name = "headcount"', 'name = "a..b"', "E106", 30, 8, "not safe", ""),
    ('name = "headcount"', 'name = "NUL"', "E106", 30, 8, "not safe", ""),
    ('name = "headcount"', 'name = "=cmd()"', "E106", 30, 8, "not safe", ""),
    ('name = "staff-pay-2026"', 'name = "a/b"', "E106", 3, 8, "not safe", ""),
    ('name = "staff-pay-2026"', 'name = ""', "E106", 3, 8, "not safe", ""),
]  # fmt: skip

COLUMNS = [
    (BOUNDS, "", "E201", 23, 1, 'mean of "salary" needs lower and upper',
     "from a public rule, never from the data"),
    ("upper = 120_000", "upper = 15_000", "E206", 25, 9, "not below upper 15000", ""),
    ("upper = 120_000", "upper = 1", "E206", 25, 9, "lower 15000 is not below upper 1", ""),
    *(
        ('"add-remove"', f'"add-remove"\npopulation = {number}', "E205", 13, 14, said, "3_000_000")
        for number, said in (
            ("0", "0 is not a whole number from 1 on"),
            ("2.5", "2.5 is not a whole number from 1 on"),
            ("2e12", "is more than 1000000000000"),
        )
    ),
    ("upper = 120_000", "upper = inf", "E205", 26, 9, "inf is not a finite number", ""),
    ("upper = 120_000", "upper = nan", "E205", 26, 9, "nan is not a finite number", ""),
    ("upper = 120_000", "upper = true", "E205", 26, 9, "true is no number", ""),
    ("upper = 120_000", 'upper = "9"', "E205", 26, 9, "a text", "without quotes"),
    ("upper = 120_000", "upper = 1e400", "E205", 26, 9, "1e+400 is too large", ""),
    ("upper = 120_000", "upper = 120_000.5", "E205", 26, 9, "not a whole number", "decimal"),
    ("upper = 120_000", "upper = 120_000\nstep = 7", "E207", 27, 8, "step 7 does not divide",
     "step = 5 does"),
    ("upper = 120_000", "upper = 120_000\nstep = 0", "E205", 27, 8, "not above 0", ""),
    ("upper = 120_000", "upper = 99_999_999_999_999_999", "E208", 26, 9, "2^53", "larger step"),
    (SALARY, SALARY.replace('"integer"', '"date"'), "E209", 25, 9, "date column takes no lower",
     "derive a number"),
    (SALARY, SALARY.replace('"integer"', '"boolean"'), "E209", 25, 9, "takes no lower", "false"),
    (SALARY, SALARY.replace('"integer"', '"string"'), "E209", 25, 9, "takes no lower", "keys"),
    ('type = "integer"', 'type = "int"', "E105", 24, 8, '"int" is no type', '"integer"'),
    (KEYS, "", "E202", 32, 6, '"region" has no public keys, so which groups appear would leak',
     "keys, keys_file or bins"),
    (KEYS, "keys = []", "E210", 20, 8, "keys is empty", ""),
    (KEYS, 'keys = ["a", 1]', "E210", 20, 14, "1 is no value of type string", "quotes"),
    (KEYS, 'keys = ["a", ""]', "E210", 20, 14, "empty", "nulls"),
    (KEYS, 'keys = ["a", "\\u0000"]', "E210", 20, 14, "control", ""),
    (KEYS, 'keys = ["a", "b", "a"]', "E211", 20, 19, '"a" is declared twice', "keep one"),
    (KEYS, 'keys = ["\\u00e9", "e\\u0301"]', "E211", 20, 19, "how accents are encoded", ""),
    (KEYS, 'keys_file = "none.txt"', "E112", 20, 13, "can't be read", "looked for in"),
    (KEYS, KEYS + '\nkeys_file = "spec.toml"', "E111", 21, 13, "both keys and keys_file", ""),
    (KEYS, KEYS + "\nbins = [1, 2]", "E111", 21, 8, "both keys and bins", ""),
    (KEYS, KEYS + '\nother = "east"', "E212", 21, 9, '"east" is also a key', ""),
    (KEYS, 'keys = ["\\u00e9", "n"]\nother = "e\\u0301"', "E212", 21, 9,
     "is also a key (they differ only in how accents are encoded)", ""),
    ("upper = 120_000", 'upper = 120_000\nother = "x"', "E212", 27, 9, "without keys", ""),
    (KEYS, KEYS + '\nnulls = "west"', "E214", 21, 9, '"west" is none of the keys', "other"),
    (KEYS, KEYS + "\nnulls = 1", "E214", 21, 9, "1 is no value", '"drop"'),
    ("upper = 120_000", "upper = 120_000\nnulls = 1", "E214", 27, 9, "outside of the bounds", ""),
    ("upper = 120_000", "upper = 120_000\nbins = [1]", "E213", 27, 8, "at least two", ""),
    ("upper = 120_000", "upper = 120_000\nbins = [1, 1]", "E213", 27, 8, "do not rise", ""),
    ("upper = 120_000", "upper = 120_000\nbins = [1, 2.5]", "E213", 27, 8, "2.5 is no value", ""),
    ("upper = 120_000", "upper = 120_000\nbins = [1, inf]", "E213", 27, 8, "inf", "other"),
    ("upper = 120_000", "upper = 120_000\nbins = [1, [2]]", "E103", 27, 8, "a list or", ""),
    ("upper = 120_000", "upper = 120_000\nbins = [1, 9]\nnulls = 15_000", "E214", 28, 9,
     "in none of the bins", ""),
    ("[columns.salary]", "[columns.Region]\ntype = \"date\"\n[columns.salary]", "E231", 23, 1,
     "only in case", "rename"),
    ("[columns.salary]", '[columns." "]\ntype = "date"\n[columns.salary]', "E107", 23, 1, "name",
     ""),
    ("[columns.salary]", '[columns.f]\ntype = "float"\nkeys = [1.5]\n[columns.salary]', "E210",
     25, 8, "float column can't be grouped by keys", "use bins"),
]  # fmt: skip

BUDGETS = [
    (EPS, "epsilon = 0", "E203", 13, 11, "0 is not above 0", "0.5"),
    (EPS, "epsilon = -1", "E203", 13, 11, "-1 is not above 0", ""),
    (EPS, "epsilon = -0.0", "E203", 13, 11, "not above 0", ""),
    (EPS, "epsilon = nan", "E203", 13, 11, "nan is not a finite number", ""),
    (EPS, "epsilon = inf", "E203", 13, 11, "inf is not a finite number", ""),
    (EPS, "epsilon = true", "E203", 13, 11, "true is no number", ""),
    (EPS, 'epsilon = "1"', "E203", 13, 11, '"1" is a text, not a number', "without quotes"),
    (EPS, "epsilon = [1]", "E203", 13, 11, "a list is no number", ""),
    (EPS, "epsilon = 1e400", "E203", 13, 11, "too large", ""),
    (EPS, "epsilon = 1e-2000000", "E203", 13, 11, "12 decimal places", ""),
    (EPS, "epsilon = 1e-99999999999999999999", "E203", 13, 11, "12 decimal places", ""),
    (EPS, "epsilon = 1e99999999999999999999", "E203", 13, 11, "too large", ""),
    (EPS, "epsilon = 1e-13", "E203", 13, 11, "12 decimal places", ""),
    (EPS, "epsilon = 1e7", "E203", 13, 11, "no protection", ""),
    (EPS, "epsilon = 1979-05-27", "E203", 13, 11, "1979-05-27 is no number", ""),
    (EPS, EPS + "\ndelta = 1", "E204", 14, 9, "1 is not in [0, 1)", ""),
    (EPS, EPS + "\ndelta = -1e-9", "E204", 14, 9, "not in [0, 1)", ""),
    (EPS, EPS + "\ndelta = nan", "E204", 14, 9, "not a finite", ""),
    (EPS, EPS + "\nrho = 1", "E224", 14, 7, "both epsilon and rho", ""),
    (EPS, 'rho = 1\naccounting = "pure"', "E224", 13, 7, "rho is no pure budget", ""),
    ("epsilon_cap = 2.0", "epsilon_cap = 0", "E203", 16, 15, "not above 0", ""),
    ("epsilon_cap = 2.0", "epsilon_cap = 2\ndelta_cap = 1.5", "E204", 17, 13, "not in", ""),
    (EPS + "\n\n[ledger]\nepsilon_cap = 2.0\n", "", "", 0, 0, "", ""),
    ("epsilon = 0.4", "epsilon = 0", "E203", 33, 11, "not above 0", ""),
    ("epsilon = 0.4", "weight = 0", "E203", 33, 10, "not above 0", ""),
    (EPS, "rho = 1\ndelta = 0", "E224", 14, 9, "rho with delta = 0", "leave it out for 1e-6"),
    ("epsilon = 0.4", "epsilon = 0.4\nrho = 1", "E224", 34, 7, "both epsilon and rho", ""),
    ("epsilon = 0.4", "epsilon = 0.4\nweight = 1", "E224", 34, 10, "both epsilon and weight", ""),
    ("epsilon = 0.4", "delta = 1e-9", "E224", 33, 9, "delta without epsilon", ""),
    ("epsilon = 0.4", "rho = 1\ndelta = 1e-9", "E224", 34, 9, "both rho and delta", ""),
    ("epsilon = 0.4", 'epsilon = 0.4\ndelta = 1e-9\nmechanism = "laplace"', "E225", 34, 9,
     "needs no delta", ""),
    ("epsilon = 0.4", 'epsilon = 0.4\nmechanism = "gaussian"', "E225", 34, 13, "needs a delta",
     "[privacy]"),
    ("epsilon = 0.4", 'epsilon = 0.4\nmechanism = "gauss"', "E105", 34, 13, '"gauss" is no',
     '"gaussian"'),
]  # fmt: skip

QUERIES = [
    ('by = ["region"]\nepsilon = 0.4', 'by = ["regio"]\nepsilon = 0.4', "E216", 32, 7,
     '"regio" is not declared', '"region"'),
    ('by = ["region"]\nepsilon = 0.4', 'by = ["region", "region"]\nepsilon = 0.4', "E231", 32, 17,
     "twice", ""),
    ('by = ["region"]\nepsilon = 0.4', 'by = ["salary"]\nepsilon = 0.4', "E202", 32, 6,
     '"salary" has no public keys', ""),
    ('by = ["region"]\nepsilon = 0.4', 'by = "region"\nepsilon = 0.4', "E103", 32, 6,
     "not a list of texts", '["..."'),
    ('statistic = "count"', 'statistic = "count"\ncolumn = "salary"', "E217", 32, 10,
     "count takes no column", "IS NOT NULL"),
    ('statistic = "count"', 'statistic = "count"\nbins = [1, 2]', "E111", 32, 8, "no bins", ""),
    ('statistic = "count"', 'statistic = "sum"', "E110", 29, 1, "sum has no `column`", ""),
    ('column = "salary"', 'column = "salry"', "E216", 38, 10, '"salry" is not declared', "salary"),
    ('column = "salary"', 'column = "region"', "E217", 38, 10, "which is a string", "histogram"),
    ('statistic = "count"', 'statistic = "histogram"\ncolumn = "region"', "E217", 32, 10,
     "is in by", ""),
    ('statistic = "count"', 'statistic = "histogram"\ncolumn = "salary"', "E202", 32, 10,
     "no public keys", "bins"),
    ('statistic = "count"', 'statistic = "histogram"\ncolumn = "salary"\nbins = [2, 1]', "E213",
     33, 8, "do not rise", ""),
    ('name = "mean_salary"', 'name = "headcount"', "E218", 36, 8, "two queries are named", ""),
    ('name = "mean_salary"', 'name = "Headcount"', "E218", 36, 8, "two queries are named", ""),
    ('name = "mean_salary"', 'name = "region"', "E219", 36, 8, 'groups of "region"', "rename"),
    ('name = "headcount"', 'name = "mean_salary_count"', "E219", 36, 8, "already that of query",
     "rename"),
    ("epsilon = 0.4", 'epsilon = 0.4\ntable = "report"', "E220", 34, 9, "name of a report", ""),
    ("epsilon = 0.4", 'epsilon = 0.4\ntable = "overall"', "E220", 34, 9, "without groups", ""),
    ("epsilon = 0.4", 'epsilon = 0.4\ntable = "a/b"', "E106", 34, 9, "not safe", ""),
    ("epsilon = 0.4", 'epsilon = 0.4\ntable = "BY_region"', "E220", 37, 8, "only in case", ""),
    ('by = ["region"]\nepsilon = 0.6', 'table = "by_region"\nepsilon = 0.6', "E221", 39, 9,
     'share the table "by_region"', "table ="),
]  # fmt: skip

FILES = [
    ('path = "staff.csv"', 'path = "s.csv"\nheader = false\nnames = ["region", "salry"]', "E216",
     25, 1, '"salary" is not among the names', '"salry"'),
    ('path = "staff.csv"', 'path = "staff.csv.bz2"', "E228", 7, 8, "compressed", "unpack"),
    ('path = "staff.csv"', 'path = "staff.zip"', "E228", 7, 8, "compressed", "unpack"),
    ('path = "staff.csv"', 'path = "s.gz"\nformat = "parquet"', "E228", 7, 8,
     "compressed Parquet files (.gz)", "unpack"),
    ('path = "staff.csv"', 'path = "staff.parquet.gz"', "E228", 7, 8, ".parquet.gz", "format ="),
    ('path = "staff.csv"', 'path = "staff.gz"', "E228", 7, 8, '".gz"', "format ="),
    ('path = "staff.csv"', 'path = "staff"', "E228", 7, 8, "without suffix", "format ="),
    ('path = "staff.csv"', 'path = "staff.dat"', "E228", 7, 8, '".dat"', "format ="),
    ('path = "staff.csv"', 'path = "s3://b/staff.csv"', "E228", 7, 8, "not a local path", ""),
    ('path = "staff.csv"', 'path = "staff.csv"\nformat = "xls"', "E105", 8, 10, '"xls"', '"xlsx"'),
    ('path = "staff.csv"', 'path = "s.parquet"\nstrip = true', "E111", 8, 1, "option of CSV", ""),
    ('path = "staff.csv"', 'path = "s.csv"\ndelimiter = ";;"', "E229", 8, 13, '";;"', ""),
    ('path = "staff.csv"', 'path = "s.csv"\ndelimiter = "\\n"', "E229", 8, 13, "not one", ""),
    ('path = "staff.csv"', 'path = "s.csv"\ndelimiter = "é"', "E229", 8, 13, "not one", ""),
    ('path = "staff.csv"', 'path = "s.csv"\ndelimiter = "\\""', "E229", 8, 13, "not one", ""),
    ('path = "staff.csv"', 'path = "s.csv"\nquote = "ab"', "E229", 8, 9, "not one", ""),
    ('path = "staff.csv"', 'path = "s.csv"\nencoding = "utf-7"', "E229", 8, 12, "utf-7", "cp1252"),
    ('path = "staff.csv"', 'path = "s.csv"\nheader = "no"', "E103", 8, 10, "true or false", ""),
    ('path = "staff.csv"', 'path = "s.csv"\nheader = false', "E110", 8, 10, "`names`", ""),
    ('path = "staff.csv"', 'path = "s.csv"\nnames = ["a"]', "E111", 8, 9, "has a header", ""),
    ('path = "staff.csv"', 'path = "s.csv"\nheader = false\nnames = ["a", "A"]', "E231", 9, 15,
     "twice", ""),
    ('path = "staff.csv"', 'path = "s.csv"\nheader = false\nnames = ["a", ""]', "E107", 9, 15,
     "name", ""),
    ('path = "staff.csv"', 'path = "s-{period}.csv"', "E226", 7, 8, "no period", "--period"),
    ('path = "out/staff"', 'path = "."', "E227", 43, 8, "the output is or holds the data", "own"),
    ('path = "out/staff"', 'path = "staff.csv"', "E227", 43, 8, "holds the data", "own"),
    ('path = "out/staff"', 'path = "spec.toml"', "E227", 43, 8, "holds the spec", "own"),
    ('path = "out/staff"', 'path = "dprelease-ledger.sqlite"', "E227", 43, 8, "the ledger", ""),
    ('path = "out/staff"', 'path = "out"\ninterval = 1', "E230", 44, 12, "interval 1 is not", ""),
    ('path = "out/staff"', 'path = "out"\ninterval = 0', "E230", 44, 12, "0.5 and 0.999999", ""),
    ('path = "out/staff"', 'path = "out"\nformat = "xlsx"', "E105", 44, 10, "xlsx", '"csv"'),
    ("epsilon_cap = 2.0", 'epsilon_cap = 2.0\npath = "staff.csv"', "E227", 17, 8,
     "the ledger is the data", ""),
    ("epsilon_cap = 2.0", 'epsilon_cap = 2.0\npath = "spec.toml"', "E227", 17, 8,
     "the ledger is the spec", ""),
]  # fmt: skip


@table(*(row for row in [*STRUCTURE, *COLUMNS, *BUDGETS, *QUERIES, *FILES] if row[2]))
def test_a_mistake(spoilt, before, after, code, line, column, said, hint):
    found = spoilt((before, after))
    first = [each for each in found if each.code == code]
    assert first, [str(each) for each in found]
    complaint = first[0]
    assert complaint.place.file.endswith("spec.toml")
    assert (complaint.place.line, complaint.place.column) == (line, column)
    assert said in complaint.message
    assert hint in complaint.hint
    assert complaint.key or code in ("E002", "E001")
    assert all(each.hint for each in found)


def test_no_mistake_hides_another(complaints, simple):
    text = (
        simple.replace('unit = "row"', 'unti = "row"')
        .replace("epsilon = 1.0", "epsilon = 0")
        .replace("lower = 15_000\n", "")
        .replace('type = "string"\nkeys = ["north", "south", "east"]', 'type = "string"')
        .replace('statistic = "count"', 'statistic = "cont"')
        .replace('path = "out/staff"', 'path = "."\nformt = "csv"')
    )
    found = [(each.code, each.key) for each in complaints(text)]
    assert found == [
        ("E110", "privacy"),
        ("E102", "privacy.unti"),
        ("E203", "privacy.epsilon"),
        ("E201", "columns.salary"),
        ("E111", "columns.salary.upper"),
        ("E101", "query[0].statistic"),
        ("E202", "query[0].by"),
        ("E202", "query[1].by"),
        ("E227", "output.path"),
        ("E102", "output.formt"),
    ]


def test_a_query_without_any_budget(complaints, simple):
    text = simple.replace("epsilon = 1.0\n", "").replace("epsilon = 0.4\n", "")
    (found,) = complaints(text)
    assert (found.code, found.place.line, found.key) == ("E223", 28, "query[0]")


def test_pure_accounting_has_no_room_for_gaussian_noise(complaints, simple):
    text = simple.replace("epsilon = 1.0", 'epsilon = 1\ndelta = 1e-9\naccounting = "pure"')
    (found,) = complaints(text.replace("epsilon = 0.4", 'epsilon = 0.4\nmechanism = "gaussian"'))
    assert (found.code, found.key) == ("E225", "query[0].mechanism")


def test_messages_never_hold_control_characters(spoilt):
    found = spoilt(("[ledger]", '"\\u001b[31m\\u202e" = 1\n[ledger]'))
    assert "\x1b" not in str(found[0])
    assert "\u202e" not in str(found[0])
    assert "\\u001b" in str(found[0])


def test_long_values_are_cut(spoilt):
    found = spoilt(('name = "headcount"', 'name = "' + "x" * 100_000 + '"'))
    assert len(str(found[0])) < 500


def test_too_many_cells(complaints, simple):
    keys = ", ".join(f'"k{i}"' for i in range(1001))
    text = simple.replace('"north", "south", "east"', keys)
    text += f'[columns.r2]\ntype = "string"\nkeys = [{keys}]\n'
    text = text.replace('by = ["region"]\nepsilon = 0.4', 'by = ["region", "r2"]\nepsilon = 0.4')
    (found,) = complaints(text)
    assert (found.code, found.key) == ("E222", "query[0].by")
    assert "1002001 cells" in found.message


def test_default_tables_that_collide_ask_for_a_name(complaints, simple):
    text = simple + '[columns."a b"]\ntype = "boolean"\n[columns."a_b"]\ntype = "boolean"\n'
    text = text.replace('by = ["region"]\nepsilon = 0.4', 'by = ["a b"]\nepsilon = 0.4')
    text = text.replace('by = ["region"]\nepsilon = 0.6', 'by = ["a_b"]\nepsilon = 0.6')
    (found,) = complaints(text)
    assert (found.code, found.key) == ("E221", "query[1].name")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("keys =", "kes ="),
        ("lower =", "lowr ="),
        ("epsilon = 1.0", "epsilonn = 1.0"),
        ('column = "salary"', 'colum = "salary"'),
    ],
)
def test_a_misspelt_key_is_not_also_called_missing(complaints, simple, before, after):
    text = simple.replace("epsilon = 0.4", "").replace(before, after)
    assert [each.code for each in complaints(text)] == ["E102"]
