"""What a choice, a quantile or a private key promises, in sentences with their numbers.

And the warning of minima and maxima that say nothing of the end of the values, and all warnings
in the language of the report.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dprelease.errors import Complaint
from dprelease.language import ENGLISH, get_language, number_text, say, word
from dprelease.mechanisms.mechanism_registry import get_law
from dprelease.model import Form, NoiseFamily, Plan, Step
from dprelease.model.key_thresholds import compute_least_units
from dprelease.postprocess.intervals.number_text import number, write_percent
from dprelease.reports.model.report_model import Threshold
from dprelease.reports.text.shown_numbers import (
    compute_root,
    format_number,
    shorten,
    to_json_number,
    write_exact,
)
from dprelease.statistics.read_release import build_views
from dprelease.statistics.statistic_registry import get_statistic


def explain_step(step: Step, interval: Fraction) -> list[str]:
    """Explain what a table of scales can't; empty for plain noise on public cells."""
    sentences: list[str] = []
    if (threshold := describe_threshold(step, interval)) is not None:
        sentences.append(_explain_threshold(threshold, interval))
        if step.noise.family is NoiseFamily.CUT_LAPLACE:
            units = say("words.people") if threshold.counts == "people" else say("words.rows")
            reach = step.noise.reach
            sentences.append(say("explanations.private_keys_cut", reach=reach, units=units))
        if threshold.column is not None:
            sentences.append(_explain_values(step, threshold.column, interval))
    elif step.query.private:
        sentences.append(_explain_selection(step))
    if step.form is Form.CHOICE:
        sentences.append(_explain_choice(step, interval))
    elif step.form is Form.QUANTILES:
        sentences.append(_explain_quantiles(step, interval))
    elif step.query.axis is not None:
        sentences.append(
            say(
                "explanations.choice.largest_counts",
                picks=step.query.picks,
                privacy=_explain_error(step, interval),
            )
        )
    if step.noise.family is NoiseFamily.STAIRCASE:
        sentences.append(_explain_stairs(step))
    if words := get_statistic(step.query.statistic).explain_step(step):
        sentences.append(word(words))
    return sentences


def _explain_stairs(step: Step) -> str:
    """Flat in the middle, and on every stair."""
    noise, unit = step.noise, step.unit[0]
    error = compute_root(get_law(noise.family).compute_variance(noise) * unit**2)
    rms = format_number(shorten(error))
    return say(
        "explanations.staircase",
        first=number((noise.first - 1) * unit, 6),
        width=number(noise.stair * unit, 6),
        factor=number(noise.stair / noise.parameter),
        rms=rms,
    )


def describe_threshold(step: Step, interval: Fraction) -> Threshold | None:
    """State what the count that selects private keys promises; None for all other steps."""
    selection = step.query.key_selection
    if step.threshold is None or selection is None:
        return None
    half = get_statistic(step.query.statistic).compute_selecting_halfwidth(step, interval)
    least = compute_least_units(step)
    return Threshold(
        at_least=least,
        delta=to_json_number(selection.delta),
        counts="people" if get_statistic(step.query.statistic).counts_units else "rows",
        shown_from=math.ceil(least + half),
        hidden_below=max(2, math.floor(least - half)),
        column=f"{step.query.column_name}_count" if len(step.transform) > 1 else None,
    )


def _explain_threshold(threshold: Threshold, interval: Fraction) -> str:
    people = threshold.counts == "people"
    plural, singular = (
        (say("words.people"), say("words.person"))
        if people
        else (say("words.rows"), say("words.row"))
    )
    return say(
        "explanations.private_keys",
        units=plural,
        at_least=threshold.at_least,
        unit=singular,
        delta=format_number(threshold.delta),
        shown_from=threshold.shown_from,
        hidden_below=threshold.hidden_below,
        interval=write_percent(interval),
    )


def _explain_values(step: Step, column: str, interval: Fraction) -> str:
    """Explain keys that the number of values of a mean selects."""
    settled = get_statistic(step.query.statistic).find_settled_units(step, interval)
    return say(
        "explanations.private_keys_of_mean",
        column=column,
        name=step.query.name,
        settled=settled,
    )


def _explain_selection(step: Step) -> str:
    """Noise on a 0 can be seen to be small; a name or a value says nothing of how it came about."""
    sentence = say("explanations.keys_of_count")
    if step.form is Form.NUMBERS and step.query.axis is None:
        return sentence
    noun = say("words.value") if step.form is Form.QUANTILES else say("words.name")
    return say("explanations.keys_by_chance", choice=sentence, noun=noun)


