"""Arrow files: record batches, with a footer that says where they are."""
