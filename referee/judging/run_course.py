"""A run over time: when images were served and answered, its energy by phase, and its rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.contest import Contest
from referee.judging.energy_course import energies_at
from referee.store.records import Run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MJ_PER_WH = 3_600_000.0  # millijoules

PHASES = ("waiting", "detecting", "posting", "idle")
WAITING, DETECTING, POSTING, IDLE = range(4)
DEFINITION = (
    "waiting: until the first image is served; detecting: while at least one served image is unanswered (the first "
    "POST for an image, or for an image served later, answers it); posting: all other time up to the last "
    "POST; idle: after the last POST."
)


@dataclass(frozen=True)
class PhaseUse:
    """The time and energy that a run spent in a phase; the energies of all phases add up to the run's energy."""

    phase: str
    elapsed_s: float
    energy_wh: float | None
    share: float | None  # of the run's energy


@dataclass(frozen=True, eq=False)
class Course:
    """A run over time. Times are in seconds since the start of the window.

    `served_s` (n,) is when each image was first served, ascending; `posts_s` (p,) is when each POST arrived;
    `reading_s` and `power_w` (r,) are the readings with a power. A rate is None if time, energy or images are missing.
    """

    elapsed_s: float
    served_s: Floats
    posts_s: Floats
    reading_s: Floats
    power_w: Floats
    phases: tuple[PhaseUse, ...]
    images_per_s: float | None
    detections_per_s: float | None
    mj_per_image: float | None


def course_of(contest: Contest, run: Run) -> Course:
    """Return a run over time, up to its last record if its end is unknown.

    A run that is not over may have no records yet, and then the arrays are empty.
    """
    store = contest.store
    images, served_s = first_served(store.served.in_order(run.id))
    arrivals = store.posts.arrivals(run.id)
    posts_s = np.array([at_s for at_s, _ in arrivals], np.float64)
    counts = np.array([count for _, count in arrivals], np.int64)
    of_rows = store.posts.images(run.id)
    readings = store.readings.of_run(run.id, 0.0)
    read_s = [one.monotonic_s for one in readings]

    elapsed_s = run.elapsed_s
    if elapsed_s is None:
        elapsed_s = max([0.0, *served_s, *posts_s, *read_s])
    posted = posted_after(images, of_rows, counts)
    begins_s, phases = phases_of(served_s, posts_s, posted)
    edges_s = np.minimum(np.append(begins_s, elapsed_s), elapsed_s)
    energies_wh = energies_at(contest, run, edges_s)

    mj_per_image = None
    if run.energy_wh is not None and len(images):
        mj_per_image = run.energy_wh / len(images) * MJ_PER_WH
    of_power = [one for one in readings if math.isfinite(one.power_w)]
    return Course(
        elapsed_s,
        served_s,
        posts_s,
        reading_s=np.array([one.monotonic_s for one in of_power], np.float64),
        power_w=np.array([one.power_w for one in of_power], np.float64),
        phases=phase_uses(phases, edges_s, energies_wh),
        images_per_s=_rate(len(images), elapsed_s),
        detections_per_s=_rate(len(of_rows), elapsed_s),
        mj_per_image=mj_per_image,
    )


def _rate(count: int, elapsed_s: float) -> float | None:
    if elapsed_s <= 0:
        return None
    return count / elapsed_s


def first_served(log: Sequence[tuple[int, float]]) -> tuple[Ints, Floats]:
    """Return the images (n,) in the order of their first serving, and the times (n,), from (image, elapsed_s) pairs."""
    first: dict[int, float] = {}
    for image, at_s in sorted(log, key=lambda one: one[1]):
        first.setdefault(image, at_s)
    images = np.array([*first], np.int64)
    served_s = np.array([*first.values()], np.float64)
    return images, served_s


def posted_after(
    images: Ints,
    of_rows: Ints,
    counts: Ints,
) -> Ints:
    """Return how many images (n,) are finished after each POST (p,): all up to the last image with posted rows.

    `images` are in order of service. `of_rows` (m,) has the image of each row, `counts` (p,) the number of rows in each
    POST.
    """
    largest = max(images.max(initial=0), of_rows.max(initial=0))
    place = np.zeros(largest + 1, np.int64)
    place[images] = np.arange(1, len(images) + 1)
    newest = np.maximum.accumulate(np.append(0, place[of_rows]))
    return newest[np.cumsum(counts)]


def answered_at(posts_s: Floats, posted: Ints, images: int) -> Floats:
    """Return when each of the `images` in order of service was answered (n,); infinite if it never was.

    `posted` (p,) is how many images are posted after each POST.
    """
    order = np.argsort(posts_s, kind="stable")
    most_posted = np.maximum.accumulate(posted[order])
    of_post = np.searchsorted(most_posted, np.arange(1, images + 1))
    return np.append(posts_s[order], math.inf)[of_post]


def phases_of(
    served_s: Floats,
    posts_s: Floats,
    posted: Ints,
) -> tuple[Floats, Ints]:
    """Return the times (k,) at which the phase may change, from 0 on, and the index (k,) in PHASES of the next phase.

    `posted` (p,) is how many images are posted after each POST. POSTs have the order of the database, so the times of
    two POSTs that arrive together may be out of order.
    """
    order = np.argsort(posts_s, kind="stable")
    begins_s = np.unique(np.concatenate([[0.0], served_s, posts_s]))
    served = np.searchsorted(served_s, begins_s, side="right")
    posts = np.searchsorted(posts_s[order], begins_s, side="right")
    most_posted = np.append(0, np.maximum.accumulate(posted[order]))
    is_open = served > most_posted[posts]
    phases = np.where(is_open, DETECTING, POSTING)
    is_before = (served == 0) & (posts == 0)
    is_after = (posts == len(posts_s)) & (posts > 0)
    phases[is_before] = WAITING
    phases[is_after] = IDLE
    return begins_s, phases


def phase_uses(
    phases: Ints,
    edges_s: Floats,
    energies_wh: Floats | None,
) -> tuple[PhaseUse, ...]:
    """Return each phase with its time and its energy. `phases` (k,) lie between `edges_s` (k + 1,)."""
    took_s = np.bincount(phases, np.diff(edges_s), len(PHASES)).tolist()
    unknown: Sequence[float | None] = [None] * len(PHASES)
    took_wh = unknown
    shares = unknown
    if energies_wh is not None:
        took = np.bincount(phases, np.diff(energies_wh), len(PHASES))
        total_wh = took.sum()
        took_wh = took.tolist()
        if total_wh > 0:
            shares = (took / total_wh).tolist()
    uses = zip(PHASES, took_s, took_wh, shares, strict=True)
    return tuple(PhaseUse(*use) for use in uses)
