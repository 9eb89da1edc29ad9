"""What commands print, as tables and lines."""
