"""The command line: one file per command, and what they share.

It sees the spec, the plan and what was published, never a record. Results go to standard output,
everything else to standard error.
"""
