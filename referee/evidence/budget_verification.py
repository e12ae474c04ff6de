"""Verification of the uncertainty budget that a bundle states for its energy. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from lpirc_power.energy.budget import BUDGET_VERSION
from referee.evidence.verification_items import Failure, NotChecked, require_same

PART: Final = "result.json"
WORDS: Final = ("name", "source")
"""Words of a term, which another version may word otherwise."""
NOT_TO_THE_BIT: Final = ("coverage_wh", "coverage_factor", "level")
"""Figures by Fourier transform or by an error function, which hosts compute with different last digits."""
NEARLY: Final = 1e-9


def require_same_budget(
    stated: object, own: Mapping[str, Any] | None, *, has_own_words: bool
) -> None:
    """Raise Failure unless a stated budget is the recomputed one.

    Raises NotChecked for one that was computed by other rules. `has_own_words` means that this version judged the run,
    so that its words are those of this program, too.
    """
    if not isinstance(stated, dict):
        raise Failure(
            PART,
            f"energy_budget is {json.dumps(stated):.60}, not an uncertainty budget.",
        )
    if own is None:
        raise Failure(
            PART, "The result states an uncertainty budget, but has no energy."
        )
    require_own_rules(stated)
    _require_fields("the budget", stated, own)
    if not _are_terms(stated["terms"]):
        raise Failure(PART, "The terms of the budget are no list of terms.")
    _require_same_terms(stated["terms"], own["terms"], has_own_words=has_own_words)
    of_figures = {*own} - {"terms", "unknown", *NOT_TO_THE_BIT}
    for name in sorted(of_figures):
        require_same(PART, f"{name} of the budget", stated[name], own[name])
    for name in NOT_TO_THE_BIT:
        _require_near(name, stated[name], own[name])
    is_unknown = own["unknown"] is not None
    require_same(
        PART, "that the budget is unknown", stated["unknown"] is not None, is_unknown
    )
    if is_unknown:
        _require_words("unknown", stated, own, is_same=has_own_words)


def require_own_rules(stated: object) -> None:
    """Raise NotChecked if a stated budget was computed by other rules than those of this program.

    What it states then differs, and that says nothing about whether it was altered. Raises Failure for a version that
    is no number from 1.
    """
    version = stated.get("version") if isinstance(stated, dict) else None
    if type(version) is not int or version < 1:
        raise Failure(
            PART, f"The budget has the version {version!r:.60}, not one from 1."
        )
    if version > BUDGET_VERSION:
        raise NotChecked(
            f"The energy's uncertainty budget is by later rules (version {version}); this program knows version "
            f"{BUDGET_VERSION}: use a newer one."
        )
    if version < BUDGET_VERSION:
        raise NotChecked(
            f"The energy's uncertainty budget is by earlier rules (version {version}); this program computes version "
            f"{BUDGET_VERSION}: use the one that judged the run."
        )


def _are_terms(stated: Any) -> bool:
    return isinstance(stated, list) and all(isinstance(one, dict) for one in stated)


def _require_same_terms(stated: Any, own: Any, *, has_own_words: bool) -> None:
    codes = [one.get("code") for one in stated], [one["code"] for one in own]
    require_same(PART, "The list of terms of the budget", *codes)
    for one, term in zip(stated, own, strict=True):
        whose = f"the term {term['code']}"
        _require_fields(whose, one, term)
        for name in term:
            if name in WORDS:
                _require_words(name, one, term, is_same=has_own_words, whose=whose)
            else:
                require_same(PART, f"{name} of {whose}", one[name], term[name])


def _require_fields(
    whose: str, stated: Mapping[str, Any], own: Mapping[str, Any]
) -> None:
    """Raise Failure unless the fields are those of the format: a note among them is nobody's figure."""
    require_same(PART, f"The list of fields of {whose}", sorted(stated), sorted(own))


def _require_words(
    name: str,
    stated: Mapping[str, Any],
    own: Mapping[str, Any],
    *,
    is_same: bool,
    whose: str = "the budget",
) -> None:
    """Raise Failure unless the words are text, and those of this program if `is_same`."""
    if not isinstance(stated[name], str):
        raise Failure(PART, f"{name} of {whose} is {stated[name]!r:.60}, not text.")
    if is_same:
        require_same(PART, f"{name} of {whose}", stated[name], own[name])


def _require_near(name: str, stated: object, own: float | None) -> None:
    is_near = stated == own
    if isinstance(stated, float) and own is not None:
        is_near = math.isclose(stated, own, rel_tol=NEARLY)
    if not is_near:
        require_same(PART, f"{name} of the budget", stated, own)
