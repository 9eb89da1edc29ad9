"""Puts man pages into the wheel, where `.ci/build` has made them in `man`."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManPages(BuildHookInterface):
    """The hook that the build calls."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folder `man`, if it is there, as share/man/man1."""
        if Path(self.root, "man").is_dir():
            build_data["shared_data"]["man"] = "share/man/man1"
