"""Which blocks are planned together, and with what weights of their pieces.

A strategy is taken where it takes something off the weighted error, and no figure of the release
errs more than it would otherwise. Where some would, their weights are raised, within bounds. All of
that is a search in floats: what the plan loses is derived from the drafts that come of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from enum import Enum
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from dprelease.model import Expression, MeasureKind, Read, Reading, Release, Sensitivity
from dprelease.planning.blocks import Block, build_blocks
from dprelease.planning.budgets import Demand, compute_root
from dprelease.planning.figure_errors import Errors, compute_errors, estimate_errors, name_aspects
from dprelease.planning.shared_releases import add_up_counts, join_column_statistics
from dprelease.planning.steps import Draft
from dprelease.planning.strategy_candidates import (
    Candidate,
    bound_piece_change,
    build_piece_query,
    define_piece_release,
    iter_candidates,
)
from dprelease.statistics.statistic_registry import get_statistic

WORTH = 0.995
"""A strategy is taken where the weighted error is no more than this of what it was."""

_ROUNDS = 12
MOST_COMPARED = 1000
"""So many blocks of features times drafts are compared, about a second's work; beyond that, only
counts are planned together."""

_DROPS = 5
"""So often something is left out of a block that would err more by it."""

_CLOSE = 0.9995
_LEAST = Fraction(1, 10**30)
"""Noise is not weighed to the digit below this part of the largest weight."""

_LEAST_IN_02 = Fraction(1, 10**6)
_SETTLED = 0.02
"""Estimates are for noise that differs from what they come to by no more than this part."""

_DIGITS = 12


class Scope(Enum):
    """What may be planned together: counts, as version 0.2 did, or as now; or all that can be."""

    AS_VERSION_02 = "counts, without what is hardly used"
    COUNTS = "counts"
    TOGETHER = "counts, some of which are drawn together"
    ALL = "figures of features too"
    ALL_TOGETHER = "figures of features too, some of which are drawn together"

    @property
    def is_of_counts(self) -> bool:
        """Return True if counts alone are planned together."""
        return self not in {Scope.ALL, Scope.ALL_TOGETHER}

    @property
    def is_joint(self) -> bool:
        """Return True if some noise is drawn together."""
        return self in {Scope.TOGETHER, Scope.ALL_TOGETHER}


def plan_together(  # noqa: PLR0913 - what is compared, and how
    release: Release,
    bases: Sequence[Draft],
    drafts: Sequence[Draft],
    *,
    concentrated: bool,
    scope: Scope,
    shares: Errors | None = None,
) -> list[Draft] | None:
    """Plan blocks of queries together where that pays; None if it pays nowhere.

    ``drafts`` are what would be released otherwise, and must share the total by weight to be
    compared; ``bases`` are the same before any is read from another. ``concentrated``: losses
    compose by rho, or about so. ``scope``: what may be planned together; None if some of it is to
    be drawn together, and nothing that is errs less than all else. ``shares``: what each figure
    may err, as a part of what it would by the ``drafts``.
    """
    # Errors of what is read from three sums compare with nothing else.
    squared = {
        read.query.name
        for draft in drafts
        if not scope.is_of_counts
        and len(draft.reads) > 1
        and any(measure.kind is MeasureKind.SQUARES for measure in draft.released.measures)
        for read in draft.reads
    }
    apart = squared | (_find_fitted_shares(bases) if scope is Scope.ALL_TOGETHER else set())
    blocks = build_blocks(
        [draft for draft in bases if draft.name not in apart],
        counts_only=scope.is_of_counts,
        pairs=scope.is_joint,
        whole=scope is Scope.ALL_TOGETHER,
    )
    if not blocks or (scope.is_joint and not any(block.others for block in blocks)):
        return None
    # Each block is weighed against all figures, again and again.
    if not scope.is_of_counts and len(blocks) * len(drafts) > MOST_COMPARED:
        return None
    today = compute_errors(drafts, estimate_errors(drafts, concentrated=concentrated))
    today = {name: error * (shares or {}).get(name, 1.0) for name, error in today.items()}
    if not any(today.values()):
        return None  # of so large an epsilon no error is left to lower
    types = {column.name: column.type for column in release.columns.values()}
    search = _Search(release, drafts, today, concentrated, scope)
    chosen_drafts: list[Draft] = []
    best: list[Draft] | None = None
    threshold = WORTH * search.weigh_errors(search.today)
    filters: set[Expression | None] = set()
    has_joint = False
    for number, block in enumerate(blocks, start=1):
        people = block.drafts[0].neighbours.people
        if people and (block.where in filters or not block.is_small):
            continue  # all that counts the same rows of people is asked for in one table
        left = {draft.name for draft in bases}
        if any(draft.name not in left for draft in block.drafts):
            continue  # planned with others
        tried: Block | None = block
        for _ in range(_DROPS):
            if tried is None:
                break
            inside = {draft.name for draft in tried.drafts}
            rest = [draft for draft in bases if draft.name not in inside]
            remaining = search.complete_drafts(rest, chosen_drafts)
            outcomes = [
                search.adjust_weights(tried, candidate, number, remaining)
                for jointly in ((False, True) if scope.is_joint else (False,))
                for candidate in iter_candidates(
                    tried, types, concentrated=concentrated, jointly=jointly
                )
            ]
            options = [outcome for outcome in outcomes if not isinstance(outcome, str)]
            if options:
                error, pieces, is_joint = min(options, key=lambda option: option[0])
                if error <= threshold:
                    has_joint = has_joint or is_joint
                    bases, chosen_drafts, threshold = rest, [*chosen_drafts, *pieces], WORTH * error
                    filters.add(block.where)
                    best = search.complete_drafts(rest, chosen_drafts)
                break
            # What errs more in every way, with all that is made of its column, is left out.
            tried = tried.drop_others([name for name in outcomes if isinstance(name, str)])
    return best if has_joint or not scope.is_joint else None


def _find_fitted_shares(drafts: Sequence[Draft]) -> set[str]:
    """Find shares that may be of the same records: one number of these is fitted to all of them."""
    alike: dict[Hashable, list[str]] = {}
    for draft in drafts:
        query = draft.query
        if query.among is not None:
            rows = query.groups, query.where, query.table, frozenset(query.among.columns)
            alike.setdefault(rows, []).append(draft.name)
    return {name for names in alike.values() if len(names) > 1 for name in names}


class _Search(Struct, frozen=True):
    release: Release
    drafts: Sequence[Draft]
    today: Errors
    concentrated: bool
    scope: Scope

    def weigh_errors(self, errors: Errors) -> float:
        """Compute the weighted mean of the errors as shares of today's."""
        today = self.today
        weights: dict[str, float] = {}
        for query in self.release.queries:
            names = name_aspects(query)
            weights |= dict.fromkeys(names, float(query.weight) / len(names))
        return sum(
            weights[name] * error / today[name] for name, error in errors.items() if today[name]
        ) / sum(weights[name] for name in errors if today[name])

    def complete_drafts(self, rest: Sequence[Draft], pieces: Sequence[Draft]) -> list[Draft]:
        """Add the drafts outside of strategies to the pieces, in the order of the spec."""
        drafts = [*add_up_counts(self.release, join_column_statistics(self.release, rest)), *pieces]
        return sorted(drafts, key=lambda draft: draft.query.number)

    def adjust_weights(
        self,
        block: Block,
        candidate: Candidate,
        number: int,
        remaining: Sequence[Draft],
    ) -> tuple[float, list[Draft], bool] | str:
        """Find weights of the pieces at which no figure errs more, or what errs most if not."""
        today = self.today
        factors = {name: 1.0 for draft in block.drafts for name in name_aspects(draft.query)}
        variances = [1.0] * len(candidate.pieces)
        worst = ""
        least = _LEAST_IN_02 if self.scope is Scope.AS_VERSION_02 else _LEAST
        unweighed, worths = _draft_pieces(block, candidate, number), _list_worths(block)
        for attempt in range(_ROUNDS):
            amounts = candidate.compute_amounts(variances)
            pieces = _weigh_pieces(block, unweighed, worths, amounts, factors)
            weights = [piece.demand.weight for piece in pieces if not piece.free]
            if not weights or min(weights) < least * max(weights):
                return worst
            noise = estimate_errors([*remaining, *pieces], concentrated=self.concentrated)
            settled, variances = variances, [noise[piece.name] for piece in pieces]
            errors = dict(compute_errors(remaining, noise))
            for draft, of_aspects in zip(block.drafts, amounts, strict=True):
                own = [
                    sum(share * variances[place] for place, share in shares.items())
                    for shares in of_aspects
                ]
                for read in draft.reads:
                    errors |= zip(name_aspects(read.query), own, strict=True)
            if attempt == 0:
                continue  # the estimates were for noise of one size
            # Of a large epsilon an error may be 0 as a double: such a figure bounds nothing.
            ratios = {name: errors[name] / today[name] if today[name] else 0.0 for name in errors}
            is_settled = all(
                abs(variance - estimate) <= _SETTLED * estimate
                for variance, estimate in zip(variances, settled, strict=True)
            )
            if max(ratios.values()) <= 1 and is_settled:
                pieces = _attach_reads(block, candidate, variances, pieces)
                return self.weigh_errors(errors), pieces, candidate.is_joint
            worst = max(factors, key=lambda name: factors[name] * ratios[name])
            above = {name: ratios[name] for name in factors if ratios[name] > _CLOSE}
            if not above and max(ratios.values()) > 1:
                if self.scope.is_of_counts:
                    return worst
                # What is left out of the block errs more, and takes from all of it.
                largest = max(ratios.values())
                factors = {name: factor / largest**2 for name, factor in factors.items()}
            factors |= {name: factors[name] * ratio**2 * 1.01 for name, ratio in above.items()}
        return worst


