"""From exact integers to what may be published, by the core and all chapters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dprelease.kernel.chapters.many_draws.sampler import prepare_sample, sample
from dprelease.kernel.core import aggregates as core
from dprelease.kernel.core.aggregates import Drawing, Drawn, Integers, Key, Values
from dprelease.kernel.core.engine_requests import Job
from dprelease.kernel.core.entropy import Entropy
from dprelease.model import ExactTable, Form, NoiseFamily, Step

# Chapters are imported where they draw, for start-up: most releases have none of these.


def _draw_choices(step: Step, scores: Integers, width: int, entropy: Entropy) -> Values:
    from dprelease.kernel.chapters.choices.choice_sampler import choose_candidates

    return choose_candidates(step, scores, width, entropy)


def _draw_quantiles(
    step: Step, measures: Sequence[Integers], cells: Sequence[int], entropy: Entropy
) -> Values:
    from dprelease.kernel.chapters.choices.quantile_sampler import choose_quantiles

    return choose_quantiles(step, measures, cells, entropy)


def _count_points(step: Step, measures: Sequence[Integers], cells: Sequence[int]) -> Integers:
    from dprelease.kernel.chapters.strategies.mixed_cells import count_points

    return count_points(step, measures, cells)


def _draw_together(rows: Sequence[Integers], step: Step, entropy: Entropy) -> Values:
    from dprelease.kernel.chapters.together.cube_draws import add_joint_noise

    return add_joint_noise(rows, step, entropy)


def _mix_cells(row: Integers, sizes: list[int], step: Step) -> Integers:
    from dprelease.kernel.chapters.strategies.mixed_cells import mix_cells

    return mix_cells(row, sizes, step.axes)


def _release_private_keys(
    exact: ExactTable, job: Job, entropy: Entropy, keys: Mapping[str, tuple[Key, ...]]
) -> Drawn:
    from dprelease.kernel.chapters.private_keys.shown_keys import privatize_keys

    return privatize_keys(exact, job, entropy, keys, CHAPTERS)


CHAPTERS = Drawing(
    sample,
    _draw_choices,
    _draw_quantiles,
    _count_points,
    _draw_together,
    _mix_cells,
    _release_private_keys,
)


def privatize(
    exact: ExactTable, job: Job, entropy: Entropy, keys: Mapping[str, tuple[Key, ...]]
) -> Drawn:
    """Release each step of a job. Empty cells get a draw of their own like all others.

    ``keys`` are the private keys selected so far, by table: the cells of that table's other steps.
    """
    return core.privatize(exact, job, entropy, keys, CHAPTERS)


def prepare(steps: Sequence[Step]) -> None:
    """Build the sampling tables of steps that release numbers for public keys.

    Drawing then starts at once. Reads no data and draws nothing.
    """
    for step in steps:
        if step.noise.family is NoiseFamily.CUBE:
            from dprelease.kernel.chapters.together.cube_draws import prepare_cubes

            prepare_cubes(step.noise, step.draws)
        elif step.form is Form.NUMBERS and not step.query.private:
            prepare_sample(step.noise, step.draws)
