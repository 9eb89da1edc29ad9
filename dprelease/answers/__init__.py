"""What ledgers, specs and published releases tell, as values: for Python and the command line.

Opens no data, and draws nothing.
"""
