"""What a choice, a quantile or a private key promises, in sentences with their numbers.

And the warning of minima and maxima that say nothing of the end of the values, and all warnings
in the language of the report.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from dprelease.errors import Complaint
from dprelease.language import ENGLISH, number_text, say, spoken, template
from dprelease.mechanisms.registry import law_of
from dprelease.model import Form, NoiseFamily, Plan, Step
from dprelease.postprocess.number_text import number, percent
from dprelease.report.facts.model import Threshold
from dprelease.report.numbers import root, shortened, text, upward, written
from dprelease.statistics.registry import statistic_of
from dprelease.statistics.shared.read_release import views


def explained(step: Step, interval: Fraction) -> list[str]:
    """Explain what a table of scales can't; empty for plain noise on public cells."""
    said: list[str] = []
    if (threshold := threshold_facts(step, interval)) is not None:
        said.append(_threshold(threshold, interval))
    elif step.query.private:
        said.append(_selected(step))
    if step.form is Form.CHOICE:
        said.append(_choice(step, interval))
    elif step.form is Form.QUANTILES:
        said.append(_quantiles(step, interval))
    elif step.query.axis is not None:
        said.append(_largest(step, interval))
    if step.noise.family is NoiseFamily.STAIRCASE:
        said.append(_stairs(step))
    if words := statistic_of(step.query.statistic).words(step):
        said.append(words)
    return said


def _stairs(step: Step) -> str:
    """Flat in the middle, and on every stair."""
    noise, unit = step.noise, step.unit[0]
    error = root(law_of(noise.family).variance(noise) * unit**2)
    rms = written(shortened(error))
    return say(
        "Staircase noise: all values within ± {first} are equally likely. From there on the chance "
        "falls in stairs of {stair}, each by the factor e^{stair_2}. The root mean square of this "
        "noise is {rms}: at this epsilon less than that of Laplace noise.",
        first=number((noise.first - 1) * unit, 6),
        stair=number(noise.stair * unit, 6),
        stair_2=number(noise.stair / noise.parameter),
        rms=rms,
    )


def threshold_facts(step: Step, interval: Fraction) -> Threshold | None:
    """State what the count that selects private keys promises; None for all other steps."""
    selection = step.query.key_selection
    if step.threshold is None or selection is None:
        return None
    half = statistic_of(step.query.statistic).halfwidth(step, interval) or 0
    return Threshold(
        at_least=step.threshold,
        delta=upward(selection.delta),
        counts="people" if statistic_of(step.query.statistic).counts_units else "rows",
        shown_from=math.ceil(step.threshold + half),
        hidden_below=max(2, math.floor(step.threshold - half)),
    )


def _threshold(threshold: Threshold, interval: Fraction) -> str:
    people = threshold.counts == "people"
    many, one = (say("people"), say("person")) if people else (say("rows"), say("row"))
    return say(
        "Private keys: each key that occurs gets its number of {many} with noise, and is shown "
        "with it where that is at least {at_least:,}. A key that one {one} alone has is shown with "
        "a probability of at most {delta}. A key of {shown_from:,} {many} or more is shown, and "
        "one of fewer than {hidden_below:,} hidden, each with at least {interval} certainty. Of "
        "keys about the threshold those are seen whose noise was large, so that their counts look "
        "larger than they are: their noise intervals are wide.",
        many=many,
        at_least=threshold.at_least,
        one=one,
        delta=written(threshold.delta),
        shown_from=threshold.shown_from,
        hidden_below=threshold.hidden_below,
        interval=percent(interval),
    )


def _selected(step: Step) -> str:
    """Noise on a 0 can be seen to be small; a name or a value says nothing of how it came about."""
    said = say("Its cells are the private keys that the table's count selected.")
    if step.form is Form.NUMBERS and step.query.axis is None:
        return said
    one = say("value") if step.form is Form.QUANTILES else say("name")
    return say(
        "{said} A key without any records for it is given a {one} too, by chance alone.",
        said=said,
        one=one,
    )


def _choice(step: Step, interval: Fraction) -> str:
    """The bound of ``mechanisms.exponential.shortfall``, with its numbers."""
    query, change = step.query, step.sensitivity
    flips = step.noise.family is NoiseFamily.PERMUTE_AND_FLIP
    several = query.picks > 1
    epsilon = step.noise.parameter * change.choice_l1 * (1 if change.monotone else 2)
    law = "1 - (1 - (1 - p)^R)/(R p)" if flips else "(R - 1) p/(1 + (R - 1) p)"
    missed = written(upward(1 - interval))
    if several:
        missed = f"1 - (1 - {missed})^(1/{query.picks:,})"
    said = say(
        "Chosen by {flips} among public candidates{several}: larger scores are likelier. {step}, "
        "whatever the scores are. The bound is {monotone}D s/epsilon, in whole scores, where p = "
        "e^-s solves {law} = {missed}, with D = {choice_l1} (how far neighbours move a score; "
        "{monotone_2}), R = {step_2:,} (candidates) and epsilon = {epsilon}{several_2}: with that "
        "chance one of them is chosen if all but the best fall short by as much.",
        flips="permute-and-flip" if flips else say("the exponential mechanism"),
        several=say(", one pick after the other") if several else "",
        step=_error(step, interval),
        monotone="" if change.monotone else "2 ",
        law=law,
        missed=missed,
        choice_l1=number(change.choice_l1 * step.unit[0], 6, up=True),
        monotone_2=say("all move one way") if change.monotone else say("they can move both ways"),
        step_2=candidates_of(step),
        epsilon=written(upward(epsilon)),
        several_2=say(" for each pick") if several else "",
    )
    if query.candidates is None:
        return said
    grid = query.candidates.grid
    upper = number(grid.upper * grid.step, 12)
    return say(
        "{said} What a record adds to the score of a candidate is rounded to multiples of {step}; "
        "above {upper} it counts as {upper}, below 0 or null as 0.",
        said=said,
        step=number(grid.step, 12),
        upper=upper,
    )


