"""Judgements by `coco` from versions with another order of summation: their figures differ only by rounding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from referee.store.records import Score

ROUNDING = 1e-12


def with_stated_rounding(
    own: Score, result: Mapping[str, Any], checks: Sequence[Mapping[str, Any]]
) -> Score:
    """Return the judgement with each figure replaced by the stated one if both agree within ROUNDING."""
    figures = {one["code"]: one["figures"] for one in checks}
    ap = {
        category: _as_stated(value, result["ap"].get(str(category)))
        for category, value in own.ap.items()
    }
    return replace(
        own,
        map=_as_stated(own.map, result["map"]),
        score=_as_stated(own.score, result["score"]),
        ap=ap,
        checks=tuple(
            replace(
                check,
                figures=_each_as_stated(check.figures, figures.get(check.code, {})),
            )
            for check in own.checks
        ),
    )


def _each_as_stated(
    own: Mapping[str, Any], stated: Mapping[str, Any]
) -> dict[str, Any]:
    return {name: _as_stated(value, stated.get(name)) for name, value in own.items()}


def _as_stated(own: Any, stated: Any) -> Any:
    are_figures = type(own) is float and type(stated) is float
    return (
        stated if are_figures and math.isclose(own, stated, rel_tol=ROUNDING) else own
    )
