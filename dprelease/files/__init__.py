"""Files and streams: atomic writing, CSV lines, prefetching."""
