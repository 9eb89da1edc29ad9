"""Numbers, names and tables as a report shows them."""