def _explain_choice(step: Step, interval: Fraction) -> str:
    """Explain the bound of ``mechanisms.exponential.find_shortfall`` with its numbers."""
    query, change = step.query, step.sensitivity
    flips = step.noise.family is NoiseFamily.PERMUTE_AND_FLIP
    several = query.picks > 1
    epsilon = step.noise.parameter * change.choice_l1 * (1 if change.monotone else 2)
    law = "1 - (1 - (1 - p)^R)/(R p)" if flips else "(R - 1) p/(1 + (R - 1) p)"
    missed = format_number(to_json_number(1 - interval))
    if several:
        missed = f"1 - (1 - {missed})^(1/{query.picks:,})"
    sentence = say(
        "explanations.choice.scores_in_turn" if several else "explanations.choice.scores",
        mechanism="permute-and-flip" if flips else say("explanations.choice.exponential"),
        privacy=_explain_error(step, interval),
        factor="" if change.monotone else "2 ",
        chance=law,
        miss=missed,
        shift=number(change.choice_l1 * step.unit[0], 6, up=True),
        direction=say("explanations.choice.one_way")
        if change.monotone
        else say("explanations.choice.both_ways"),
        candidates=count_candidates(step),
        epsilon=format_number(to_json_number(epsilon)),
    )
    if query.candidates is None:
        return sentence
    grid = query.candidates.grid
    upper = number(grid.upper * grid.step, 12)
    return say(
        "explanations.choice.score_steps", choice=sentence, step=number(grid.step, 12), upper=upper
    )


def _explain_quantiles(step: Step, interval: Fraction) -> str:
    query = step.query
    among = say("explanations.quantiles.grid", values=count_candidates(step))
    if query.points is not None:
        among = say("explanations.quantiles.listed", values=count_candidates(step))
    sentences = [say("explanations.quantiles.chosen", candidates=among)]
    if len(query.quantiles) > 1:
        sentences.append(say("explanations.quantiles.in_turn"))
    error = word(get_statistic(query.statistic).describe_expected_error(step, interval)).partition(
        ";"
    )[0]
    sentences.append(
        say("explanations.quantiles.within", ranks=error, interval=write_percent(interval))
    )
    statistic = get_statistic(query.statistic)
    if statistic.end:
        needed = statistic.find_meaningful_count(step, interval)
        sentences.append(
            say(
                "explanations.quantiles.stand_for_end",
                quantiles=number_text(write_exact(query.quantiles[0])),
                end=say(statistic.end),
                needed=needed,
            )
        )
    return " ".join(sentences)


def _explain_error(step: Step, interval: Fraction) -> str:
    """Put the statistic's own words at the beginning of a sentence."""
    sentence = word(get_statistic(step.query.statistic).describe_expected_error(step, interval))
    return sentence[0].upper() + sentence[1:]


def count_candidates(step: Step) -> int:
    """Count the candidates of a choice or quantile in each cell; 0 for all other steps."""
    query = step.query
    if query.candidates is not None:
        return len(query.candidates.texts)
    if query.axis is not None:
        return len(query.axis.labels)
    if step.points is not None and step.form is Form.QUANTILES:
        return len(query.points) if query.points is not None else step.points.grid.width + 1
    return 0


MANY = 10_000
"""A number of values that the groups of many a table do not have."""


def plan_warnings(plan: Plan) -> tuple[Complaint, ...]:
    """List the warnings that need the plan, but no data."""
    warnings = []
    for step in build_views(plan):
        query, statistic = step.query, get_statistic(step.query.statistic)
        needed = statistic.find_meaningful_count(step, plan.release.output.interval)
        if needed is None or needed <= MANY:
            continue
        key, end = f"query[{query.number}].statistic", say(statistic.end)
        warnings.append(
            Complaint(
                "W301",
                say("explanations.quantiles.small_groups", needed=needed, name=query.name, end=end),
                place=plan.release.place(key),
                key=key,
            )
        )
    return tuple(warnings)


def word_warnings(plan: Plan) -> tuple[str, ...]:
    """Word all warnings for a report; those of a spec, which are English, by what they are."""
    return tuple(
        say("warnings.line", key=warning.key, meaning=say(subject), code=warning.code)
        if get_language() != ENGLISH and (subject := OF_SPEC.get(int(warning.code[1:])))
        else warning.message
        for warning in (*plan.release.warnings, *plan_warnings(plan))
    )


# by the number of the code: the codes themselves are the spec's
OF_SPEC = {
    201: "warnings.no_cap",
    202: "warnings.unit_not_described",
    203: "warnings.no_source",
    204: "warnings.period_without_place",
    205: "warnings.key_matches_nothing",
    206: "warnings.delta_without_cap",
    207: "warnings.large_delta",
    208: "warnings.arithmetic_with_unit",
    209: "warnings.more_groups_than_rows",
    210: "warnings.more_rows_in_group_than_in_all",
    211: "warnings.more_rows_than_groups_hold",
    212: "warnings.more_groups_than_tables",
    213: "warnings.large_bound",
    214: "warnings.unused_bounds",
    215: "warnings.neighbours_of_records",
    216: "warnings.bound_on_missing_groups",
    217: "warnings.unknown_sector",
    218: "warnings.unit_is_double",
    219: "warnings.last_bin_of_months",
    220: "warnings.different_records",
}
