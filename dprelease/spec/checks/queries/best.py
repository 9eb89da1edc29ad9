"""The candidates of a `best` query, and their scores."""

from __future__ import annotations

from dprelease.model import Candidates, ColumnType, Expression, Grid
from dprelease.spec.checks.columns.grids import make_grid
from dprelease.spec.checks.queries.candidates import are_listed, read_candidates
from dprelease.spec.checks.queries.expressions import read_score
from dprelease.spec.checks.queries.query_context import Asked
from dprelease.spec.complaints.quoting import show, show_fraction
from dprelease.spec.toml.numbers import Refused

CANDIDATE = "candidate"


def read_best(asked: Asked) -> Candidates | None:
    """Make the candidates of a `best` query; None with a complaint."""
    model = asked.model
    found = read_candidates(asked) if are_listed(asked) else None
    taken = {*asked.context.columns, asked.context.unit_column}
    if CANDIDATE in taken:
        message = f'a column is named "{CANDIDATE}", and so is what score goes through'
        asked.complain(
            "score", "E231", message, "derive that column under another name, or rename it"
        )
        return None
    if found is None or model.score is None:
        _check_upper(asked)
        return None
    kind, texts = found
    types = {**asked.context.base_types, CANDIDATE: kind}
    score = read_score(model.score, types, asked.path("score"), asked.context.reporter)
    whole = score is not None and score[1] is ColumnType.INTEGER
    grid = _grid(asked, whole) if _check_upper(asked) else None
    if score is None or not _used(asked, score[0]) or grid is None:
        return None
    return Candidates(texts, kind, score[0], grid)


def _used(asked: Asked, score: Expression) -> bool:
    if CANDIDATE in score.columns:
        return True
    message = f"the score does not use `{CANDIDATE}`, so all would score the same"
    hint = f'such as score = "CASE WHEN price <= {CANDIDATE} THEN 1 ELSE 0 END"'
    asked.complain("score", "E215", message, hint)
    return False


def _check_upper(asked: Asked) -> bool:
    upper = asked.model.score_upper
    if upper is None or upper > 0:
        return upper is not None
    message = f"score_upper {show_fraction(upper)} is not above 0"
    asked.complain("score_upper", "E205", message, "scores count from 0 up to it")
    return False


def _grid(asked: Asked, whole: bool) -> Grid | None:
    """Put scores on a grid from 0; whole scores on that of the whole numbers if nothing else."""
    upper, step = asked.model.score_upper, asked.model.score_step
    if upper is None or "score_step" in asked.part.bad:
        return None
    whole = whole and upper.denominator == 1 and (step is None or step.denominator == 1)
    kind = ColumnType.INTEGER if whole else ColumnType.FLOAT
    try:
        return make_grid(kind, upper * 0, upper, step)[0]
    except Refused as refused:
        key = "score_step" if refused.key == "step" else "score_upper"
        message, hint = refused.message, refused.hint
        if refused.code == "E207":  # there is no lower bound to speak of
            message = f"score_step {show(step)} does not divide score_upper"
            hint = f"score_{hint}"
        asked.complain(key, refused.code, message, hint)
        return None
