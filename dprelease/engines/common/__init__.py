"""What every engine follows: files, typed values, keys, rounding and the bounding rule."""
