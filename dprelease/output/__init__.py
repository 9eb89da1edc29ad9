"""Output: published tables as files, their description, and an atomic way into a directory.

Everything here is post-processing of what may be published; nothing here sees private values.
"""

from dprelease.output.publish import check_target, publish
from dprelease.output.tables import WrittenTable, file_name, write_table

__all__ = ["WrittenTable", "check_target", "file_name", "publish", "write_table"]
