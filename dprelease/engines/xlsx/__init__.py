"""Sheets of Excel workbooks."""
