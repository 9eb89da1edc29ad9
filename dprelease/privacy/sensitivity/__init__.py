"""How far a neighbour moves a query: contributions of one unit."""
