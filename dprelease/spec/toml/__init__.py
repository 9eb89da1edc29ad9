"""From the text of a spec to a plain tree, with the place of every key and value."""
