"""The checks of a run. A run that fails one is shown as "needs review", never silently scored or dropped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from lpirc_power.energy import Check, Energy, Measurement, energy_checks, energy_of
from lpirc_power.energy.integral import integrator_time
from lpirc_power.meter import Identity, Limits, Reading
from lpirc_score.detections.plausibility import Implausible
from lpirc_score.tasks.words import OF_BOXES, Words
from lpirc_testsets import GroundTruth
from lpirc_testsets.truth_marks import NO_TRUTH_SENTENCE
from referee.store.records import IMAGES_SEEN, REBOOTED, Run

NOT_ASKED = "the meter's settings were not read back"
REASONS = 3  # shown at most
NO_TRUTH = "no-truth"
IMAGES_NOT_FETCHED = "images-not-fetched"
MAP_WITH_THEM = "map_with_them"
LARGEST_WH = 1e9
"""No board of a contest uses more; the squares of what a broken driver gives would be beyond all numbers."""
NOT_SCORED = "are not scored"


@dataclass(frozen=True)
class MeasuredRun:
    """The measurements of a closed run: its energy, or None if it has none, and all checks of the measurements.

    `mean_power_w` is None unless the energy is valid for a score and covers exactly the window.
    """

    energy: Energy | None
    mean_power_w: float | None
    checks: tuple[Check, ...]


def measured_run(
    run: Run,
    readings: Sequence[Reading],
    start_s: float,
    *,
    limits: Limits | None,
    missing: str | None = None,
    start_stop_s: float | None = None,
    late_s: float = 0.0,
    is_before_budgets: bool = False,
) -> MeasuredRun:
    """Check the measurements of a closed run. The window starts at `start_s` in the host time of the `readings`.

    `limits` are the error limits of the run's meter. `missing` says why the run has no energy; `start_stop_s` is by how
    much the integrator may have run longer than the window; each is None if not known. `late_s` is how long stopping
    the meter was delayed by a lost link. `is_before_budgets` asks for the checks of earlier versions (Measurement).
    """
    was_measured = _energy_measured(run, missing)
    measurement = _measurement(run, start_s, limits)
    if measurement is None:
        return MeasuredRun(None, None, (was_measured,))
    measurement = replace(
        measurement,
        start_stop_s=start_stop_s,
        late_s=late_s,
        is_before_budgets=is_before_budgets,
    )
    energy = energy_of(measurement.inside(readings), measurement)
    is_of_the_window = is_scorable(run.energy_wh) and integrator_time(measurement).ok
    power_w = (
        energy.mean_power_w
        if is_of_the_window and math.isfinite(energy.mean_power_w)
        else None
    )
    return MeasuredRun(
        energy,
        power_w,
        (was_measured, *energy_checks(readings, measurement, energy)),
    )


def _measurement(
    run: Run,
    start_s: float,
    limits: Limits | None,
) -> Measurement | None:
    """Return what the energy checks need, or None for a run without an energy."""
    if run.energy_wh is None or run.integrator_s is None or run.elapsed_s is None:
        return None
    return Measurement(
        integrator_wh=run.energy_wh,
        integrator_s=run.integrator_s,
        start_s=start_s,
        end_s=start_s + run.elapsed_s,
        setup=run.setup,
        model=Identity.parse(run.meter_identity or "").model,
        limits=limits,
        official=run.official,
        changes=(NOT_ASKED,) if run.meter_changes is None else run.meter_changes,
        standing=run.meter_standing,
        official_makers=run.official_makers,
    )


def lacks_truth(ground_truth: GroundTruth | None) -> bool:
    """Return True for the ground truth of a test set without any: its runs have energy and timing only.

    None, the ground truth of another task than boxes, is never missing: a contest cannot be served without.
    """
    return ground_truth is not None and len(ground_truth.image) == 0


def truth_checks(ground_truth: GroundTruth | None) -> tuple[Check, ...]:
    """Return the check of a run on a test set without ground truth; empty for any other."""
    if not lacks_truth(ground_truth):
        return ()
    return (Check(NO_TRUTH, False, "warning", NO_TRUTH_SENTENCE, {}),)


def rows_refused(total: int, kept: Sequence[Mapping[str, Any]]) -> tuple[Check, ...]:
    """Return the check of a run with refused rows, `total` in number; empty for a run without any."""
    if not total:
        return ()
    shown = [
        f"at {row['elapsed_s']:.1f} s, line {row['line']}: {row['reason']}"
        for row in kept[:REASONS]
    ]
    sentence = f"{total} rows that the team posted were refused and are not scored: {'; '.join(shown)}"
    return (Check("rows-refused", False, "warning", sentence, {"rows": total}),)


def images_not_fetched(
    rows: int,
    images: int,
    map_with_them: float | None,
    *,
    count: bool,
    words: Words = OF_BOXES,
) -> Check:
    """Return the check `images-not-fetched`: `rows` are for images that the run was not served.

    It is a warning, because the score is right. With `count`, contest.toml lets these rows be scored; else they are
    not. `map_with_them` is None if the test set has no ground truth.
    """
    what = "are scored, because count_unserved is set"
    if not count:
        what = NOT_SCORED
    if not count and map_with_them is not None:
        what += f"; with them, the {words.accuracy} would be {map_with_them:.5f}"
    figures: dict[str, float | int | None] = {
        "rows": rows,
        "images": images,
        MAP_WITH_THEM: map_with_them,
    }
    sentence = _not_fetched(rows, images, what, words)
    is_ok = count or not rows
    return Check(IMAGES_NOT_FETCHED, is_ok, "warning", sentence, figures)


def without_truth(check: Check, words: Words = OF_BOXES) -> Check:
    """Return a check as a team may see it that may run again: without the mAP of rows that do not count.

    That mAP is a second one beside the published, of rows of the team's choice.
    """
    if check.code != IMAGES_NOT_FETCHED:
        return check
    figures = {
        name: value for name, value in check.figures.items() if name != MAP_WITH_THEM
    }
    if check.ok:
        return replace(check, figures=figures)
    rows = int(figures["rows"] or 0)
    images = int(figures["images"] or 0)
    sentence = _not_fetched(rows, images, NOT_SCORED, words)
    return replace(check, sentence=sentence, figures=figures)


def _not_fetched(rows: int, images: int, what: str, words: Words) -> str:
    if not rows:
        return f"Every {words.row} is for an image that the run was served."
    are_for = f"{rows} {words.rows} are for {images} images that the run was not served"
    return f"{are_for}; these {words.rows} {what}."


NOTHING_ODD = (
    "No box lies wholly outside its image, no box seems to be given as fractions of the image, and no confidence is "
    "above 1."
)


def implausible_boxes(found: Implausible) -> Check:
    """Return the check `implausible-boxes` of the scored rows.

    It is a warning, since these rows are scored unchanged.
    """
    sentence = " ".join(found.sentences) or NOTHING_ODD
    figures: dict[str, float | int | None] = {
        "in_unit_square": found.in_unit_square,
        "above_1": found.above_1,
        "outside": found.outside,
    }
    return Check("implausible-boxes", not found.sentences, "warning", sentence, figures)


def event_checks(noted: Mapping[str, Mapping[str, Any]]) -> Iterator[Check]:
    """Yield the checks that follow from a run's events, given by kind; `images-seen` is information and never fails."""
    if found := noted.get(REBOOTED):
        sentence = (
            "The host was restarted, or another host took over, during the run. The last record before that was made "
            "{recorded_s:.1f} s into the window. Since that record, {by_wall_clock_s:.1f} s have passed by the wall "
            "clock; since the boot, {up_s:.1f} s. The run had {remaining_s:.1f} s left."
        ).format(**found)
        figures = {name: value for name, value in found.items() if name.endswith("_s")}
        yield Check(
            REBOOTED,
            ok=False,
            severity="error",
            sentence=sentence,
            figures=figures,
        )
    if found := noted.get(IMAGES_SEEN):
        sentence = f"The team was served {found['images']} of these images in earlier runs: {found['runs']}."
        yield Check(IMAGES_SEEN, True, "warning", sentence, {"images": found["images"]})


def is_scorable(energy_wh: float | None) -> TypeGuard[float]:
    """Return True if a score can be computed: the meter gave an energy above 0 and at most LARGEST_WH."""
    return energy_wh is not None and 0 < energy_wh <= LARGEST_WH


def _energy_measured(run: Run, missing: str | None) -> Check:
    ok = is_scorable(run.energy_wh)
    if run.energy_wh is None:
        sentence = f"There is no energy, so there is no score: {missing or 'the meter gave no energy at the end.'}"
    else:
        wanted = "" if ok else "; a score needs an energy above 0 Wh"
        if not ok and run.energy_wh > 0:
            wanted += f" and at most {LARGEST_WH:g} Wh"
        sentence = f"The meter measured {run.energy_wh:.6g} Wh{wanted}."
    return Check("energy-measured", ok, "error", sentence, {"energy_wh": run.energy_wh})
