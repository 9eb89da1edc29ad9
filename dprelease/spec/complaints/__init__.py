"""Complaints about a spec: their codes, places and wording."""
