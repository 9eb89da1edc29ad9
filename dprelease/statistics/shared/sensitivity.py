"""The conditions under which a unit can have no row in any cell of a query."""

from dprelease.statistics.base import may_be_outside

__all__ = ["may_be_outside"]
