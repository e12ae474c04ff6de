"""The course of a run: what was served, posted and measured when, its energy by phase, its rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from referee.contest import Contest
from referee.judging.regret import energies_at
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

    `served_s` (n,) is when each image was first served, ascending, `posts_s` (p,) when a POST came; `reading_s` and
    `power_w` (r,) are the readings with a power. `changes` says when which phase begins.
    """

    elapsed_s: float
    served_s: Floats
    posts_s: Floats
    reading_s: Floats
    power_w: Floats
    changes: tuple[tuple[float, Phase], ...]
    phases: tuple[PhaseUse, ...]
    rates: Rates


def course_of(contest: Contest, run: Run) -> Course:
    """The course of a run that is over, up to the last record where its end is not known; else it may be empty."""
    store = contest.store
    images, served_s = first_served(store.served_log(run.id))
    posts = np.array(store.post_log(run.id), np.float64).reshape(-1, 2)
    of_rows = store.detections(run.id)[:, 0].astype(np.int64)
    covered = posted_after(images, of_rows, posts[:, 1].astype(np.int64))
    readings = store.readings(run.id, 0.0)
    elapsed_s = run.elapsed_s
    if elapsed_s is None:
        elapsed_s = max([0.0, *served_s, *posts[:, 0], *(r.monotonic_s for r in readings)])
    changes = phase_changes(served_s, posts[:, 0], covered)
    edges_s = np.minimum([*(at_s for at_s, _ in changes), elapsed_s], elapsed_s)
    of_power = [r for r in readings if math.isfinite(r.power_w)]
    return Course(
        elapsed_s,
        served_s,
        posts[:, 0],
        np.array([r.monotonic_s for r in of_power], np.float64),
        np.array([r.power_w for r in of_power], np.float64),
        changes,
        phase_uses(changes, edges_s, energies_at(contest, run, edges_s)),
        rates(len(images), len(of_rows), elapsed_s, run.energy_wh),
    )


def rates(images: int, detections: int, elapsed_s: float, energy_wh: float | None) -> Rates:
    """The rates of a run that was served so many different images."""
    per_image = energy_wh / images if energy_wh is not None and images else None
    images_per_s, detections_per_s = (
        one / elapsed_s if elapsed_s > 0 else None for one in (images, detections)
    )
    mj_per_image = None if per_image is None else per_image * MJ_PER_WH
    return Rates(images, images_per_s, detections_per_s, per_image, mj_per_image)


def first_served(log: Sequence[tuple[int, float]]) -> tuple[Ints, Floats]:
    """The images (n,) in the order in which they were first served, and when (n,), from (image, elapsed_s)."""
    first: dict[int, float] = {}
    for image, at_s in sorted(log, key=lambda one: one[1]):
        first.setdefault(image, at_s)
    return np.array([*first], np.int64), np.array([*first.values()], np.float64)


def posted_after(images: Ints, of_rows: Ints, counts: Ints) -> Ints:
    """How many of the images (n,), in order of service, are posted after each POST (p,): up to its newest image.

    `of_rows` (m,) has the images of all rows, `counts` (p,) how many of them each POST has.
    """
    place = np.zeros(max(images.max(initial=0), of_rows.max(initial=0)) + 1, np.int64)
    place[images] = np.arange(1, len(images) + 1)
    newest = np.maximum.accumulate(np.append(0, place[of_rows]))
    return newest[np.cumsum(counts)]


def phase_changes(served_s: Floats, posts_s: Floats, posted: Ints) -> tuple[tuple[float, Phase], ...]:
    """When which phase begins, the first at 0. `posted` (p,) is how many images are posted after each POST.

    POSTs come in the order of the database: two that arrive together may be out of order by time.
    """
    order = np.argsort(posts_s, kind="stable")
    events_s = np.unique(np.concatenate([served_s, posts_s]))
    served = np.searchsorted(served_s, events_s, side="right")
    posts = np.searchsorted(posts_s[order], events_s, side="right")
    is_open = served > np.append(0, np.maximum.accumulate(posted[order]))[posts]
    is_last = (posts == len(posts_s)) & (len(posts_s) > 0)
    changes = [(0.0, Phase.WAITING)]
    for at_s, detecting, idle in zip(events_s.tolist(), is_open.tolist(), is_last.tolist(), strict=True):
        phase = Phase.IDLE if idle else Phase.DETECTING if detecting else Phase.POSTING
        if phase is not changes[-1][1]:
            changes.append((at_s, phase))
    return tuple(changes)


def phase_uses(
    changes: Sequence[tuple[float, Phase]], edges_s: Floats, energies_wh: Floats | None
) -> tuple[PhaseUse, ...]:
    """Each phase with its time and its energy. `edges_s` (k + 1,) are the times of the changes, then the end."""
    place = [list(Phase).index(phase) for _, phase in changes]
    took_s = np.bincount(place, np.diff(edges_s), len(Phase)).tolist()
    if energies_wh is None:
        return tuple(PhaseUse(phase, s, None, None) for phase, s in zip(Phase, took_s, strict=True))
    took_wh = np.bincount(place, np.diff(energies_wh), len(Phase))
    total_wh = took_wh.sum()
    shares = (took_wh / total_wh).tolist() if total_wh > 0 else [None] * len(Phase)
    return tuple(PhaseUse(*use) for use in zip(Phase, took_s, took_wh.tolist(), shares, strict=True))
