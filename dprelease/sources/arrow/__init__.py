"""Files of Arrow."""
