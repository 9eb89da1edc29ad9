"""Sources of records: each format that a table is read from. One line of the registry each."""
