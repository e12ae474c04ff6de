"""The energy of each mark of a recording, as facts for machines and as lines for people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lpirc_power.energy import Budget, Measurement, budget_of, energy_of
from lpirc_power.energy.budget import Distribution, Term
from lpirc_power.energy.energy_budget import (
    GAPS,
    RESOLUTION_TIME,
    RESOLUTION_WH,
    START_STOP,
    age_terms,
    half_digit,
    start_stop_term,
)
from lpirc_power.energy.marked_energy import PowerCourse, StretchEnergy
from lpirc_power.energy.measured_energy import Edges
from lpirc_power.energy.power_beyond import PowerBeyond
from lpirc_power.energy.reading_columns import chosen, column
from lpirc_power.energy.step_checks import ended_early
from lpirc_power.listed import listed
from lpirc_power.meter import Reading
from lpirc_power.record.document import Mark
from lpirc_power.report.advice import times_for
from lpirc_power.report.budget_words import attached_words
from lpirc_power.report.reading_facts import figure, json_ready
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.rounded import cost_words, half_words

MARKS: Final = "marks"
"""Code of the term for the edges of marks."""
NOT_OF_MARKS: Final = (START_STOP, RESOLUTION_TIME)
"""Terms of a whole recording that a mark does not have in this form."""
SHORT: Final = 0.05
"""Part of the energy of a mark that its edges may cost before a longer one is advised."""
SHOWN_INSTANTS: Final = 5
"""Instants of one name that a line shows."""


@dataclass(frozen=True)
class Marked:
    """What a recording knows of one name: how often it was marked, and the energy of the union of its stretches.

    `instants_s` are the times of instants since the start of the window, `unclosed` counts stretches without an end,
    `outside` those that do not touch the window, `cut` those of which a part lies outside. `doubt_s` is how far the
    times may be wrong. `mean_wh` is the energy of one stretch, NaN without one: stretches that overlap share energy, so
    it may be more than `energy` / `count`. `budget` is None for instants alone; `above_idle` is the energy above idle
    with its budget, None also without an idle power.
    """

    name: str
    count: int
    unclosed: int
    outside: int
    cut: int
    instants_s: tuple[float, ...]
    energy: StretchEnergy
    doubt_s: float
    mean_wh: float
    budget: Budget | None
    above_idle: Budget | None = None

    @property
    def mean_power_w(self) -> float:
        """The mean power; NaN without a duration."""
        lasted_s = self.energy.duration_s
        return 3600.0 * self.energy.energy_wh / lasted_s if lasted_s > 0 else math.nan

    @property
    def edges_share(self) -> float:
        """The part of the energy that the edges may cost; 0 without a stretch."""
        energy = self.energy
        if not self.count or not energy.edges_wh > 0.0:
            return 0.0
        if not energy.energy_wh:
            return math.inf
        return energy.edges_wh / abs(energy.energy_wh)

    @property
    def times_to_repeat(self) -> int | None:
        """How many times the work must run in each stretch for its edges to cost less than `SHORT`; None for once."""
        share = self.edges_share
        return times_for(share, SHORT) if share > SHORT else None


def marked(recorded: Recorded) -> tuple[Marked, ...]:
    """Return the energies of a recording by mark, in the order in which the names first occurred.

    Stretches of one name that overlap count their energy once. Those of different names may overlap or nest, so their
    energies need not add up to that of the recording.
    """
    if not recorded.marks or recorded.no_energy:
        return ()
    names: dict[str, list[Mark]] = {}
    for one in sorted(recorded.marks, key=lambda mark: mark.begin_s):
        names.setdefault(one.name, []).append(one)
    course = PowerCourse(recorded.readings, recorded.measured)
    return tuple(
        _marked(name, marks, course, recorded) for name, marks in names.items()
    )


def _marked(
    name: str, marks: Sequence[Mark], course: PowerCourse, recorded: Recorded
) -> Marked:
    measured = recorded.measured
    stretches = [
        (one.begin_s, one.end_s)
        for one in marks
        if one.end_s is not None and one.end_s > one.begin_s
    ]
    inside = [
        one
        for one in stretches
        if one[1] > measured.start_s and one[0] < measured.end_s
    ]
    doubt_s = max(one.doubt_s for one in marks)
    energy = course.of(inside, doubt_s)
    budget = _budget(energy, inside, course, recorded) if inside else None
    return Marked(
        name=name,
        count=len(inside),
        unclosed=sum(one.end_s is None for one in marks),
        outside=len(stretches) - len(inside),
        cut=sum(one[0] < measured.start_s or one[1] > measured.end_s for one in inside),
        instants_s=tuple(
            one.begin_s - measured.start_s for one in marks if one.end_s == one.begin_s
        ),
        energy=energy,
        doubt_s=doubt_s,
        mean_wh=course.total_wh(inside) / len(inside) if inside else math.nan,
        budget=budget,
        above_idle=recorded.net_of(budget, _measured(energy, measured)),
    )


def _budget(
    energy: StretchEnergy,
    stretches: Sequence[tuple[float, float]],
    course: PowerCourse,
    recorded: Recorded,
) -> Budget:
    """Return the budget: the meter's terms at the mean load of the stretches, gaps in them, and their edges."""
    whole = recorded.measured
    loads = _loads(stretches, recorded)
    of_load = replace(
        energy_of(loads, _measured(energy, whole)),
        unseen=course.unseen(recorded.energy.unseen, stretches),
        edges=Edges(0.0, energy.duration_s, ""),
        ended=ended_early(loads, whole),
    )
    has_gaps = bool(of_load.unseen.stretches)
    terms = []
    for one in budget_of(of_load).terms:
        if one.code == RESOLUTION_WH:
            terms.append(_differences(one, energy, whole))
        elif one.code not in NOT_OF_MARKS and (one.code != GAPS or has_gaps):
            terms.append(one)
    if energy.end_w:
        terms += _end_terms(energy, recorded)
    return Budget(energy.energy_wh, (*terms, _edges_term(energy)))


