#!/usr/bin/env bash
# openpyxl 3.1.5 writes a whole number with 16 significant digits, and reads all digits that a
# file has. So a person number of 18 digits is another one after it was saved, and several people
# become one. (Excel itself keeps 15.)
#
# Seen: 100000000000000001 and 100000000000000002 are both stored as 1e+17.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet openpyxl==3.1.5

cat > try.py <<'PYTHON'
import zipfile

import openpyxl

NUMBERS = [10**17 + 1, 10**17 + 2]
book = openpyxl.Workbook()
for number in NUMBERS:
    book.active.append([number])
book.save("t.xlsx")
found = [row[0].value for row in openpyxl.load_workbook("t.xlsx").active]
sheet = zipfile.ZipFile("t.xlsx").read("xl/worksheets/sheet1.xml").decode()
print("saved:", NUMBERS, "stored:", sheet[sheet.index("<sheetData>") :][:120], "read:", found)
if found != [1e17, 1e17] or sheet.count("<v>1e+17</v>") != 2:
    raise SystemExit("changed: other digits are stored")
PYTHON
venv/bin/python try.py
