"""Recordings of one run by several meters on one clock: energies, offsets, and what is lost between two of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lpirc_power.energy import Budget
from lpirc_power.energy.budget import Distribution, Term
from lpirc_power.energy.integral import difference_wh
from lpirc_power.record.document import GroupRecord
from lpirc_power.report.budget_words import interval_words
from lpirc_power.report.checks_of_several import check_lines, note_lines, note_sentences
from lpirc_power.report.marked_report import marked_facts, marked_lines
from lpirc_power.report.reading_facts import figure, json_ready, lines
from lpirc_power.report.recording_report import Recorded, recorded_facts
from lpirc_power.report.recording_words import figure_rows, meter_words
from lpirc_power.report.rounded import half_words
from lpirc_power.report.series_report import attempt_words


@dataclass(frozen=True)
class Group:
    """Recordings of several meters on one clock, by name. A meter without an energy is named in the record alone."""

    record: GroupRecord
    recordings: Mapping[str, Recorded]
    file: str

    @property
    def start_offsets_s(self) -> dict[str, float]:
        """Return by how much each meter's window began later than that of the first."""
        return self._offsets(lambda one: one.measured.start_s)

    @property
    def end_offsets_s(self) -> dict[str, float]:
        """Return by how much each meter's window ended later than that of the first."""
        return self._offsets(lambda one: one.measured.end_s)

    def _offsets(self, time_s: Callable[[Recorded], float]) -> dict[str, float]:
        times_s = {name: time_s(one) for name, one in self.recordings.items()}
        first_s = next(iter(times_s.values()), 0.0)
        return {name: at_s - first_s for name, at_s in times_s.items()}

    @functools.cached_property
    def losses(self) -> tuple[Loss, ...]:
        """What is lost between the first meter, if it has an energy, and each other one."""
        names = [one.name for one in self.record.members]
        good = {name: one for name, one in self.recordings.items() if not one.no_energy}
        if not names:
            return ()
        supply, *loads = names
        if supply not in good:
            return ()
        return tuple(Loss(self, supply, load) for load in loads if load in good)


@dataclass(frozen=True)
class Loss:
    """The difference and the ratio of two energies of one run: the loss of a supply, and its efficiency."""

    group: Group
    supply: str
    load: str

    @property
    def lost_wh(self) -> float:
        """The energy at the supply's side less that at the load's side."""
        return difference_wh(self._energy_wh(self.supply), self._energy_wh(self.load))

    @property
    def ratio(self) -> float | None:
        """The energy at the load's side, as a part of that at the supply's side; None if that is 0."""
        supply_wh = self._energy_wh(self.supply)
        return self._energy_wh(self.load) / supply_wh if supply_wh else None

    @property
    def offset_s(self) -> float:
        """How much time one meter counted and the other did not."""
        name = self.load
        supply = self.supply
        starts_s = self.group.start_offsets_s
        ends_s = self.group.end_offsets_s
        return abs(starts_s[name] - starts_s[supply]) + abs(
            ends_s[name] - ends_s[supply]
        )

    @functools.cached_property
    def budget(self) -> Budget | None:
        """The uncertainty budget of the loss; None if that of an energy is missing."""
        return self._combined(self.lost_wh, 1.0, 1.0)

    @functools.cached_property
    def ratio_half(self) -> float | None:
        """Half of the stated interval of the ratio; None if it is unknown."""
        supply_wh = self._energy_wh(self.supply)
        ratio = self.ratio
        if ratio is None:
            return None
        found = self._combined(ratio, ratio / supply_wh, 1.0 / supply_wh)
        return None if found is None else found.coverage_wh

    def _energy_wh(self, name: str) -> float:
        return self.group.recordings[name].energy_wh

    def _combined(self, value: float, supply: float, load: float) -> Budget | None:
        """Return the budget of a value that depends on both energies by these factors; the meters' errors differ."""
        terms: list[Term] = []
        for name, factor in ((self.supply, supply), (self.load, load)):
            budget = self.group.recordings[name].budget
            if budget is None:
                return None
            terms += [_scaled(one, name, factor) for one in budget.terms]
        mean_w = self.group.recordings[self.load].energy.mean_power_w
        offset = Term(
            code="offset",
            name="the offset of the two windows",
            half_width=self.offset_s,
            unit="s",
            distribution=Distribution.TWO_POINT,
            sensitivity_wh=load * abs(mean_w) / 3600.0,
            source="both windows on the host's clock, at the mean power",
        )
        return Budget(value, (*terms, offset))


def _scaled(term: Term, meter: str, factor: float) -> Term:
    return replace(
        term,
        name=f"{meter}: {term.name}",
        sensitivity_wh=term.sensitivity_wh * factor,
        group=f"{meter} {term.group}" if term.group else "",
    )


def group_facts(group: Group) -> dict[str, object]:
    """Return a group, ready for JSON."""
    starts_s = group.start_offsets_s
    ends_s = group.end_offsets_s
    return {
        "kind": "group",
        "meters": {
            name: {
                **recorded_facts(one),
                "marks": marked_facts(one),
                "start_offset_s": starts_s[name],
                "end_offset_s": ends_s[name],
            }
            for name, one in group.recordings.items()
        },
        "failed": {one.name: one.failed for one in group.record.members if one.failed},
        "losses": [_loss_facts(one) for one in group.losses],
        "file": group.file,
    }


def _loss_facts(loss: Loss) -> dict[str, object]:
    return {
        "supply": loss.supply,
        "load": loss.load,
        "lost_wh": json_ready(loss.lost_wh),
        "ratio": loss.ratio,
        "ratio_interval": loss.ratio_half,
        "offset_s": loss.offset_s,
        "budget": None if loss.budget is None else loss.budget.document(),
    }


def group_lines(group: Group) -> list[str]:
    """Return a group as lines for people."""
    starts_s = group.start_offsets_s
    ends_s = group.end_offsets_s
    rows = []
    for name, one in group.recordings.items():
        offsets = (
            f"began {1e3 * starts_s[name]:+.1f} ms, ended {1e3 * ends_s[name]:+.1f} ms"
        )
        rows.append(f"{name:16} {attempt_words(one)}; {offsets}")
        rows.append(f"{'meter':16} {meter_words(one)}")
        if one.budget is not None:
            rows.append(f"{'uncertainty':16} {interval_words(one.budget)}")
        if above := figure_rows(one).get("above idle"):
            rows.append(f"{'above idle':16} {above}")
        rows += marked_lines(one)
    rows += [
        f"{one.name:16} failed: {one.failed}"
        for one in group.record.members
        if one.failed
    ]
    for loss in group.losses:
        rows += lines(loss_words(loss))
    notes = note_lines(note_sentences(group.recordings))
    return [*rows, *check_lines(group.recordings), *notes]


def loss_words(loss: Loss) -> dict[str, str]:
    """Return the loss and the efficiency in words, by name."""
    uncertain = "" if loss.budget is None else f", {interval_words(loss.budget)}"
    found = {
        "loss": f"{figure(loss.lost_wh, 'Wh')} from {loss.supply} to {loss.load}{uncertain}"
    }
    if loss.ratio is not None:
        half = loss.ratio_half
        part = f"{100 * loss.ratio:.5g} %"
        reaches = f"of {loss.supply} reaches {loss.load}"
        words = f"{part} {reaches}; the uncertainty is unknown"
        if half is not None:
            words = f"{part} {half_words(100 * half, '%')} with 95.45 % {reaches}"
        found["efficiency"] = words
    return found
