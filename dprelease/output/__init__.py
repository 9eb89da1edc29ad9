"""Output: published tables as files, their description, and an atomic way into a directory.

Everything here is post-processing of what may be published; nothing here sees private values.
"""
