"""Budgets as the spec states them: the release's total, and what each query asks of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from dprelease.errors import Complaint, ExitCode, Failure
from dprelease.model import Loss, Query, Release
from dprelease.privacy.composition import MARGINS, Cost, compose
from dprelease.statistics.statistic_registry import get_key_selector

STATED_DELTA = Fraction(1, 10**6)
"""Where only rho is declared, epsilon is stated at this delta."""


# --- the total ------------------------------------------------------------------------------------


class Total(Struct, frozen=True):
    """The budget of a release. If ``epsilon`` and ``rho`` are None, the queries' budgets decide.

    A numerically composed epsilon is claimed with this ``margin``.
    """

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction
    accounting: str
    margin: Fraction = MARGINS[0]

    @property
    def concentrates(self) -> bool:
        """Return True if losses may compose by other methods than addition."""
        return self.accounting != "pure" and (self.delta > 0 or self.rho is not None)

    def compose_loss(self, costs: Sequence[Cost]) -> tuple[Loss, str]:
        """Compose costs by the release's accounting; ValueError where it can't."""
        # Pure losses that fit into the total by addition stay pure: no delta is spent on them.
        pure = sum((cost.loss.epsilon for cost in costs), Fraction(0))
        fits = self.epsilon is None or pure <= self.epsilon
        plain = self.accounting in {"auto", "plain"} and (self.rho is None or self.delta == 0)
        if plain and fits and all(cost.loss.delta == 0 for cost in costs):
            return compose(costs, Fraction(0), "pure")
        return compose(costs, self.delta, self.accounting, self.margin)

    def subtract_loss(self, loss: Loss) -> Total:
        """Subtract a loss that adds up with all others; the rest may be negative."""
        epsilon = None if self.epsilon is None else self.epsilon - loss.epsilon
        rho = self.rho
        if rho is not None and loss.rho is not None:
            rho -= loss.rho
        return replace(self, epsilon=epsilon, rho=rho, delta=self.delta - loss.delta)

    def is_within(self, loss: Loss) -> bool:
        """Check that a composed loss is within the total."""
        if self.rho is not None:
            return loss.rho is not None and loss.rho <= self.rho
        return self.epsilon is None or (loss.epsilon <= self.epsilon and loss.delta <= self.delta)


def read_total(release: Release) -> Total:
    """Read the total from the spec; a delta is taken for rho, and summed where left out."""
    privacy = release.privacy
    delta = STATED_DELTA if is_delta_ours(release) else _read_declared_delta(release)
    if privacy.rho is not None and not privacy.delta:
        # Keys that are shown take theirs beside the one that epsilon is stated at.
        delta += sum_selection_deltas(release)
    return Total(privacy.epsilon, privacy.rho, delta, privacy.accounting)


def is_delta_ours(release: Release) -> bool:
    """Check if a budget is stated in rho and no delta anywhere: then ``STATED_DELTA`` is taken."""
    privacy = release.privacy
    in_rho = privacy.rho is not None or any(query.rho for query in release.queries)
    return in_rho and privacy.epsilon is None and _read_declared_delta(release) == 0


def _read_declared_delta(release: Release) -> Fraction:
    """Read the total's delta; without a total, sum the deltas of its parts."""
    privacy = release.privacy
    if privacy.delta > 0 or privacy.epsilon is not None:
        return privacy.delta
    queries = release.queries
    delta = sum((query.delta or Fraction(0) for query in queries), Fraction(0))
    if privacy.rho is None:
        delta += sum_selection_deltas(release)
    return delta + sum((perturb.delta for perturb in release.perturbs), Fraction(0))


def sum_selection_deltas(release: Release) -> Fraction:
    """Sum the deltas of the selections of keys, one for each table."""
    selecting = find_selecting_queries(release)
    deltas = (get_selection_delta(query) for query in release.queries if query.name in selecting)
    return sum(deltas, Fraction(0))


