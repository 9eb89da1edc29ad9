"""Keys that are shown only if enough units have them."""