def _largest(step: Step, interval: Fraction) -> str:
    """Top k by noisy counts."""
    return say(
        "The {picks:,} with the largest noisy counts are named, and the counts are not published. "
        "{step}, whatever the counts are.",
        picks=step.query.picks,
        step=_error(step, interval),
    )


def _quantiles(step: Step, interval: Fraction) -> str:
    query = step.query
    among = say("{step:,} values of the grid", step=candidates_of(step))
    if query.points is not None:
        among = say("{step:,} candidates listed", step=candidates_of(step))
    said = say(
        "Chosen by the exponential mechanism among the {among}: nearer ranks are likelier.",
        among=among,
    )
    if len(query.quantiles) > 1:
        said += say(" One is found after the other, between two found before, so that they rise.")
    error = statistic_of(query.statistic).expected_error(step, interval).partition(";")[0]
    said += say(
        " With {interval} certainty it is the nearest of these to a value that is right {error}.",
        error=error,
        interval=percent(interval),
    )
    statistic = statistic_of(query.statistic)
    if statistic.end:
        needed = statistic.meaningful_from(step, interval)
        said += say(
            " It is the quantile {quantiles}, for a true {end} is the value of one record and "
            "can't be released. In a group of fewer than {needed:,} values it may be off by more "
            "ranks than lie beyond that quantile: there it says nothing of the {end}.",
            quantiles=number_text(text(query.quantiles[0])),
            end=say(statistic.end),
            needed=needed,
        )
    return said


def _error(step: Step, interval: Fraction) -> str:
    """The statistic's own words, as the beginning of a sentence."""
    said = statistic_of(step.query.statistic).expected_error(step, interval)
    return said[0].upper() + said[1:]


def candidates_of(step: Step) -> int:
    """Among how many a choice or a quantile is taken in each cell; 0 for all else."""
    query = step.query
    if query.candidates is not None:
        return len(query.candidates.texts)
    if query.axis is not None:
        return len(query.axis.labels)
    if step.points is not None:
        return len(query.points) if query.points is not None else step.points.grid.width + 1
    return 0


MANY = 10_000
"""A number of values that the groups of many a table do not have."""


def plan_warnings(plan: Plan) -> tuple[Complaint, ...]:
    """Warn of what only the plan shows: a function of the spec, as the plan is."""
    return tuple(_warnings(plan))


def told_warnings(plan: Plan) -> tuple[str, ...]:
    """All warnings as a report says them: those of a spec, which are English, by what they are."""
    return tuple(
        say("{key}: {what} ({code})", key=warning.key, what=say(what), code=warning.code)
        if spoken() != ENGLISH and (what := OF_SPEC.get(int(warning.code[1:])))
        else warning.message
        for warning in (*plan.release.warnings, *plan_warnings(plan))
    )


# by the number of the code: the codes themselves are the spec's
OF_SPEC = {
    201: template("no budget cap"),
    202: template("the unit of privacy is not described"),
    203: template("bounds or keys without a source"),
    204: template("a period is given, but the spec has no {{period}}"),
    205: template("a key that no record can match"),
    206: template("a delta, but no cap on it"),
    207: template("a large delta: with that probability nothing is promised"),
    208: template("arithmetic with the column that tells units apart"),
    209: template("more groups of a unit than it has rows"),
    210: template("more rows of a unit in one group than in all"),
    211: template("more rows of a unit than its groups can hold"),
    212: template("more groups of a unit than any table has"),
    213: template("a large bound on a unit, which needs much noise"),
    214: template("bounds on a unit that no query is affected by"),
    215: template("neighbours that a record-level table takes as replace-one"),
    216: template("a bound on groups where there are none"),
    217: template("a sector that the registry of deployments has no word for"),
    218: template("a unit column of floats or decimals, which are doubles"),
    220: template("tables that are to agree, but may not have the same records"),
}


def _warnings(plan: Plan) -> Iterator[Complaint]:
    for step in views(plan):
        query, statistic = step.query, statistic_of(step.query.statistic)
        needed = statistic.meaningful_from(step, plan.release.output.interval)
        if needed is not None and needed > MANY:
            key = f"query[{query.number}].statistic"
            yield Complaint(
                "W301",
                say(
                    'in a group of fewer than {needed:,} values "{name}" says nothing of the '
                    "{end}: it may be off by more ranks than lie beyond it",
                    needed=needed,
                    name=query.name,
                    end=say(statistic.end),
                ),
                "give it more epsilon, a larger step or a short list of candidates; or ask for a "
                "quantile further inside",
                plan.release.place(key),
                key,
            )
