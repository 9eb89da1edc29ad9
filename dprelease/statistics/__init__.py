"""Statistics: what each releases, how far a neighbour can move it, and how it is read."""
