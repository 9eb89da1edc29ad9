"""Statistics: what is released, how far a neighbour can move it, how it is read."""
