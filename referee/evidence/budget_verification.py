"""Verification of the uncertainty budget that a bundle states for its energy. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from referee.evidence.verification_items import Failure, require_same

PART: Final = "result.json"
WORDS: Final = ("name", "source")
"""Words of a term, which a later version may word otherwise."""
BY_CONVOLUTION: Final = ("coverage_wh", "coverage_factor")
"""Figures by Fourier transform, which hosts compute with different last digits."""
NEARLY: Final = 1e-9


def require_same_budget(
    stated: Mapping[str, Any] | None, own: Mapping[str, Any] | None
) -> None:
    """Raise Failure unless a stated budget is the recomputed one; a judgement by an earlier version states none."""
    if stated is None:
        return
    if own is None:
        raise Failure(
            PART, "The result states an uncertainty budget, but has no energy."
        )
    _require_same_terms(stated["terms"], own["terms"])
    of_figures = {*own} - {"terms", "unknown", *BY_CONVOLUTION}
    for name in sorted(of_figures):
        require_same(PART, f"{name} of the budget", stated.get(name), own[name])
    for name in BY_CONVOLUTION:
        _require_near(name, stated.get(name), own[name])
    has_reason = bool(stated.get("unknown"))
    require_same(PART, "that the budget is unknown", has_reason, bool(own["unknown"]))


def _require_same_terms(stated: Any, own: Any) -> None:
    codes = [one["code"] for one in stated], [one["code"] for one in own]
    require_same(PART, "The list of terms of the budget", *codes)
    for one, term in zip(stated, own, strict=True):
        for name in term:
            if name not in WORDS:
                what = f"{name} of the term {term['code']}"
                require_same(PART, what, one.get(name), term[name])


def _require_near(name: str, stated: float | None, own: float | None) -> None:
    both = (stated, own)
    if None not in both and math.isclose(*both, rel_tol=NEARLY):  # type: ignore[arg-type]
        return
    require_same(PART, f"{name} of the budget", stated, own)