def _draft_pieces(block: Block, candidate: Candidate, number: int) -> list[Draft]:
    """Draft the pieces of a candidate, before they are weighed."""
    neighbours = block.drafts[0].neighbours
    return [
        Draft(
            build_piece_query(block, piece, name),
            define_piece_release(block, piece),
            bound_piece_change(block, piece, neighbours),
            neighbours,
        )
        for piece, name in zip(candidate.pieces, _name_pieces(candidate, number), strict=True)
    ]


def _list_worths(block: Block) -> list[list[tuple[str, float]]]:
    """List what each variance in each draft is worth, by the name of what is to err little."""
    worths: list[list[tuple[str, float]]] = []
    for draft in block.drafts:
        aspects = get_statistic(draft.query.statistic).list_aspects(draft.query)
        whole = float(draft.demand.weight) / draft.sensitivity.l1**2
        names = name_aspects(draft.query)
        worths.append(
            [
                (name, whole / (len(names) * float(sum(factor**2 for factor in own))))
                for name, own in zip(names, aspects, strict=True)
            ]
        )
    return worths


def _weigh_pieces(
    block: Block,
    pieces: Sequence[Draft],
    worths: Sequence[Sequence[tuple[str, float]]],
    amounts: Sequence[Sequence[Mapping[int, float]]],
    factors: Mapping[str, float],
) -> list[Draft]:
    """Weigh each piece by what its noise does to the figures."""
    matters = [0.0] * len(pieces)
    for of_draft, of_aspects in zip(worths, amounts, strict=True):
        for (name, worth), shares in zip(of_draft, of_aspects, strict=True):
            for place, share in shares.items():
                matters[place] += factors[name] * worth * share
    moves = [piece.sensitivity for piece in pieces]
    # Rounded, so that equal pieces have equal weights in whatever order floats were added.
    weights = [
        Fraction(f"{matter * change.l1**2:.{_DIGITS}g}")
        for matter, change in zip(matters, moves, strict=True)
    ]
    demands = _list_demands(block.budget, weights, moves)
    return [replace(piece, demand=demand) for piece, demand in zip(pieces, demands, strict=True)]


