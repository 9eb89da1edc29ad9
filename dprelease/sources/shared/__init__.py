"""Common definitions of all engines: files, typed values, keys, and the content of a request."""
