"""Checks of a spec beyond the keys of one section, folder by folder."""