def find_selecting_queries(release: Release) -> frozenset[str]:
    """Find the query of each table with private keys that selects the keys.

    Raises ValueError if a table has none, which the spec's checks rule out.
    """
    # If the unit is a person, people are counted, so that one person adds 1 to a key, however many
    # rows they have; otherwise rows. No weighted count selects: one row would count for many.
    statistic = get_key_selector(of_units=release.privacy.bounding is not None)
    tables = dict.fromkeys(query.table for query in release.queries if query.private)
    chosen = []
    for table in tables:
        counts = [
            query
            for query in release.queries
            if query.table == table
            and query.private
            and query.statistic == statistic
            and query.survey_weight is None
        ]
        if not counts:
            raise ValueError("a table with private keys needs a count that selects them")
        # Prefer a count over all rows to a filtered one, and an earlier one to a later.
        chosen.append(min(counts, key=lambda query: (query.where is not None, query.number)))
    return frozenset(query.name for query in chosen)


def get_selection_delta(query: Query) -> Fraction:
    """Return the delta that a selecting query may spend on showing a key."""
    if query.key_selection is None:
        raise ValueError("a selecting query has the delta of its selection")
    return query.key_selection.delta


# --- what a query asks for ------------------------------------------------------------------------


class Demand(Struct, frozen=True):
    """The budget that a release asks for: epsilon (and delta), rho, accuracy targets, or a weight.

    Budgets of queries that share a release add up, and so do weights: they say how much the
    variance of a figure matters.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    weight: Fraction = Fraction(1)
    targeted: bool = False

    @property
    def kind(self) -> str:
        """Return the kind of the request; only requests of one kind can be added up."""
        if self.targeted:
            return "accuracy"
        if self.rho is not None:
            return "rho"
        if self.epsilon is None:
            return "weight" if self.delta is None else "weight and delta"
        return "epsilon" if self.delta is None else "epsilon and delta"

    @property
    def is_stated(self) -> bool:
        """Return True if the budget is stated in numbers."""
        return self.epsilon is not None or self.rho is not None


def add_up_demand(queries: Sequence[Query]) -> Demand:
    """Add up the requests of queries; raise ValueError if they differ in kind."""
    single = [
        Demand(
            query.epsilon, query.delta, query.rho, query.weight, targeted=query.accuracy is not None
        )
        for query in queries
    ]
    if len({demand.kind for demand in single}) != 1:
        raise ValueError("demands of different kinds can't be added up")

    def add_up(amounts: Iterable[Fraction | None]) -> Fraction | None:
        stated = [amount for amount in amounts if amount is not None]
        return sum(stated, Fraction(0)) if stated else None

    return Demand(
        add_up(query.epsilon for query in queries),
        add_up(query.delta for query in queries),
        add_up(query.rho for query in queries),
        sum((query.weight for query in queries), Fraction(0)),
        single[0].targeted,
    )


# --- roots of weights, and complaints about budgets -----------------------------------------------

_UNIT = 10**15


@lru_cache(maxsize=1024)
def compute_root(value: Fraction, degree: int) -> Fraction:
    """Compute the root of a number >= 0, rounded down to 15 places."""
    if value < 0 or degree < 1:
        raise ValueError("roots are taken of numbers that aren't negative")
    whole = value * _UNIT**degree
    radicand = whole.numerator // whole.denominator
    low, high = 0, 1 << -(-radicand.bit_length() // degree) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= radicand else (low, middle)
    return Fraction(low, _UNIT)


def complain(release: Release, query: Query, code: str, message: str, hint: str = "") -> Failure:
    """Build the failure of a query's budget."""
    return build_failure(release, f"query[{query.number}]", code, message, hint)


def build_failure(release: Release, key: str, code: str, message: str, hint: str = "") -> Failure:
    """Build the failure of the value at a key of the spec."""
    return Failure(ExitCode.SPEC, Complaint(code, message, hint, release.place(key), key))