def _list_demands(
    budget: Demand, weights: Sequence[Fraction], moves: Sequence[Sensitivity]
) -> list[Demand]:
    """List what each piece demands: a weight, or its weight's share of a stated budget."""
    if not budget.is_stated:
        return [Demand(weight=weight) for weight in weights]
    roots = [compute_root(weight, 3) for weight in weights]
    if budget.rho is not None:
        # Weights refer to the L1 norm; rho goes with the squared L2 norm.
        pairs = zip(weights, moves, strict=True)
        roots = [
            compute_root(weight * Fraction(m.l2_squared, m.l1**2 or 1), 2) for weight, m in pairs
        ]
    whole = sum(roots, Fraction(0))
    shares = [(part / whole).limit_denominator(10**_DIGITS) for part in roots]
    shares = [share / max(sum(shares, Fraction(0)), Fraction(1)) for share in shares]
    if budget.rho is not None:
        return [Demand(rho=budget.rho * share) for share in shares]
    return [Demand(epsilon=(budget.epsilon or Fraction(0)) * share) for share in shares]


def _name_pieces(candidate: Candidate, number: int) -> list[str]:
    """Name pieces as no query can be named, independently of the order of the spec."""
    same: Counter[str] = Counter()
    names: dict[str, None] = {}
    for piece in candidate.pieces:
        title = name = f"together {number}: {piece.title}"
        while name in names:
            same[title] += 1
            name = f"{title} #{same[title] + 1}"
        names[name] = None
    return list(names)


def _attach_reads(
    block: Block, candidate: Candidate, variances: Sequence[float], pieces: Sequence[Draft]
) -> list[Draft]:
    """Attach all reads to the pieces, each figure to the first piece that it is read from."""
    reads: dict[str, list[Read]] = {}
    for draft, terms in zip(block.drafts, candidate.build_terms(variances), strict=True):
        renamed_terms = tuple(replace(term, step=pieces[int(term.step)].name) for term in terms)
        first = renamed_terms[0].step
        factors = get_statistic(draft.query.statistic).list_aspects(draft.query)[0]
        reads.setdefault(first, []).extend(
            Read(
                read.query,
                first,
                (),
                Reading.COMBINED,
                () if factors == (Fraction(1),) else factors,
                terms=renamed_terms,
            )
            for read in draft.reads
        )
    return [replace(piece, reads=tuple(reads.get(piece.name, ()))) for piece in pieces]
