"""The beginning of a spec: the names of a table's columns, and a text to fill in.

Of the data nothing but the names is read: the first line of a CSV file byte by byte, so that not
one byte after it comes into memory; of a workbook the first row of a sheet; of a Parquet or Arrow
file the schema; of a database its catalogue. An example comes with made-up data.
"""
