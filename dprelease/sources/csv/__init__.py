"""CSV files: lines, and records from them."""
