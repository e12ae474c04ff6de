"""The course of a run: what was served, posted and measured when, its energy by phase, its rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from power.meter import Reading
from referee.contest import Contest
from referee.store.records import Run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MJ_PER_WH = 3_600_000.0  # millijoules


class Phase(StrEnum):
    """What a team does at a moment, as far as the records tell."""

    WAITING = "waiting"
    DETECTING = "detecting"
    POSTING = "posting"
    IDLE = "idle"


PHASES = (
    "waiting: until the first image is served; detecting: while a served image lacks its POST, the first with rows for "
    "it or for an image served later; posting: the rest, up to the last POST; idle: after the last POST."
)
"""The definition, in one line."""


@dataclass(frozen=True)
class PhaseUse:
    """How long a run was in a phase, and the energy of that time; the energies add up to that of record."""

    phase: Phase
    elapsed_s: float
    energy_wh: float | None
    share: float | None  # of the energy


@dataclass(frozen=True)
class Rates:
    """What a run did in a second and took for an image; None where it has no time, energy or image."""

    images: int
    images_per_s: float | None
    detections_per_s: float | None
    wh_per_image: float | None
    mj_per_image: float | None


@dataclass(frozen=True, eq=False)
class Course:
    """Times in seconds since the start of the window.

    `served_s` (n,) is when each image was first served, ascending; `posts_s` (p,) and `post_rows` (p,) are the POSTs;
    `reading_s` and `power_w` (r,) the readings with a power.
    """

    elapsed_s: float
    served_s: Floats
    posts_s: Floats
    post_rows: Ints
    reading_s: Floats
    power_w: Floats
    phases: tuple[PhaseUse, ...]
    changes_s: tuple[tuple[float, Phase], ...]  # when which phase begins
    rates: Rates


def course_of(contest: Contest, run: Run) -> Course:
    """The course of a run that is over; a run that was never opened has an empty one."""
    store, elapsed_s = contest.store, run.elapsed_s or 0.0
    images, served_s = first_served(store.served_log(run.id))
    posts = store.post_log(run.id)
    posts_s = np.array([at_s for at_s, _ in posts], np.float64)
    counts = np.array([rows for _, rows in posts], np.int64)
    covered = _covered(images, store.detections(run.id)[:, 0].astype(np.int64), counts)
    starts_s, phases = phase_changes(served_s, posts_s, covered)
    readings = store.readings(run.id, 0.0)
    of_power = [r for r in readings if math.isfinite(r.power_w)]
    return Course(
        elapsed_s,
        served_s,
        posts_s,
        counts,
        np.array([r.monotonic_s for r in of_power]),
        np.array([r.power_w for r in of_power]),
        phase_uses(starts_s, phases, elapsed_s, energy_curve(readings, elapsed_s, run.energy_wh)),
        tuple(zip(starts_s.tolist(), phases, strict=True)),
        rates(len(images), int(counts.sum()), elapsed_s, run.energy_wh),
    )


def rates(images: int, detections: int, elapsed_s: float, energy_wh: float | None) -> Rates:
    """The rates of a run that was served so many different images."""
    per_image = energy_wh / images if energy_wh is not None and images else None
    return Rates(
        images,
        images / elapsed_s if elapsed_s > 0 else None,
        detections / elapsed_s if elapsed_s > 0 else None,
        per_image,
        None if per_image is None else per_image * MJ_PER_WH,
    )


def first_served(log: Sequence[tuple[int, float]]) -> tuple[Ints, Floats]:
    """The images (n,) in the order in which they were first served, and when (n,), from (image, elapsed_s)."""
    first: dict[int, float] = {}
    for image, at_s in sorted(log, key=lambda one: one[1]):
        first.setdefault(image, at_s)
    return np.array([*first], np.int64), np.array([*first.values()], np.float64)


def _covered(images: Ints, of_rows: Ints, counts: Ints) -> Ints:
    """How many of the images (n,) in order of service are posted after each POST (p,): up to its newest image."""
    if not len(counts):
        return np.zeros(0, np.int64)
    place = np.zeros(max(images.max(initial=0), of_rows.max(initial=0)) + 1, np.int64)
    place[images] = np.arange(1, len(images) + 1)
    ends = np.cumsum(counts)
    newest = np.maximum.accumulate(np.append(0, place[of_rows]))
    return newest[ends]


def phase_changes(served_s: Floats, posts_s: Floats, covered: Ints) -> tuple[Floats, list[Phase]]:
    """When (k,) which phase begins; the first begins at 0. `covered` (p,) is how many images are posted after a POST.

    POSTs are ordered by their row in the database, so two that arrive together may be out of order by time.
    """
    order = np.argsort(posts_s, kind="stable")
    posts_s, covered = posts_s[order], np.maximum.accumulate(covered[order])
    events_s = np.unique(np.concatenate([served_s, posts_s]))
    served = np.searchsorted(served_s, events_s, side="right")
    posts = np.searchsorted(posts_s, events_s, side="right")
    done = np.append(0, covered)[posts]
    phases = [Phase.DETECTING if is_open else Phase.POSTING for is_open in (served > done).tolist()]
    if len(posts_s):
        phases = [Phase.IDLE if count == len(posts_s) else phase for count, phase in zip(posts, phases)]  # noqa: B905
    starts_s, every = np.append(0.0, events_s), [Phase.WAITING, *phases]
    is_new = [place == 0 or every[place - 1] is not phase for place, phase in enumerate(every)]
    return starts_s[is_new], [phase for phase, new in zip(every, is_new, strict=True) if new]


def energy_curve(
    readings: Sequence[Reading], elapsed_s: float, energy_wh: float | None
) -> tuple[Floats, Floats] | None:
    """Times (k,) and the energy (k,) since the start at each: the readings', then that of record at the end.

    None where the meter gave no energy, or one that does not grow towards that of record.
    """
    inside = [r for r in readings if 0 <= r.monotonic_s < elapsed_s and math.isfinite(r.energy_wh)]
    if not inside or energy_wh is None:
        return None
    times = np.array([0.0, *(r.monotonic_s for r in inside), elapsed_s])
    energies = np.array([0.0, *(r.energy_wh for r in inside), energy_wh])
    return (times, energies) if (np.diff(energies) >= 0).all() else None


def phase_uses(
    starts_s: Floats, phases: Sequence[Phase], elapsed_s: float, energy: tuple[Floats, Floats] | None
) -> tuple[PhaseUse, ...]:
    """Each phase with its time and its energy, which is linear between the points of `energy_curve`."""
    edges = np.append(np.minimum(starts_s, elapsed_s), elapsed_s)
    took_s = np.diff(edges)
    took_wh = None if energy is None else np.diff(np.interp(edges, *energy))
    found = []
    for phase in Phase:
        mine = np.array([one is phase for one in phases], np.bool_)
        of_phase = None if took_wh is None else float(took_wh[mine].sum())
        total = None if took_wh is None else float(took_wh.sum())
        share = of_phase / total if of_phase is not None and total else None
        found.append(PhaseUse(phase, float(took_s[mine].sum()), of_phase, share))
    return tuple(found)