def _loads(
    stretches: Sequence[tuple[float, float]], recorded: Recorded
) -> Sequence[Reading]:
    """Return the readings from the first edge to the update that the last one cuts.

    None is later than the window: the reading behind it shows a meter that was stopped.
    """
    whole = recorded.measured
    begin_s = min(one[0] for one in stretches)
    end_s = max(one[1] for one in stretches) + whole.setup.update_interval_s

    inside = whole.inside(recorded.readings)
    times_s = column(inside, "monotonic_s")
    return chosen(inside, (begin_s <= times_s) & (times_s <= end_s))


def _differences(term: Term, energy: StretchEnergy, whole: Measurement) -> Term:
    """Return the term of the resolution of two values of WH for each stretch, whose roundings differ."""
    half_width = half_digit(whole.integrator_wh) * math.sqrt(2.0 * energy.pieces)
    return replace(term, half_width=half_width)


def _end_terms(energy: StretchEnergy, recorded: Recorded) -> Iterator[Term]:
    """Yield the terms of start and stop, and of an age, where a stretch reaches an end of the recording."""
    yield start_stop_term(recorded.energy.edges, PowerBeyond(energy.end_w))
    yield from age_terms(recorded.energy)


def _measured(energy: StretchEnergy, whole: Measurement) -> Measurement:
    return replace(
        whole,
        integrator_wh=energy.energy_wh,
        integrator_s=energy.duration_s,
        end_s=whole.start_s + energy.duration_s,
        late_s=0.0,
    )


def _edges_term(energy: StretchEnergy) -> Term:
    """Return the term of the edges. A load that begins and ends with its mark makes the error as large as it may be."""
    return Term(
        code=MARKS,
        name="the edges of the marks",
        half_width=energy.edges_wh,
        unit="Wh",
        distribution=Distribution.TWO_POINT,
        sensitivity_wh=1.0,
        source="the rise of WH in each update that an edge cuts: any part of it may belong to the mark",
    )


def marked_facts(recorded: Recorded) -> list[dict[str, object]]:
    """Return the energies by mark, ready for JSON."""
    return [_facts(one) for one in marked(recorded)]


def _facts(one: Marked) -> dict[str, object]:
    net = one.above_idle
    return {
        "name": one.name,
        "count": one.count,
        "energy_wh": json_ready(one.energy.energy_wh) if one.count else None,
        "mean_wh": json_ready(one.mean_wh),
        "duration_s": one.energy.duration_s,
        "mean_power_w": json_ready(one.mean_power_w),
        "edges_wh": json_ready(one.energy.edges_wh),
        "repeat_in_mark": one.times_to_repeat,
        "budget": None if one.budget is None else one.budget.document(),
        "above_idle_wh": None if net is None else json_ready(net.energy_wh),
        "above_idle_budget": None if net is None else net.document(),
        "instants_s": list(one.instants_s),
        "unclosed": one.unclosed,
        "outside": one.outside,
        "cut": one.cut,
        "doubt_s": one.doubt_s,
    }


def marked_lines(recorded: Recorded) -> list[str]:
    """Return the energies by mark as lines for people."""
    found = [f"{'mark':16} {one.name}: {_words(one)}" for one in marked(recorded)]
    lost = lost_words(recorded)
    return [*found, f"{'marks':16} {lost}"] if lost else found


def lost_words(recorded: Recorded) -> str:
    """Return how many marks were lost; empty if none was."""
    ended = recorded.record.ended if recorded.record else None
    if ended is None or not ended.marks_lost:
        return ""
    return f"{ended.marks_lost} were lost: more came than a recording keeps, or they were no marks"


def _words(one: Marked) -> str:
    words = []
    if one.count and one.budget is not None:
        times = (
            ""
            if one.count == 1
            else f", {one.count} times, {figure(one.mean_wh, 'Wh')} each"
        )
        words.append(
            f"{figure(one.energy.energy_wh, 'Wh')} {attached_words(one.budget)}, "
            f"{figure(one.mean_power_w, 'W', 5)} over {one.energy.duration_s:.4g} s{times}"
        )
    return "; ".join([*words, *remarks(one)])


def net_words(net: Budget) -> str:
    """Return an energy above idle in words."""
    return f"{figure(net.energy_wh, 'Wh')} {attached_words(net)} above idle"


def remarks(one: Marked) -> list[str]:
    """Return what else there is to say of a name: above idle, its instants, the stretches that have no energy."""
    words = []
    if (net := one.above_idle) is not None:
        words.append(net_words(net))
    if one.instants_s:
        times = [f"{at_s:.3f} s" for at_s in one.instants_s]
        words.append(f"at {listed(times, SHOWN_INSTANTS)}")
    if one.unclosed:
        words.append(f"{one.unclosed} without an end, whose energy is not known")
    if one.cut:
        words.append(f"{one.cut} reaching beyond the recording, counted within it")
    if one.outside:
        words.append(f"{one.outside} outside the recording")
    if (repeats := one.times_to_repeat) is not None:
        words.append(
            f"short for this meter: its edges may cost {cost_words(one.edges_share)}; run the work "
            f"{repeats} times in one mark, then they cost less than {100.0 * SHORT:.0f} %"
        )
    if one.doubt_s:
        words.append(f"times {half_words(one.doubt_s, 's')}, from another clock")
    return words
