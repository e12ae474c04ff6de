"""The seconds and the energy that each image of a run took, by kind.

With the client's timeline every moment of the run is of one kind: the detector detects; else it hands rows over; else
images are fetched; else rows are sent; else the detector waits; the rest is idle. What was fetched or sent while the
detector worked cost no time of its own. Time for a batch is shared evenly by its images.

Without a timeline, the referee knows when images were served and rows arrived. The time up to a POST, since the one
before it, is shared evenly by the images that it answered; it is not split by kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from referee.contest import Contest
from referee.judging.client_timeline import ClientTimeline, Joined, join
from referee.judging.energy_course import energies_at
from referee.judging.run_course import MJ_PER_WH, first_served, posted_after
from referee.judging.timeline_sections import (
    EVERYONE,
    KINDS,
    Sections,
    hidden_s,
    sections_of,
)
from referee.store.records import Run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WITHOUT = ("waiting", "fetching, detecting, posting", "idle")


@dataclass(frozen=True, eq=False)
class ImageCosts:
    """What each image (n,) took: its number for the team, and seconds and Wh (n, k) by the k `kinds`.

    `energy_wh` is None if the energy over time is not known. Sums over the images are those of the run; they include
    an even share of the time that concerns no single image. `joined` says how the timeline was joined, None without
    one. `hidden_s` are the seconds of fetching and sending while the detector worked.
    """

    kinds: tuple[str, ...]
    images: Ints
    seconds: Floats
    energy_wh: Floats | None
    joined: Joined | None = None
    hidden_s: float | None = None


def image_costs(
    contest: Contest,
    run: Run,
    elapsed_s: float,
    timeline: ClientTimeline | None = None,
) -> ImageCosts | None:
    """Return what each served image of a run took, None if none was served or nothing lasted.

    Raises RefereeError `other-timeline`.
    """
    store = contest.store
    images, served_s = first_served(store.served.in_order(run.id))
    if not len(images) or elapsed_s <= 0:
        return None
    arrivals = store.posts.arrivals(run.id)
    posts_s = np.array([when for when, _ in arrivals], np.float64)
    if timeline is not None:
        receipts = store.posts.receipts(run.id)[::-1]  # the oldest first
        joined = join(timeline, list(zip(posts_s.tolist(), receipts, strict=True)))
        sections = sections_of(timeline, joined.offset_s, images, elapsed_s)
        hidden = hidden_s(timeline, joined.offset_s, elapsed_s)
        seconds, energy_wh = _summed(contest, run, sections, len(images), len(KINDS))
        return ImageCosts(KINDS, images, seconds, energy_wh, joined, hidden)

    counts = np.array([count for _, count in arrivals], np.int64)
    of_rows = store.posts.images(run.id)
    posted = posted_after(images, of_rows, counts)
    sections = by_posts(served_s, posts_s, posted, elapsed_s)
    seconds, energy_wh = _summed(contest, run, sections, len(images), len(WITHOUT))
    return ImageCosts(WITHOUT, images, seconds, energy_wh)


def by_posts(
    served_s: Floats,
    posts_s: Floats,
    posted: Ints,
    elapsed_s: float,
) -> Sections:
    """Return the sections between POSTs, each taken by the images that the POST at its end answers.

    Images are in the order of service; `posted` (p,) is how many of them are finished after each POST.
    """
    order = np.argsort(posts_s, kind="stable")
    first_s = min(float(served_s[0]), elapsed_s)
    ends_s = np.clip(posts_s[order], first_s, elapsed_s)
    last_s = max([first_s, *ends_s.tolist()])
    edges_s = np.concatenate([[0.0, first_s], ends_s, [last_s, elapsed_s]])
    finished = np.maximum.accumulate(np.append(0, posted[order]))
    takers: list[Ints] = []
    group = np.full(len(edges_s) - 1, EVERYONE)
    for place, (before, after) in enumerate(
        zip(finished[:-1].tolist(), finished[1:].tolist(), strict=True), start=1
    ):
        if after > before:
            group[place] = len(takers)
            takers.append(np.arange(before, after))
    kind = np.full(len(group), 1)
    kind[0] = 0
    kind[-1] = 2
    return Sections(edges_s, kind, group, takers)


def _summed(
    contest: Contest,
    run: Run,
    sections: Sections,
    images: int,
    kinds: int,
) -> tuple[Floats, Floats | None]:
    """Return the seconds, and the Wh if they are known, of each image by kind."""
    seconds = by_image(sections, np.diff(sections.edges_s), images, kinds)
    energies = energies_at(contest, run, sections.edges_s)
    if energies is None:
        return seconds, None
    return seconds, by_image(sections, np.diff(energies), images, kinds)


def by_image(
    sections: Sections,
    values: Floats,
    images: int,
    kinds: int,
) -> Floats:
    """Share the values (s,) of sections evenly among those who take them; return them by image and kind."""
    is_all = sections.group == EVERYONE
    of_all = np.bincount(sections.kind[is_all], values[is_all], kinds)
    found = np.tile(of_all / images, (images, 1))
    sizes = np.array([len(one) for one in sections.takers], np.int64)
    own = np.flatnonzero(~is_all)
    group = sections.group[own]
    shared = np.bincount(
        group * kinds + sections.kind[own],
        values[own],
        len(sizes) * kinds,
    ).reshape(len(sizes), kinds)
    members = _joined(sections.takers)
    each = np.repeat(shared / np.maximum(sizes, 1)[:, None], sizes, axis=0)
    np.add.at(found, members, each)
    return found


def _joined(takers: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *takers])


@dataclass(frozen=True)
class KindUse:
    """What a run spent on one kind of work, and what an image took of it: the mean, the median, the 95 % quantile."""

    kind: str
    elapsed_s: float
    energy_wh: float | None
    share: float | None  # of the run's energy
    each_s: float
    each_mj: float | None
    middle_mj: float | None
    high_mj: float | None


def kind_uses(costs: ImageCosts) -> tuple[KindUse, ...]:
    """Return the use of each kind, and of all as the last."""
    images = len(costs.images)
    seconds = _with_total(costs.seconds)
    energies = None
    if costs.energy_wh is not None:
        energies = _with_total(costs.energy_wh)
    uses = []
    for place, kind in enumerate((*costs.kinds, "all")):
        took_s = float(seconds[:, place].sum())
        use = KindUse(kind, took_s, None, None, took_s / images, None, None, None)
        if energies is not None:
            use = _with_energy(use, energies[:, place], float(energies[:, -1].sum()))
        uses.append(use)
    return tuple(uses)


def _with_total(values: Floats) -> Floats:
    return np.column_stack([values, values.sum(axis=1)])


def _with_energy(use: KindUse, by_image_wh: Floats, whole_wh: float) -> KindUse:
    middle_mj, high_mj = (
        float(np.quantile(by_image_wh, part)) * MJ_PER_WH for part in (0.5, 0.95)
    )
    energy_wh = float(by_image_wh.sum())
    return replace(
        use,
        energy_wh=energy_wh,
        share=energy_wh / whole_wh if whole_wh > 0 else None,
        each_mj=float(by_image_wh.mean()) * MJ_PER_WH,
        middle_mj=middle_mj,
        high_mj=high_mj,
    )


def most_costly(costs: ImageCosts, count: int = 5) -> tuple[tuple[int, float], ...]:
    """Return the images that took most energy, each with its mJ; none if the energy is not known or equal for all."""
    if costs.energy_wh is None:
        return ()
    by_image = costs.energy_wh.sum(axis=1)
    if np.ptp(by_image) <= 1e-9 * by_image.max(initial=0.0):
        return ()
    order = np.lexsort((costs.images, -by_image))[:count]
    images = costs.images[order].tolist()
    energies_mj = (by_image[order] * MJ_PER_WH).tolist()
    return tuple(zip(images, energies_mj, strict=True))
