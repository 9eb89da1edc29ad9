"""A step releases what its query asks for, and a figure is of it."""
