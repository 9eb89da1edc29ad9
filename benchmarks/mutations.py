# ruff: noqa: E501  (a mutant is one line of a table)
"""Mutations of privacy-relevant lines, and which tests see them.

Each mutant replaces one line (found by a piece of its text, which stands once in the package) in a
scratch copy of the repository. The default tests of the named folders run, stopping at the first
failure; where they pass, the thorough ones. The table that is printed says who has seen it.

    python benchmarks/mutations.py --check            every piece of text stands exactly once
    python benchmarks/mutations.py                    all mutants; an hour on two cores
    python benchmarks/mutations.py 3 17 40            some, by their number
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """A piece of a line, what replaces it, what that breaks, and the tests to run."""

    old: str
    new: str
    breaks: str
    tests: str
    file: str = ""  # a piece of its name, where the line stands in another file too


PLANNING = "unit/planning unit/kernel"
VERIFY = "unit/privacy unit/kernel"
NOISE = "unit/kernel statistical"
LEDGER = "unit/ledger contracts/test_ledger_processes.py"
RELEASE = "unit/release leaks"
CLIPPED = "contracts/test_clipped_people.py contracts/test_engine_clipping.py unit/planning/test_clipped_queries.py unit/kernel"
ENGINES = "unit/engines unit/sources contracts"

MUTANTS = [
    # --- noise that is drawn together: what it costs, and its draws
    Mutant("lambda it: (it.derived, it.stated),", "lambda it: (0, it.stated),", "certify: the largest change that is stated may be too small", PLANNING),
    Mutant("return bound_largest_change(step, privacy) / step.noise.parameter", "return Fraction(1) / step.noise.parameter", "certify: what noise that is drawn together costs", PLANNING),
    Mutant("max(entering * high - leaving * low, leaving * high - entering * low)", "entering * high - leaving * low", "certify: rows that leave, of integers that are drawn together", "unit/kernel contracts"),
    Mutant("missing = [] if certain else [Fraction(0)]", "missing = []", "certify: rows that are missing, of integers that are drawn together", "unit/kernel contracts"),
    Mutant("and step.noise.integers == len(step.transform) <= MOST_TOGETHER", "and step.noise.integers <= MOST_TOGETHER", "certify: a cube of other integers than the released ones", PLANNING),
    Mutant("reaches = [part + first for part, first in zip(sums, starts, strict=True)]", "reaches = [part for part, first in zip(sums, starts, strict=True)]", "noise: the start of a reach", NOISE),
    Mutant("geometric = draw_lanes(laplace, number, entropy)", "geometric = abs(draw_lanes(laplace, number, entropy))", "noise: folded Laplace draws that are not geometric", NOISE),
    Mutant("draw_uniform_below(2 * reach + 1, entropy) - reach", "draw_uniform_below(2 * reach + 2, entropy) - reach", "noise: an integer beyond the reach", NOISE),
    Mutant("return draw_below_each(2 * each + 1, entropy) - each", "return draw_below_each(2 * each + 2, entropy) - each", "noise: an integer beyond the reach, of many", NOISE),
    Mutant("tuple(map(add, draws[place :: len(rows)], row)) for place, row in enumerate(rows)", "tuple(map(add, draws[:: len(rows)], row)) for place, row in enumerate(rows)", "noise: one integer for all of a cell", NOISE),
    Mutant("places = places[words > np.uint64((1 << 64) - 1) - spare]", "places = places[:0]", "noise: words beyond a multiple of the bound", NOISE),
    Mutant("(2 * k + 1) * same + (2 * (size - k) + 1) * before", "(2 * k + 1) * same + (2 * (size - k) - 1) * before", "noise: the law of a start", NOISE),
    # --- certify: what a unit can change, what that costs, and the conditions
    Mutant('lambda it: (it.worst.shift.l2_squared, it.step.sensitivity.l2_squared),', 'lambda it: (0, it.step.sensitivity.l2_squared),', "certify: the L2 sensitivity that is stated may be too small", PLANNING),
    Mutant('lambda it: (it.worst.l1, 0)),', 'lambda it: (0, 0)),', "certify: no noise although the integers change", PLANNING),
    Mutant('rho = additive_loss.compute_gaussian_rho(noise.parameter, priced.worst.shift.l2_squared)', 'rho = Fraction(0)', "certify: the rho of Gaussian noise", PLANNING),
    Mutant("lambda it: (it[0].epsilon, it[1].epsilon)),", "lambda it: (0, it[1].epsilon)),", "certify: the epsilon that a step claims", PLANNING),
    Mutant("return number * most * (2 if limits.replaced else 1)", "return number * most", "certify: adjacency factor of scores", PLANNING),
    Mutant('return sensitivity.choice_l1 * (1 if sensitivity.monotone else 2)', 'return sensitivity.choice_l1 * 2', "certify: the range of monotone scores", PLANNING),
    Mutant('lambda it: not it[0].sensitivity.monotone or it[1].adjacency is Adjacency.ADD_REMOVE,', 'lambda it: True,', "certify: monotone scores under replace-one", PLANNING),
    Mutant('return Loss(picks * epsilon, Fraction(0), picks * rho)', 'return Loss(epsilon, Fraction(0), rho)', "certify: k picks cost one", PLANNING),
    Mutant('derive_coarse_limits(it[0].query, it[1]).rows * bound_row_weight(it[0]),', '0,', "certify: the stated sensitivity of quantiles", PLANNING),
    Mutant("rest = epsilon - selecting.epsilon, delta - selecting.delta - add", "rest = epsilon, delta - add", "certify: what selects keys is added to the total", PLANNING),
    Mutant("return total.plan.loss.delta, privacy.delta", "return Fraction(0), privacy.delta", "certify: the declared delta", PLANNING),
    Mutant('if total.epsilon <= epsilon and total.delta <= delta:', 'if total.epsilon <= epsilon:', "certify: deltas add up", PLANNING),
    Mutant("return min(2 * self.groups, self.cells) if self.replaced else self.groups", "return self.groups", "certify: adjacency factor of touched cells", PLANNING),
    Mutant("rows, groups, per_cell = bounding.rows, bounding.groups, bounding.per_group", "rows, groups, per_cell = 1, bounding.groups, bounding.per_group", "certify: rows of a unit", PLANNING),
    Mutant("if {measure.kind for measure in step.measures} == {MeasureKind.UNITS}:", "if all(measure.kind is MeasureKind.UNITS for measure in step.measures):", "certify: the rows of a unit in a step without measures", "unit/kernel/core/test_certify_changes.py"),
    Mutant("return all(group.total for group in query.groups_and_axis) and query.where is None", "return all(group.total for group in groups)", "certify: a filtered count changes under replace-one", PLANNING),
    Mutant("effects |= {(Fraction(0),) * len(step.transform)}", "pass", "certify: a row that is in no cell", PLANNING),
    Mutant('lambda it: _compute_allowed_delta(it.step.query) >= _read_own_delta(it.step),', 'lambda it: True,', "certify: delta of the threshold within the spec's", PLANNING),
    Mutant('Rule("keys are selected by a count of units", _is_counting_units),', 'Rule("keys are selected by a count of units", lambda it: True),', "certify: keys are selected by a count of units", PLANNING),
    Mutant('lambda step: all(factor >= 0 for row in step.transform for factor in row),', 'lambda step: True,', "certify: scores of a choice rise with rows", PLANNING),
    Mutant('TABLE_LOSS, (step, Loss(rows * cells.epsilon, rows * cells.delta)), name', 'TABLE_LOSS, (step, Loss(cells.epsilon, cells.delta)), name', "certify: rows of a unit in a record-level table", f"{PLANNING} unit/local"),
    Mutant('yield from find_total_loss_breaches(plan, chapters)', 'pass', "certify: the composed total", PLANNING),
    # --- people whose totals are scaled
    Mutant("others = corners if privacy.adjacency is Adjacency.REPLACE_ONE else [(0,) * len(corners[0])]", "others = [(0,) * len(corners[0])]", "certify: a replaced person whose totals are scaled", CLIPPED),
    Mutant("ends += [-bound] if min(effects) < 0 else []", "ends += []", "certify: totals below 0 that are scaled", CLIPPED),
    Mutant("l1 = isqrt(cells * l2_squared)", "l1 = isqrt(l2_squared)", "certify: the L1 norm of totals in an L2 ball", CLIPPED, "clipped_totals"),
    Mutant("lambda case: _is_plain_sum(case[0])),", "lambda case: True),", "certify: what is scaled is a number of rows or a sum", CLIPPED),
    Mutant("lambda case: all(step.query.clip == case[0].query.clip for step in case[1]),", "lambda case: True,", "certify: figures are read from totals scaled as asked", CLIPPED),
    Mutant("return bound_clipped_change(step, privacy)", "return core.bound_worst_change(step, privacy)", "certify: scaled totals are bounded by their norm", CLIPPED),
    Mutant("l1, l2_squared = 2 * size, (2 if is_one_sided else 4) * size**2", "l1, l2_squared = 2 * size, 2 * size**2", "planner: totals below 0 that are scaled", CLIPPED),
    Mutant("if not replaced or (is_one_sided and cells == 1):", "if not replaced or cells == 1:", "planner: signed totals of a single cell", CLIPPED),
    Mutant('size = (call("ABS", TOTAL) * clip.bound) // norm', 'size = (call("ABS", TOTAL) * clip.bound + norm - 1) // norm', "engine: scaled totals are rounded towards 0", CLIPPED),
    Mutant('up = case([(root * root < col("squares"), root + 1)], root)', "up = root", "engine: the root of squares is rounded up", CLIPPED),
    Mutant("NEWTON_STEPS = 6", "NEWTON_STEPS = 4", "engine: steps until the root is exact", CLIPPED),
    Mutant('norm = call("SUM", call("ABS", TOTAL)).over([col("u")])', 'norm = call("ABS", call("SUM", TOTAL).over([col("u")]))', "engine: absolute totals make the L1 norm", CLIPPED),
    Mutant('squares = call("SUM", TOTAL * TOTAL).over([col("u")])', 'squares = TOTAL * TOTAL', "engine: the squares of all cells of a person", CLIPPED),
    Mutant('held = call("GREATEST", call("LEAST", whole, MOST_CLIPPED), -MOST_CLIPPED)', "held = whole", "engine: totals that are too large to be squared", CLIPPED),
    Mutant('whole = call("COALESCE", col("whole").cast("HUGEINT"), 0)', 'whole = col("whole").cast("HUGEINT")', "engine: a total of nothing is 0", CLIPPED),
    Mutant("if clip is None else (0, 0, 0)", "if clip is None else (1, 1, 1)", "engines: with a norm no row is left out", CLIPPED),
    Mutant("return Bound(privacy.unit_column, *kept, leading, null_unit, salt, clip)", "return Bound(privacy.unit_column, *kept, leading, null_unit, salt, None)", "engines are asked to scale totals", CLIPPED),
    # --- verify: independent numbers
    Mutant("return Fraction(l1 * scale.denominator, scale.numerator)", "return Fraction(l1 * scale.denominator, 2 * scale.numerator)", "verify: epsilon of Laplace noise", VERIFY),
    Mutant("sum(1 + (size - 1) // noise.stair for size in shape if size) for shape in shift.shapes", "sum(size // noise.stair for size in shape if size) for shape in shift.shapes", "verify: stairs that a change crosses", VERIFY),
    Mutant("return epsilon * (1 - shrunk) / (1 + shrunk)", "return epsilon * (1 - shrunk) / (2 + shrunk)", "verify: rho of a pure loss", VERIFY),
    Mutant("return Fraction(l2_squared * sigma2.denominator, 2 * sigma2.numerator)", "return Fraction(l2_squared * sigma2.denominator, 4 * sigma2.numerator)", "verify: rho of Gaussian noise", VERIFY),
    Mutant("exponent = above * (alpha * rho - epsilon)", "exponent = above * (rho - epsilon)", "verify: delta of zCDP", VERIFY),
    Mutant("return (1 / upper, 1 / lower) if y > 0 else (lower, upper)", "return (1 / lower, 1 / upper) if y > 0 else (lower, upper)", "verify: rounding direction of exp", VERIFY),
    Mutant("low, high = low * low >> BITS, divide_up(high * high)", "low, high = low * low >> BITS, high * high >> BITS", "verify: rounding direction of squares", VERIFY),
    Mutant("if min(rows, groups, row_limit) < 1 or selection.threshold <= row_limit or not 0 < delta < 1:", "if min(rows, groups, row_limit) < 1 or not 0 < delta < 1:", "verify: a threshold that one unit reaches", VERIFY),
    Mutant("l1 = 2 * rows if is_replaced else rows", "l1 = rows", "verify: adjacency factor of keys", VERIFY),
    Mutant("is_known = selection.draws == 2 and noise.family is NoiseFamily.LAPLACE and row_limit == 1", "is_known = selection.draws == 2 and noise.family is NoiseFamily.LAPLACE", "verify: two sums select where a unit has several rows in a key", VERIFY),
    Mutant("bound = reached * (1 + start * (1 - low) + 2 * high**2 / (1 + low)) / (1 + low) ** 2", "bound = reached * (1 + 2 * high**2 / (1 + low)) / (1 + low) ** 2", "verify: the tail of two draws is longer than that of one", VERIFY),
    Mutant("start = selection.threshold - selection.width", "start = selection.threshold", "verify: a unit adds its width to both sums", VERIFY),
    Mutant("l1 = units * groups * selection.width", "l1 = groups * selection.width", "verify: the sums of a replaced unit", VERIFY),
    Mutant("return selection.per_key == 1", "return True", "certify: two sums count rows, not units", PLANNING),
    Mutant("return grid.upper > grid.lower and step.transform == ((-grid.lower, 1), (grid.upper, -1))", "return grid.upper > grid.lower", "certify: two sums add up to a count", PLANNING),
    Mutant("return threshold >= 2 * width and threshold % width == 0", "return threshold >= 2 and threshold % width == 0", "certify: a threshold that one unit reaches", PLANNING),
    Mutant("return is_hidden and additive_loss.compute_gaussian_rho(noise.parameter, length) <= rho", "return additive_loss.compute_gaussian_rho(noise.parameter, length) <= rho", "verify: new keys stay hidden under a budget in rho", VERIFY),
    Mutant("length = _bound_apart(shift, shift).l2_squared if is_replaced else shift.l2_squared", "length = shift.l2_squared", "verify: the rho of a replaced unit's counts", "unit/planning/test_keys_in_rho.py"),
    Mutant("stated = step.loss.delta - _compute_allowed_delta(step.query)", "stated = step.loss.delta", "certify: what may fail is beside the delta of rho", PLANNING),
    Mutant("rest = epsilon - selecting.epsilon, delta - selecting.delta - add_failures(plan.steps)", "rest = epsilon - selecting.epsilon, delta - selecting.delta", "certify: the deltas of keys under a total in rho", PLANNING),
    Mutant("loss = _compose_by_zcdp(losses, delta - failure) if concentrated else None", "loss = _compose_by_zcdp(losses, delta) if concentrated else None", "composition: what may fail is no part of the delta that rho is converted at", PLANNING),
    Mutant("return [Loss(Fraction(0), Fraction(0), step.loss.rho), Loss(Fraction(0), failure)]", "return [Loss(Fraction(0), Fraction(0), step.loss.rho)]", "ledger: what may fail is charged", PLANNING),
    Mutant("return Fraction(high, numbers.ONE + numbers.enclose_exp_minus(1 / noise.parameter)[0])", "return Fraction(high, 2 * numbers.ONE)", "verify: chance that noise reaches the threshold", VERIFY),
    Mutant("return sum((n * max(_ZERO, p - factor * q) for n, p, q in outcomes), _ZERO)", "return sum((n * max(_ZERO, p - 2 * factor * q) for n, p, q in outcomes), _ZERO)", "verify: delta of sets of labels", f"{VERIFY} unit/local"),
    Mutant("if width <= epsilon * scale:", "if width <= 2 * epsilon * scale:", "verify: Laplace noise on records", f"{VERIFY} unit/local", "response_loss"),
    Mutant("number = rows * (2 if replace and not stays else 1)", "number = rows", "verify: adjacency factor of quantiles", f"{VERIFY} unit/mechanisms"),
    Mutant("return price(2 * selection.rate * reach)", "return price(selection.rate * reach)", "verify: loss of a selection by rank", f"{VERIFY} unit/mechanisms"),
    # --- sensitivity and calibration
    Mutant("return Noise(NoiseFamily.LAPLACE, Fraction(l1) / epsilon) if _is_moving(l1) else NO_NOISE", "return Noise(NoiseFamily.LAPLACE, Fraction(l1) / (2 * epsilon)) if _is_moving(l1) else NO_NOISE", "noise scale of Laplace", f"unit/mechanisms {PLANNING}"),
    Mutant("return Noise(NoiseFamily.GAUSSIAN, shift.l2_squared / (2 * rho))", "return Noise(NoiseFamily.GAUSSIAN, shift.l2_squared / (4 * rho))", "noise scale of Gaussian by rho", f"unit/mechanisms {PLANNING}"),
    Mutant("return _build(limits.rows * size, shift, text)", "return _build(size, shift, text)", "sensitivity: rows of a unit", "unit/privacy contracts/test_sensitivity.py"),
    Mutant("return _build(2 * limits.rows * row.l1, _build_replacement_shift(limits, row, cells), text)", "return _build(limits.rows * row.l1, _build_replacement_shift(limits, row, cells), text)", "sensitivity: adjacency factor", "unit/privacy contracts/test_sensitivity.py"),
    Mutant("outside = no_value or may_be_outside(query, neighbours)", "outside = False", "sensitivity: a row without a value", "unit/statistics contracts/test_sensitivity.py"),
    Mutant("return apply_weight(Vector(width, width**2, 2), query)", "return apply_weight(Vector(width, width, 2), query)", "sensitivity: L2 of a mean", f"unit/statistics contracts/test_sensitivity.py {PLANNING}"),
    Mutant("remaining_epsilon = total.epsilon - sum((cost.loss.epsilon for cost in fixed), Fraction(0))", "remaining_epsilon = total.epsilon", "budget share: what is stated is taken off", PLANNING, "budget_split"),
    # --- noise
    Mutant('return int.from_bytes(read_exactly(entropy, size), "little") >> (8 * size - bits)', 'return int.from_bytes(read_exactly(entropy, size), "little")', "entropy: too many bits", "unit/kernel/core"),
    Mutant("if len(data) != size:", "if len(data) > size:", "entropy: a short read", "unit/kernel/core"),
    Mutant("return os.urandom(size)", "return bytes(size)", "entropy: none", "unit/kernel/core unit/release"),
    Mutant("return tuple(map(add, draws, exact))", "return tuple(exact)", "privatize: no noise", "unit/release golden leaks"),
    Mutant("draws = [one(noise.parameter, entropy) for _ in range(size)]", "draws = [one(noise.parameter, entropy)] * size", "noise: one draw for all cells", NOISE),
    Mutant("rate = enclose(1 / (2 * coarse), 32)", "rate = enclose(1 / coarse, 32)", "noise: scale of the fine part", NOISE),
    Mutant("accepted &= (sign == 0) | (magnitude != 0)", "pass", "noise: zero twice", NOISE),
    Mutant("accepted = bounded & (draws >= above - (square >> np.uint64(33)) + sixth)", "accepted = bounded & (draws >= above - (square >> np.uint64(32)))", "noise: rounding direction of acceptance", NOISE),
    Mutant('lowest = count - np.searchsorted(self.lows, largest, side="right")', 'lowest = count - np.searchsorted(self.lows, largest, side="left")', "noise: a tie at 64 bits", NOISE),
    Mutant("again = np.flatnonzero(product.astype(half) < half((1 << bits) % bound))", "again = np.flatnonzero(product.astype(half) < half(0))", "noise: uniform integers are biased", NOISE),
    Mutant("starts = noise.first + sign.astype(kind) + (level.astype(kind) - 1) * noise.stair", "starts = noise.first + (level.astype(kind) - 1) * noise.stair", "noise: stairs below 0 begin one too far", NOISE),
    # --- privatize
    Mutant("counts = [sum(cell) for cell in zip(*noisy, strict=True)]", "counts = [2 * cell[0] for cell in zip(*noisy, strict=True)]", "threshold: one of two sums selects", "unit/release/test_privatize.py"),
    Mutant("values = tuple(tuple(row[place] for place in shown) for row in noisy)", "values = tuple(tuple(row[place] for place in sorted(shown)) for row in noisy)", "threshold: sums of other keys than those shown", "unit/release/test_privatize.py"),
    Mutant("while drawn.size < size:", "while False:", "noise: draws that are out of reach are not made up for", "unit/kernel/chapters/many_draws statistical/test_noise_law.py"),
    Mutant("more[abs(more) <= noise.reach]", "more[abs(more) <= noise.reach + 1]", "noise: draws one beyond where noise is cut", "unit/kernel/chapters/many_draws statistical/test_noise_law.py"),
    Mutant("moved = keys if adjacency is Adjacency.ADD_REMOVE else 2 * keys", "moved = keys", "threshold: cut noise of a unit that is replaced", "unit/kernel/chapters/private_keys unit/privacy/test_cut_noise.py"),
    Mutant("lambda step: step.threshold == step.noise.reach + 1,", "lambda step: True,", "certify: keys that nobody has are shown, or cut noise selects none", "unit/kernel/core unit/kernel/chapters/private_keys"),
    Mutant("moved = 2 * groups if is_replaced else groups", "moved = groups", "verify: cut noise of a unit that is replaced", "unit/kernel/chapters/private_keys unit/privacy/test_cut_noise.py"),
    Mutant("is_above = row_limit == 1 and selection.threshold > noise.reach", "is_above = selection.threshold > noise.reach", "verify: a unit counts once where noise is cut", "unit/kernel/chapters/private_keys unit/privacy/test_cut_noise.py"),
    Mutant("total += 2 * weight", "total += 3 * weight", "verify: the sum of the weights of cut noise", "unit/kernel/chapters/private_keys unit/privacy/test_cut_noise.py"),
    Mutant("last = numbers.enclose_exp_minus(noise.reach / noise.parameter)[1]", "last = numbers.enclose_exp_minus((noise.reach + 1) / noise.parameter)[1]", "verify: the last value of cut noise", "unit/kernel/chapters/private_keys unit/privacy/test_cut_noise.py"),
    Mutant("return is_covered and Fraction(held, numbers.ONE) >= 1 - delta", "return Fraction(held, numbers.ONE) >= 1 - delta", "verify: epsilon of cut noise", "unit/kernel/chapters/private_keys unit/privacy/test_cut_noise.py"),
    Mutant("if as_version_02 or not jointly:", "if False:", "planning: version 0.2 had no cut noise", "unit/kernel/chapters/private_keys unit/privacy/test_cut_noise.py"),
    Mutant("or step.threshold is not None or step.noise.reach for step", "or step.threshold is not None for step", "certify: cut noise without the chapter on keys", "unit/kernel/core"),
    Mutant("reached = bound_exp(-start / noise.parameter)[1] - beyond[0]", "reached = bound_exp(-start / noise.parameter)[1] - 2 * beyond[0]", "threshold: the chance of the last value of cut noise", "unit/kernel/chapters/private_keys unit/privacy/test_cut_noise.py"),
    Mutant("if self.compute_variance(cut) > known.compute_variance(choice.noise):", "if False:", "planning: cut noise that errs more than what it replaces", "unit/kernel/chapters/private_keys unit/privacy/test_cut_noise.py"),
    Mutant("if count >= threshold]", "if count >= threshold - 1]", "threshold: keys one below it are shown", "unit/release statistical/test_private_keys_law.py"),
    Mutant("order = sorted(range(len(occurring)), key=occurring.__getitem__)", "order = list(range(len(occurring)))", "key order: that of the engine", RELEASE),
    Mutant("if any(len(row) != len(cells) * width for row in rows):", "if False:", "privatize: a table with a missing cell", "unit/release"),
    # --- release
    Mutant("if self.reservation.state is not State.CHARGED:", "if False:", "charge before reading: the guard of aggregates and records", RELEASE),
    Mutant("self.taken = True", "self.taken = False", "seal: a failed draw can be repeated free", "unit/release"),
    Mutant("return sealed if first_sealed == payload else from_bytes(run.plan, first_sealed)", "return sealed", "seal: a second draw is published", f"{RELEASE} contracts/test_ledger_processes.py"),
    Mutant("salt = read_bits(draw.entropy, 63) if bounded else 0", "salt = 0", "bounding rule: the salt", RELEASE, "release/run"),
    Mutant("salt = read_bits(draw.entropy, 63) if bounded else 0", "salt = 0", "bounding rule: the salt of records", "unit/release unit/local", "record_release"),
    Mutant("return rows.take(order)", "return rows", "records: published in the order of the data", "unit/local"),
    Mutant("os.mkdir(directory, 0o700)", "os.mkdir(directory)", "records: others may read what is not published yet", "unit/local"),
    Mutant('return bool(content.get("form") == FORM and content["steps"] == describe_laws(plan))', 'return bool(content.get("form") == FORM)', "seal: of another plan", "unit/release"),
    # --- ledger
    Mutant("if caps.epsilon is not None and projected.epsilon > caps.epsilon:", "if caps.epsilon is not None and now.epsilon > caps.epsilon:", "ledger: comparison with the cap", LEDGER),
    Mutant("if projected.room is not None and projected.counted > projected.room:", "if False:", "ledger: the delta cap", LEDGER),
    Mutant("if charged_run.loss != loss:", "if False:", "ledger: the same run at another cost", LEDGER),
    Mutant('connection.execute("PRAGMA synchronous = EXTRA")', 'connection.execute("PRAGMA synchronous = OFF")', "ledger: durable commits", LEDGER),
    Mutant("os.fsync(sink.fileno())", "pass", "fsync of what is published", "unit/output unit/release faults"),
    Mutant("if expected != entry:", "if False:", "ledger: the chain", LEDGER),
    Mutant("if guard_head.seq > book.head.seq or guard_head.hash != book.hash_at(guard_head.seq):", "if guard_head.seq > book.head.seq:", "ledger: rollback guard", LEDGER),
    Mutant("if len(payload) != size or hash_payload(payload) != sha256:", "if len(payload) != size:", "ledger: sealed bytes were changed", LEDGER),
    Mutant("if not left.disjoint or not right.disjoint or left.period is None or right.period is None:", "if left.period is None or right.period is None:", "ledger: periods that were not declared disjoint", LEDGER),
    # --- engines
    Mutant('(value < low, literal(grid.lower)),', '(value < low, value.cast("BIGINT")),', "clamp from below", ENGINES),
    Mutant('((value > high) & ~call("ISNAN", value), literal(grid.upper)),', '((value > high) & ~call("ISNAN", value), value.cast("BIGINT")),', "clamp from above", ENGINES),
    Mutant("return (_choose_times(place, limit) + (limit - 1) + count - start) % count < limit", "return (_choose_times(place, limit) + (limit - 1) + count) % count < limit", "bounding rule: the start of a cut", ENGINES),
    # --- certify: strategies, weights, what a query asks for
    Mutant("axis_limit = number if labels > 1 else 0  # so many of these axes can differ", "axis_limit = min(number, 1) if labels > 1 else 0", "certify: two centred axes of one size can't both differ", "contracts/test_strategy_sensitivity.py"),
    Mutant("return max(joint, bound_together(entering, 0), bound_together(0, leaving))", "return joint", "certify: conditions where a row is missing on one side", "contracts/test_strategy_sensitivity.py"),
    Mutant("lowest = sum(amount for amount in amounts.values() if amount < 0)", "lowest = sum(amounts.values())", "certify: the least that a row adds by its conditions", "contracts/test_strategy_sensitivity.py"),
    Mutant("if measure.where is not None and measure.where != step.query.where:", "if measure.where is not None and step.query.where is None:", "certify: a part's filter beside the query's", "unit/kernel/chapters/choices/test_certify_choices.py"),
    Mutant("always = amounts.pop(step.query.where, 0)", "always = sum(amounts.values())", "certify: conditions with a filter of their own", "contracts/test_strategy_sensitivity.py"),
    Mutant("return quantile_loss.bound_spans(step.scheme.steps, records, limits.replaced, stays=stays)", "return quantile_loss.bound_spans(step.scheme.steps, limits.rows, limits.replaced, stays=stays)", "certify: composed quantiles without their weight", "unit/kernel/core/test_certify_weights.py"),
    Mutant("return privacy.bounding is None and privacy.has_fixed_records", "return privacy.has_fixed_records", "certify: people are not there for certain", "contracts/test_sensitivity.py"),
    Mutant("absent = Norms(0, 0) if certain else change", "absent = Norms(0, 0)", "certify: in mixed cells nobody is absent", "contracts/test_strategy_sensitivity.py"),
    Mutant("disjoint = Norms(2 * column.l1, 2 * column.l2_squared) if several else Norms(0, 0)", "disjoint = Norms(0, 0)", "certify: two records in cells that share no integer", "contracts/test_strategy_sensitivity.py"),
    Mutant("squares = 4 if any(map(_has_negative_entries, parts)) else 2", "squares = 2", "certify: the triangle inequality in squares", "contracts/test_strategy_sensitivity.py"),
    Mutant("largest = _join_norms(largest, Norms(factor * l1, factor * factor * l2_squared))", "largest = _join_norms(largest, Norms(factor * l1, factor * l2_squared))", "certify: the factor of a column, in squares", "contracts/test_strategy_sensitivity.py unit/planning/test_running_sums.py"),
    Mutant("for entry, factor in zip(column, reversed(factors), strict=True):", "for entry, factor in zip(column, factors, strict=True):", "certify: which column has which factor", "contracts/test_strategy_sensitivity.py"),
    Mutant("cells = (cells.T * np.array(factors, dtype=object)).T  # along the first axis", "pass", "the factors of columns", "unit/kernel/chapters/strategies/test_mixed_cells.py"),
    Mutant("return Norms(rows * change.l1, rows * rows * change.l2_squared)", "return Norms(rows * change.l1, rows * change.l2_squared)", "certify: several rows in mixed cells, in squares", "contracts/test_strategy_sensitivity.py"),
    Mutant("return Counter({(1, 1): shared, (1, 0): apart, (0, 1): apart})", "return Counter({(1, 1): shared, (1, 0): apart})", "certify: the second label of a tree", "contracts/test_strategy_sensitivity.py"),
    Mutant("return _compute_norms(_tally_tree(axis, len(axis.entries[0])), alone=True)", "return Norms(1, 1)", "certify: the levels of a tree", "contracts/test_strategy_sensitivity.py unit/planning/test_running_sums.py"),
    Mutant("for shared in range(sum(width >= labels for width in widths), len(widths) + 1):", "for shared in range(len(widths) - 1, len(widths) + 1):", "certify: labels apart on several levels", "contracts/test_strategy_sensitivity.py"),
    Mutant("sums = [np.add.reduceat(cells, range(0, size, width), axis=0) for width in widths]", "sums = [np.add.reduceat(cells, range(0, size, 1), axis=0) for width in widths]", "the sums of a tree", "unit/kernel/chapters/strategies/test_mixed_cells.py"),
    Mutant("gains = [(own.covariance << _BITS) // (before + _ONE) for own in prior]", "gains = [(own.covariance << _BITS) // before for own in prior]", "the weights of a tree's numbers", "unit/statistics/test_tree_sums.py"),
    Mutant("_count_node_weights(counts, tuple(below), parts, first, every - own)", "_count_node_weights(counts, tuple(below), parts, first, every)", "the half-widths of a tree's sums", "unit/statistics/test_tree_sums.py"),
    Mutant("found[positions[int(cell)] * width + int(point) - lower] += int(records)", "found[positions[int(cell)] * width + int(point) - lower] += 1", "records that share a value", "contracts/test_sensitivity_values.py"),
    Mutant("sizes.append(self.points.grid.width + 1)", "sizes.append(self.points.grid.width)", "how many values are counted", "contracts/test_sensitivity_values.py unit/statistics/test_tree_quantiles.py"),
    Mutant("certain = certain and (step.points is None or step.points.null_fill is not None)", "certain = True", "certify: a record without a value that is counted", "contracts/test_sensitivity_values.py"),
    Mutant("return ceil(reader.balance_half(noise, number, q, alpha / (halvings + 1)))", "return ceil(reader.balance_half(noise, reader.labels, q, alpha))", "the stated ranks of quantiles from a tree", "unit/statistics/test_tree_quantiles.py"),
    Mutant("others = (*step.measures, query.axis, query.candidates, query.survey_weight, step.survey_weight)", "others = (*step.measures, query.axis, query.candidates, step.survey_weight)", "certify: what quantiles are read from has no weights", "unit/statistics/test_tree_quantiles.py"),
    Mutant("ends |= {1} if weight is None else {weight.grid.lower, weight.grid.upper}", "ends |= {1} if weight is None else {weight.grid.lower}", "certify: the largest survey weight", "unit/kernel/core/test_certify_weights.py"),
    Mutant("ends |= {0} if weight is not None and weight.null_fill is None else set()", "pass", "certify: a record without a survey weight", "unit/kernel/core/test_certify_weights.py contracts/test_sensitivity.py"),
    Mutant("return step.survey_weight is None or step.survey_weight.null_fill is not None", "return True", "certify: a record without a weight leaves quantiles", "unit/kernel/core/test_certify_weights.py"),
    Mutant("return rows <= min(bounding.groups, bounding.per_group)", "return True", "certify: rows of people in joined tables", "unit/kernel/chapters/strategies/test_certify_strategies.py unit/kernel/core/test_rules.py"),
    Mutant("return content in iter_own_contents(step.query, step) or content in _iter_shared(step.query)", "return True", "certify: a step releases what its query is", "unit/kernel/core/test_rules.py"),
    # --- planning of strategies
    Mutant("return 2 * l1, 2 * l2_squared * fewest // (fewest - 1)", "return 2 * l1, 2 * l2_squared", "strategy sensitivity: labels of one centred axis differ", "contracts/test_strategy_sensitivity.py"),
    Mutant("step = 2 if replaced else 1", "step = 1", "strategy sensitivity: conditions under replace-one", "contracts/test_strategy_sensitivity.py"),
    Mutant("l1, l2_squared = rows * l1, rows**2 * l2_squared", "l1, l2_squared = rows * l1, rows * l2_squared", "strategy sensitivity: several rows, in squares", "contracts/test_strategy_sensitivity.py"),
    Mutant("_sum_piece(place, len(inner), Fraction(1, whole * _count_cells(inner, sizes)))", "_sum_piece(place, len(inner), Fraction(1, whole))", "strategies: factors of centred pieces", "unit/planning/test_strategies.py"),
    Mutant("terms[larger] = [_sum_piece(len(pieces), len(whole), Fraction(1, size**2)), *coarser]", "terms[larger] = [_sum_piece(len(pieces), len(whole), Fraction(1, size)), *coarser]", "strategies: factors of nested pieces", "unit/planning/test_strategies.py"),
    Mutant("row[place_of[feature.total]] += 2", "row[place_of[feature.total]] += 1", "features: twice a sum", "unit/planning/test_strategies.py unit/planning/test_features.py"),
    Mutant("row[place_of[feature.known or records]] -= feature.lower + feature.upper", "row[place_of[records]] -= feature.lower + feature.upper", "features: what is in the middle is of records with a value", "unit/planning/test_features.py contracts/test_strategy_sensitivity.py"),
    Mutant("return Feature(total, None, min(lower, 0), max(upper, 0))", "return Feature(total, None, lower, upper)", "features: a record without a value adds 0 to a sum", "unit/planning/test_features.py"),
    Mutant("rows.append(tuple(map(mul, repeat(factor), halves.transform[len(rows)])))", "rows.append(halves.transform[len(rows)])", "features drawn together: their factors", "unit/planning/test_features.py"),
    Mutant("half = mix.missing * self.features[place].width / 2", "half = mix.missing", "features drawn together: records without a value", "unit/planning/test_features.py"),
    Mutant("cube = contribution.rows * (2 if replaced else 1) * max(widths)", "cube = contribution.rows * max(widths)", "strategy sensitivity: features that are drawn together under replace-one", "contracts/test_strategy_sensitivity.py"),
    Mutant("if whole <= MOST_FACTOR * widest:", "if True:", "features drawn together: factors beyond all bounds", "contracts/test_strategy_sensitivity.py"),
    Mutant("(mix.centred if row == place else -mix.centred)", "(mix.centred if row == place else mix.centred)", "features: of disjoint counts those of others", "unit/planning/test_features.py"),
    Mutant("own[2] = records + mix.missing", "own[2] = mix.missing", "features: records of which a condition is not known are records", "unit/planning/test_features.py"),
    Mutant("today = {name: error * (shares or {}).get(name, 1.0) for name, error in today.items()}", "pass", "strategies: no figure errs more than it would with a delta", "unit/planning/test_strategies.py"),
    Mutant("known = Mix(place, zero, Fraction(-1, feature.width), one)", "known = records", "features: records without a value are not of a mean", "unit/planning/test_features.py contracts/test_strategy_counts.py"),
    Mutant("l1, l2_squared = step * sum(widths), step**2 * sum(width**2 for width in widths)", "l1, l2_squared = step * sum(widths), step**2 * sum(widths)", "strategy sensitivity: the squares of widths", "contracts/test_strategy_sensitivity.py unit/planning/test_features.py"),
    Mutant("own = [measure.quantity or measure for measure in measures if measure != every_row]", "own = [measure for measure in measures if measure != every_row]", "certify: integers of one column move together", "contracts/test_strategy_sensitivity.py"),
    Mutant("return find_corners(replace(step, measures=measures, transform=transform))", "return frozenset(list(find_corners(replace(step, measures=measures, transform=transform)))[:1])", "certify: every corner of a feature", "contracts/test_strategy_sensitivity.py"),
    Mutant("rows = entering**2 + leaving**2 if power == 2 else entering + leaving", "rows = entering + leaving", "certify: several rows of filters apart, in squares", "contracts/test_strategy_sensitivity.py"),
    Mutant("_bound_apart(effects, 2, 1 if is_count else 2)", "_bound_apart(effects, 2, 1)", "certify: filters apart with opposite effects", "contracts/test_strategy_sensitivity.py"),
    Mutant("return are_exclusive(list_own_filters(step), types)", "return True", "certify: filters that are said to exclude each other", "unit/kernel/chapters/strategies/test_certify_strategies.py"),
    Mutant("lambda case: _is_counting_alone(case[0]),", "lambda case: True,", "certify: what can be apart", "unit/kernel/chapters/strategies/test_certify_strategies.py unit/kernel/core/test_rules.py"),
    Mutant("places = [None, *range(2 * len(constants) + 1)]", "places = [*range(2 * len(constants) + 1)]", "certify: nulls meet filters too", "unit/kernel/chapters/strategies/test_exclusive_filters.py"),
    Mutant("places = [None, *range(2 * len(constants) + 1)]", "places = [None, *range(1, 2 * len(constants), 2)]", "certify: values between constants", "unit/kernel/chapters/strategies/test_exclusive_filters.py"),
    Mutant("constants, places = [False, True], [None, 1, 3]", "constants, places = [False, True], [1, 3]", "certify: conditions that are null", "unit/kernel/chapters/strategies/test_exclusive_filters.py"),
    Mutant('decisive = operation == "or"', 'decisive = operation == "and"', "certify: AND and OR of filters", "unit/kernel/chapters/strategies/test_exclusive_filters.py"),
    Mutant("return frozenset({place is None})", "return frozenset({place is not None})", "certify: IS NULL", "unit/kernel/chapters/strategies/test_exclusive_filters.py"),
    Mutant("ends = zip((ge, le), others, strict=True)", "ends = zip((ge, lt), others, strict=True)", "certify: both ends of BETWEEN", "unit/kernel/chapters/strategies/test_exclusive_filters.py"),
    Mutant('return frozenset({_combine("and", [_hold(test, first, end) for test, end in ends])})', 'return frozenset({None if None in at else _combine("and", [_hold(test, first, end) for test, end in ends])})', "certify: BETWEEN may be false with an end that is null", "unit/kernel/chapters/strategies/test_exclusive_filters.py"),
    Mutant("if term.part == part:", "if True:", "certify: the parts of a share are apart", "unit/planning/test_features.py"),
    Mutant("return read.factors == (units[0] / 2, -units[1] / 2)", "return True", "certify: the factors of a share", "unit/planning/test_features.py"),
    Mutant("and (measure.quantity is None or _name_grid(measure.quantity) in declared.quantities)", "and True", "certify: columns of a strategy are those of queries", "unit/planning/test_features.py"),
    Mutant("return where is None or all(measure.where == where for measure in step.measures)", "return True", "certify: the filter of features", "unit/planning/test_features.py"),
    Mutant("return parts.bound_noise((half + off, off - half), alpha) + step_of_half", "return parts.bound_noise((half, -half), alpha) + step_of_half", "a share off the middle has the noise of its records", "statistical/test_feature_intervals.py"),
    # --- survey weights
    Mutant("return Vector(highest * row.l1, highest**2 * row.l2_squared, row.width, plural=row.plural)", "return Vector(row.l1, row.l2_squared, row.width, plural=row.plural)", "weights: a weighted share", "contracts/test_sensitivity.py"),
    Mutant("corners = [w * k for w in (lowest, highest) for k in (row.lower, row.upper)]", "corners = [w * k for w in (lowest,) for k in (row.lower, row.upper)]", "weights: a weighted sum", "contracts/test_sensitivity.py"),
    # --- the ledger: filter, reservation, server
    Mutant("return Parts(rho, epsilon, delta, max(loss.delta, delta) if once else loss.delta + delta)", "return Parts(rho, epsilon, delta, max(loss.delta, delta))", "filter: either of two ways fails", "unit/ledger/test_ledger_privacy_filter.py"),
    Mutant("self._counted += parts.either if self._plain else parts.delta", "self._counted += parts.delta", "filter: deltas while the plain way counts", "unit/ledger/test_ledger_privacy_filter.py"),
    Mutant("by_rho = parts.epsilon + order * parts.rho", "by_rho = parts.epsilon + parts.rho", "filter: rho at an order", "unit/ledger/test_ledger_privacy_filter.py"),
    Mutant("if self._either > self._room or (cap is not None and self._epsilon > cap):", "if self._either > self._room:", "filter: the plain way ends at the cap", "unit/ledger/test_ledger_privacy_filter.py"),
    Mutant("self._room = (caps.delta or ZERO) - self._reserve", "self._room = caps.delta or ZERO", "filter: the reserve of delta", "unit/ledger/test_ledger_privacy_filter.py"),
    Mutant("elif step.delta == 0:", "elif step.delta >= 0:", "filter: a step with a delta has no rho", "unit/ledger/test_ledger_privacy_filter.py", "privacy_filter"),
    Mutant("if rho is None or rho > caps.rho:", "if rho is not None and rho > caps.rho:", "reservation: a run without rho under a cap of rho", "unit/ledger/test_ledger_caps.py unit/ledger/test_ledger_privacy_filter.py cli/test_sessions.py"),
    Mutant("return cap.caps.lower(spec_caps)", "return spec_caps", "reservation: caps set in the ledger", "unit/ledger/test_ledger_caps.py cli/test_sessions.py"),
    Mutant("return [name for name, own, cap in pairs if None not in (own, cap) and own > cap]", "return []", "reservation: a spec that states a higher cap", "unit/ledger/test_ledger_caps.py cli/test_sessions.py"),
    Mutant("if sum_spent((*account.terms, terms)).delta >= 1:", "if False:", "reservation: a delta of 1", "unit/ledger"),
    Mutant('("synchronous_commit", "on"),', '("synchronous_commit", "off"),', "server: durable commits", "unit/ledger/test_ledger_server.py"),
    Mutant('self._execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))', "pass", "server: one run at a time", "unit/ledger/test_ledger_server.py contracts/test_ledger_processes.py"),
    Mutant("or sound != _TRIGGERS", "or False", "server: triggers that were changed", "unit/ledger/test_ledger_server.py"),
    Mutant("return parts if all(_has_clean_lines(path, dialect) for path in paths) else ()", "return parts", "csv: one odd line decides what is read of others", "unit/sources/test_rejected_lines.py"),
    Mutant("if known is not None and known.version == version:", "if known is not None:", "ledger: entries that another connection edits", "unit/ledger"),
    Mutant("is_whole = book.head == self._database.read_last()", "is_whole = True", "ledger: an entry that was rolled back", "unit/ledger"),
    Mutant('("default_transaction_read_only", "on" if self._read_only else "off"),', '("default_transaction_read_only", "off"),', "server: readers that can write", "unit/ledger/test_ledger_server.py"),
    # --- quality first
    Mutant("total = None if privacy.epsilon is None else privacy.epsilon - sum(epsilons)", "total = privacy.epsilon", "quality first: what it costs is taken off the total", "unit/release/test_quality_first.py"),
    Mutant("if len(ahead) > 1 and not is_within:", "if False:", "quality first: the cap holds both runs", "cli/test_cli_quality.py cli/test_sessions.py"),
    Mutant("if counts.get(state, 0) - noise.get(state, 0) > cap * total:", "if counts.get(state, 0) > cap * total:", "quality first: noise alone stops no run", "unit/release/test_quality_first.py"),
    # --- finishing
    Mutant("union = columns | changed  # conditions look at all figures before any is hidden or rounded", "union = columns", "finishing: conditions look at adjusted figures", "unit/postprocess"),
    Mutant("raw[table, name] = _hide_values(before.values, visible), before.decimals", "raw[table, name] = before.values, before.decimals", "finishing: hidden figures show in no raw column", "unit/postprocess cli/test_cli_finishing.py"),
    # --- readers
    Mutant("complete = self.has_record(fields)", "complete = fields is not None", "csv: a line with another number of fields", "unit/sources/test_csv_lines.py contracts/test_sources_and_engines.py"),
    Mutant("if len(columns[0]) == records:", "if True:", "csv: the fast reader finds as many records", "unit/sources/test_csv_lines.py unit/sources/test_multiline_csv.py"),
    Mutant('return len(fields) <= self.width or not "".join(fields[self.width :]).strip(BLANKS)', "return True", "csv: fields beyond the header's are empty", "unit/sources/test_csv_lines.py"),
    Mutant("return Beginning(lines.at, lines.ended_by_return, tuple(preamble), header)", "return Beginning(lines.at, True, tuple(preamble), header)", "csv: the header decides if returns end lines", "unit/sources contracts/test_reader_traps.py"),
    Mutant("return request.bound is None and not find_distinct_places(request)", "return not find_distinct_places(request)", "csv: lines left out are added to sums only, not to bounded answers", "unit/sources/test_rejected_lines.py"),
    Mutant("return parts if all(_has_clean_lines(path, dialect) for path in paths) else ()", "return parts", "csv: no line is left out where a quote of the file is odd", "unit/sources/test_rejected_lines.py"),
    Mutant("not overlong and clean_records(block, dialect) is not None for block, overlong in blocks", "not overlong for block, overlong in blocks", "csv: quotes are about whole fields in all blocks of a file", "unit/sources/test_rejected_lines.py"),
    Mutant("if not is_known or not size or overlaps:", "if not is_known or not size:", "csv: parts left out don't overlap", "unit/sources/test_rejected_lines.py"),
    Mutant("return self._records == records", "return True", "csv: the scan confirms the fast reader", "unit/sources contracts/test_sources_and_engines.py"),
    Mutant("return fields if self.has_record(fields) else None", "return fields", "csv: a record of several lines has all fields", "unit/sources/test_multiline_csv.py"),
    Mutant("follows = at_quote[places - 2] | at_blank[places - 2]", "follows = at_quote[places - 2]", "csv: the scan doubts a quote after two blanks", "unit/sources/test_csv_lines.py"),
    Mutant("if follows.any() or (self._content[places - 1] == _TAB).any():", "if follows.any():", "csv: the scan doubts a quote after a tab", "unit/sources/test_csv_lines.py"),
    Mutant("if begun + (end if feed < 0 else feed) - SEAM > LINE_LIMIT:", "if False:", "csv: the scan doubts a line that is too long", "unit/sources contracts/test_sources_and_engines.py"),
    Mutant("if leaf is None or len(alike) > 1:", "if leaf is None:", "parquet: columns that differ in case alone", "unit/sources/test_column_names.py"),
    Mutant("_check_offsets(values.dictionary)", "pass", "arrow: places outside of a dictionary", "unit/sources/test_arrow_files.py"),
    Mutant("values = values.view(raw[values.type])", "return", "arrow: offsets outside of a buffer", "unit/sources/test_arrow_files.py", "sources/arrow"),
    Mutant('inside = f"{column} IS NULL OR {column} BETWEEN \'{first}\' AND \'{last}\'"', 'inside = "TRUE"', "postgresql: moments outside of the calendar", "unit/sources/test_databases.py"),
    Mutant("moment = from_excel(value, self._sheet.epoch) if value >= 0 else None", "moment = from_excel(value) if value >= 0 else None", "xlsx: the epoch of a workbook", "unit/sources/test_xlsx.py"),
    Mutant("if len(text) > LONGEST:", "if False:", "xlsx: a text that is too long", "unit/sources/test_xlsx.py", "xlsx"),
    Mutant("inside = f\"{kind} NOT IN ('null', 'real') AND {size} <= {CELL_LIMIT}\"", "inside = f\"{kind} NOT IN ('null', 'real')\"", "sqlite: a text that is too long", "unit/sources/test_databases.py"),
]  # fmt: skip


def lines_with(package: Path, mutant: Mutant) -> list[tuple[Path, int]]:
    """Where a piece of text stands: file and line, from 0."""
    return [
        (file, at)
        for file in sorted(package.rglob("*.py"))
        if mutant.file in file.as_posix()
        for at, line in enumerate(file.read_text(encoding="utf-8").split("\n"))
        if mutant.old in line
    ]


def check(root: Path) -> list[str]:
    """Mutants whose text doesn't stand exactly once, and folders that aren't there."""
    bad = []
    for number, mutant in enumerate(MUTANTS, start=1):
        places = lines_with(root / "dprelease", mutant)
        if len(places) != 1:
            bad.append(f"{number}: {len(places)} places: {mutant.old}")
        for tests in mutant.tests.split():
            if not (root / "tests" / tests).exists():
                bad.append(f"{number}: no tests/{tests}")
    return bad


def survives(copy: Path, tests: list[str], mark: str, seconds: int) -> tuple[bool, str]:
    """Whether the tests pass, and the first that doesn't."""
    paths = [f"tests/{each}" for each in tests]
    command = [sys.executable, "-m", "pytest", "-x", "-n0", "-m", mark, "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, "--no-header", "--tb=no", *paths],
            cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False, "timeout"
    failed = [line.split(" - ")[0] for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]  # fmt: skip
    if done.returncode not in (0, 1, 5):
        failed = failed or [f"exit code {done.returncode}"]
    return done.returncode in (0, 5), (failed or [""])[0].removeprefix("FAILED tests/")


RUNS = (("default", "not thorough"), ("thorough", "thorough"), ("all examples", ""))


def run_one(
    root: Path, mutant: Mutant, seconds: int, runs: Sequence[tuple[str, str]] = RUNS
) -> tuple[str, str, float]:
    """Apply a mutant in a copy and run its tests: who saw it, by which test, after how long."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder) / "copy"
        skip = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "out", ".hypothesis")
        shutil.copytree(root, copy, ignore=skip)
        ((file, at),) = lines_with(copy / "dprelease", mutant)
        lines = file.read_text(encoding="utf-8").split("\n")
        lines[at] = lines[at].replace(mutant.old, mutant.new)
        file.write_text("\n".join(lines), encoding="utf-8")
        for who, mark in runs:
            passed, test = survives(copy, mutant.tests.split(), mark, seconds)
            if not passed:
                return who, test, time.monotonic() - started
    return "NOBODY", "", time.monotonic() - started


def main() -> None:
    """Print the table, a row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("numbers", nargs="*", type=int, help="of mutants; all without")
    parser.add_argument("--check", action="store_true", help="only look for the lines")
    parser.add_argument("--default", action="store_true", help="by the default tests alone")
    parser.add_argument("--root", type=Path, default=Path.cwd())
    parser.add_argument("--seconds", type=int, default=1200, help="that one run of tests may take")
    given = parser.parse_args()
    root = given.root.resolve()
    bad = check(root)
    print("\n".join(bad) or f"all {len(MUTANTS)} lines stand exactly once", file=sys.stderr)
    if given.check:
        sys.exit(bool(bad))
    missing = {int(each.split(":")[0]) for each in bad}
    print("| # | what it breaks | file | seen by | first test | s |\n|---|---|---|---|---|---|")
    for number in given.numbers or range(1, len(MUTANTS) + 1):
        mutant = MUTANTS[number - 1]
        if number in missing:
            print(
                f"| {number} | {mutant.breaks} | | not run: its line is not found | | |", flush=True
            )
            continue
        ((file, _),) = lines_with(root / "dprelease", mutant)
        who, test, took = run_one(root, mutant, given.seconds, RUNS[: 1 if given.default else None])
        where = file.relative_to(root / "dprelease")
        print(f"| {number} | {mutant.breaks} | {where} | {who} | {test} | {took:.0f} |", flush=True)


if __name__ == "__main__":
    main()
