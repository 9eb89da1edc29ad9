"""What every engine follows: files, typed values, keys, and the content of a request."""
