"""Parts of a page about one recording: verdict, figures, charts, checks, budget, meter and setup."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from html import escape
from typing import Final

from lpirc_power.energy import Check
from lpirc_power.energy.budget import Budget
from lpirc_power.page.parts import (
    Table,
    check_list,
    facts,
    paragraph,
    plus_minus,
    section,
    with_half_width,
)
from lpirc_power.page.recording_charts import charts_of
from lpirc_power.report.advice import advice
from lpirc_power.report.budget_words import (
    budget_rows,
    expanded_words,
    guaranteed_words,
    interval_words,
    stated_words,
)
from lpirc_power.report.check_report import in_order
from lpirc_power.report.checks_of_several import note_sentences
from lpirc_power.report.publication import Publication
from lpirc_power.report.reading_facts import figure
from lpirc_power.report.recording_report import UNKNOWN, Recorded
from lpirc_power.report.recording_words import figure_rows, meter_words, time_words

NOT_COVERED: Final = "Its uncertainty does not cover that."
BUDGET: Final = "Uncertainty budget"
SETUP_WORDS: Final = {
    "voltage_range_v": ("voltage range", "V"),
    "current_range_a": ("current range", "A"),
    "update_interval_s": ("update interval", "s"),
    "integrator_timer_s": ("integrator timer", "s"),
    "mode": ("mode", ""),
    "crest_factor": ("crest factor", ""),
    "line_filter": ("line filter", ""),
    "frequency_filter": ("frequency filter", ""),
    "synchronize": ("synchronized by", ""),
    "element": ("element", ""),
    "ambient_change_c": ("change of the room's temperature", "degrees C"),
}
"""Names of the fields of a setup for people, and their units."""
SHOWN_BY_READINGS: Final = ("voltage_range_v", "current_range_a", "update_interval_s")
"""Fields that a recording without a record shows."""


def energy_words(recorded: Recorded) -> str:
    """Return the energy with its stated interval in one line; without it if a check fails that it does not cover."""
    if recorded.no_energy:
        return "none"
    if recorded.failed:
        return figure(recorded.energy_wh, "Wh")
    return plus_minus(stated_words(recorded.energy_wh, recorded.budget))


def verdict(recorded: Recorded) -> str:
    """Return what may be said of the energy, in one paragraph."""
    if recorded.no_energy:
        return paragraph(recorded.no_energy, "verdict bad")
    energy = energy_words(recorded)
    failed = [one for one in recorded.checks if not one.ok]
    if recorded.failed:
        text = f"{energy}, needs review: {', '.join(recorded.failed)} failed. {NOT_COVERED}"
        text += f" Read the notes below; {recorded.broken}." if recorded.broken else ""
        return paragraph(text, "verdict bad")
    if failed or recorded.doubts or recorded.unchecked:
        codes = ", ".join(one.code for one in failed)
        if recorded.broken:
            text = f"{energy}; {recorded.broken}."
            text += f" Warnings: {codes}." if codes else ""
        else:
            text = f"{energy}. No check of severity error fails"
            text += f"; warnings: {codes}." if codes else "."
        if recorded.doubts:
            text += " Read the notes below."
        return paragraph(text, "verdict warn")
    return paragraph(f"{energy}. All {len(recorded.checks)} checks hold.", "verdict")


def notes(recorded: Recorded) -> str:
    """Return the advice for a short recording, and what a stored one does not say, as sentences."""
    said = [advice(recorded) or "", *recorded.doubts]
    return "".join(paragraph(one, "quiet") for one in said)


def notes_of(recordings: Mapping[str, Recorded]) -> str:
    """Return what several recordings by name do not say, each sentence once."""
    return "".join(paragraph(one, "quiet") for one in note_sentences(recordings))


def figures(recorded: Recorded) -> str:
    """Return the figures of a recording."""
    rows = figure_rows(recorded)
    energy_wh = recorded.energy_wh
    energy_j = recorded.energy_j
    joules = figure(energy_j, "J") if math.isfinite(energy_j) else ""
    found = recorded.mean_power
    is_covered = not recorded.failed
    half_w = found.half_w if found and is_covered else None
    mean = "" if found is None else with_half_width(found.power_w, half_w, "W")
    mean_name = "mean power" if half_w is None else "mean power, with 95.45 %"
    name = "uncertainty" if is_covered else "uncertainty, without what failed"
    budget = recorded.budget
    known = budget is not None and budget.is_known
    large = [
        ("energy", "none" if recorded.no_energy else figure(energy_wh, "Wh")),
        ("in joules", joules),
        (mean_name, mean),
        ("duration", f"{recorded.measured.elapsed_s:.3f} s"),
        ("readings", f"{len(recorded.readings)}"),
    ]
    small = [
        (name, plus_minus(interval_words(budget)) if budget and known else ""),
        ("above idle", plus_minus(rows.get("above idle", ""))),
        ("integrated time", plus_minus(time_words(found.time)) if found else ""),
        ("mean power", "" if mean else rows.get("mean power", "")),
    ]
    return facts(large, "figures") + facts(small)


def charts(recorded: Recorded) -> str:
    """Return the sections with power and energy over time."""
    found = charts_of(recorded)
    told = "".join(paragraph(one, "quiet") for one in found.sentences)
    return section("Power over time", found.power.svg(), told) + section(
        "Energy over time", found.energy.svg()
    )


def checks(recorded: Recorded) -> str:
    """Return the section of the checks: all, failed ones first."""
    if recorded.no_energy:
        lead = "There is no energy; the checks say what else is known."
    else:
        failed = sum(not one.ok for one in recorded.checks)
        lead = f"{len(recorded.checks) - failed} of {len(recorded.checks)} hold."
    left = ""
    if recorded.unchecked:
        left = f"Not checked, since the file does not say what they need: {', '.join(recorded.unchecked)}."
    listed = check_list(in_order(recorded.checks))
    return section("Checks", paragraph(lead), listed, paragraph(left, "quiet"))


def budget_section(budget: Budget | None, title: str = BUDGET) -> str:
    """Return the section of an uncertainty budget; nothing without one."""
    if budget is None:
        return ""
    if budget.unknown:
        return section(title, paragraph(budget.unknown))
    rows = [
        (one.name, one.limit, one.standard, one.share, one.distribution, one.source)
        for one in budget_rows(budget)
    ]
    table = Table(
        title,
        ("term",),
        ("limit", "standard uncertainty", "share"),
        rows,
        ("distribution", "source"),
    )
    summary = facts(
        [
            ("stated interval", plus_minus(interval_words(budget))),
            ("expanded uncertainty", plus_minus(expanded_words(budget))),
            ("guaranteed limit", plus_minus(guaranteed_words(budget))),
        ]
    )
    return section(title, summary, table.html())


def to_publish(found: Publication) -> str:
    """Return the section with the sentences for a paper."""
    said = paragraph(found.said)
    return section("To publish", said, paragraph(found.caution, "quiet"))


def failed_codes(recorded: Recorded) -> str:
    """Return the codes of the checks that fail, errors and warnings, for a cell of a table."""
    codes = [one.code for one in in_order(recorded.checks) if not one.ok]
    return ", ".join(codes) or "none"


def warnings_of(recordings: Iterable[Recorded]) -> list[str]:
    """Return the codes of the failed checks of severity warning, each once."""
    codes: dict[str, None] = {}
    for recorded in recordings:
        for one in recorded.checks:
            if not one.ok and one.severity == "warning":
                codes[one.code] = None
    return list(codes)


def failed_checks(recordings: Mapping[str, Recorded]) -> str:
    """Return the section of the checks of several recordings by name: those that failed, once for equal sentences."""
    failed: dict[tuple[str, str], Check] = {}
    names: dict[tuple[str, str], list[str]] = {}
    held = []
    for name, one in recordings.items():
        found = [check for check in one.checks if not check.ok]
        held.append(f"{name}: {len(one.checks) - len(found)} of {len(one.checks)}")
        for check in found:
            key = (check.code, check.sentence)
            failed[key] = check
            names.setdefault(key, []).append(name)
    told = [
        replace(check, sentence=f"{', '.join(names[key])}: {check.sentence}")
        for key, check in failed.items()
    ]
    lead = f"Checks that hold: {'; '.join(held)}." if held else ""
    return section("Checks", paragraph(lead), check_list(in_order(tuple(told))))


def origin(recorded: Recorded, title: str = "How it was measured") -> str:
    """Return the section that says how the energy was measured: meter, setup, command, host, program."""
    record = recorded.record
    first = recorded.readings[0]
    rows = [("meter", meter_words(recorded)), ("file", recorded.file)]
    if first.utc.year > 1970:
        rows.append(("first reading", f"{first.utc:%Y-%m-%d %H:%M:%S} UTC"))
    if record is not None:
        rows += [
            ("address", record.address),
            ("command", " ".join(record.command)),
            ("exit code", f"{record.ended.exit_code}" if record.ended and record.command else ""),
            ("host", record.host),
            ("program", f"lpirc-power {record.program}"),
        ]  # fmt: skip
    links = "".join(f"<li>{escape(one.sentence)}</li>" for one in recorded.link_events)
    lost = f"<h3>The link to the meter</h3><ul>{links}</ul>" if links else ""
    return section(title, facts(rows), _setup(recorded), lost)


def _setup(recorded: Recorded) -> str:
    """Return the setup: of a meter that nothing names only what the readings show."""
    setup = asdict(recorded.measured.setup)
    known = SETUP_WORDS
    title = "Setup"
    if not recorded.is_meter_known:
        is_stated = recorded.identity.model != UNKNOWN
        title = (
            "Setup, as stated" if is_stated else "Setup, as far as the readings show it"
        )
        if not is_stated:
            known = {
                field: words
                for field, words in SETUP_WORDS.items()
                if field in SHOWN_BY_READINGS and setup[field] is not None
            }
    settings = [
        (name, setting_words(setup[field], unit))
        for field, (name, unit) in known.items()
    ]
    return f"<h3>{title}</h3>{facts(settings)}"


def setting_words(value: object, unit: str) -> str:
    """Return a setting for people: None is automatic, a flag on or off."""
    if value is None:
        return "automatic"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float | int):
        return f"{value:g} {unit}".rstrip()
    return str(value)
