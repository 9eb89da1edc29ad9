"""Certification of a plan by the core and all chapters."""

from __future__ import annotations

from collections.abc import Iterator

from dprelease.kernel.chapters.choices.choice_rules import (
    find_choice_loss_breaches,
    find_form_breaches,
)
from dprelease.kernel.chapters.clipped_people.clipped_totals import find_clip_breaches
from dprelease.kernel.chapters.composition.confirm import is_composition_private
from dprelease.kernel.chapters.figures.definitions import find_definition_breaches
from dprelease.kernel.chapters.figures.reads import find_read_breaches
from dprelease.kernel.chapters.private_keys.key_loss import (
    find_key_breaches,
    find_key_loss_breaches,
)
from dprelease.kernel.chapters.record_tables.record_rules import (
    find_records_loss_breaches,
    find_table_meaning_breaches,
)
from dprelease.kernel.chapters.strategies.strategy_change import bound_step_change
from dprelease.kernel.chapters.strategies.strategy_steps import find_steps_breaches
from dprelease.kernel.chapters.together.joint_noise import (
    find_joint_breaches,
    find_joint_loss_breaches,
)
from dprelease.kernel.core import certify as core
from dprelease.kernel.core.certify import CertifiedPlan
from dprelease.kernel.core.chapters import Chapter, Chapters, Matter
from dprelease.kernel.core.rules import Breach
from dprelease.model import Plan


def _find_figure_breaches(plan: Plan) -> Iterator[Breach]:
    yield from find_definition_breaches(plan)
    yield from find_read_breaches(plan)


# Each relies on the rules on meaning of those before it.
CHAPTERS = Chapters(
    {
        Matter.RECORD_TABLES: Chapter(find_table_meaning_breaches, find_records_loss_breaches),
        Matter.CHOICES: Chapter(find_form_breaches, find_choice_loss_breaches),
        Matter.CLIPPED_PEOPLE: Chapter(find_clip_breaches),
        Matter.STRATEGIES: Chapter(find_steps_breaches),
        Matter.TOGETHER: Chapter(find_joint_breaches, find_joint_loss_breaches),
        Matter.PRIVATE_KEYS: Chapter(find_key_breaches, find_key_loss_breaches),
        Matter.FIGURES: Chapter(_find_figure_breaches),
    },
    bound_step_change,
    is_composition_private,
)


def certify(plan: Plan, *, is_sealed: bool = False) -> CertifiedPlan:
    """Confirm that a plan costs at most what it claims, and at most the declared total.

    ``is_sealed``: the plan may come from a version that did not check ``has_fixed_records``, so
    that rule is skipped.
    Raises Failure (exit code 70: a bug of ours, nothing was released) when it can't, with the
    first rule that does not hold.
    """
    return core.certify(plan, CHAPTERS, is_sealed=is_sealed)
