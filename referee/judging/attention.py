"""What needs the attention of an operator now: one line for each finding, the worst first, with its ways out. Pure.

The findings follow from the status document alone, so console, `referee status` and the server's log show the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from referee.judging.attention_items import (
    OPERATOR,
    URGENCY,
    Act,
    Attention,
    Severity,
    act_of_run,
)
from referee.judging.attention_to_runs import run_findings
from referee.store.records import RunState

LEAST_FREE_MB = 1000
"""Free space, in MB, below which the disk is named: what `referee doctor` asks for before the day."""
HARDLY_ANY_MB = 250
"""Free space, in MB, at which someone has to make room at once."""
STEP_MB = 10
RECENT = timedelta(minutes=10)
MANY_FAILURES = 5
"""Failed log-ins within RECENT that are worth a look."""
FAILED_LOG_INS = ("bad-credentials", "too-many-failures")
MOST_QUESTIONS = 3
"""Open questions are named one by one up to this number."""
MOST_OF_QUESTION = 80
METER_LOST = "lost"
NOT_INTEGRATING = "not integrating"
ENERGY_TO_READ = "energy to read"
TROUBLES = {
    "database_trouble": ("database", Severity.PERSON_NEEDED),
    "journal_trouble": ("journal", Severity.PERSON_NEEDED),
    "backup_trouble": ("backup", Severity.WARNING),
    "config_changed": ("config", Severity.WARNING),
}
APPLY = Act("Look, and apply now", f"{OPERATOR}/settings/apply")
STATIONS = Act("Stations", f"{OPERATOR}/settings/stations")
Document = Mapping[str, Any]


def attention_of(status: Document) -> list[dict[str, Any]]:
    """Return what needs attention, as documents for `attention` in the status: the worst first."""
    found = [
        *_troubles(status),
        *_disk(status),
        *_meters(status),
        *_stranded(status),
        *run_findings(status),
        *_questions(status),
        *_failed_log_ins(status),
        *_of_plug_ins(status),
    ]
    found.sort(key=lambda one: URGENCY[one.severity])
    return [one.document() for one in found]


def rounded_mb(free_bytes: int) -> int | None:
    """Return the free space that the status states: in steps, so that it seldom changes; None while there is enough."""
    free_mb = free_bytes // 1_000_000
    return free_mb // STEP_MB * STEP_MB if free_mb < LEAST_FREE_MB else None


def _troubles(status: Document) -> Iterator[Attention]:
    for key, (code, severity) in TROUBLES.items():
        if status[key] is not None:
            acts = (APPLY,) if code == "config" else ()
            yield Attention(code, severity, status[key], acts=acts)


def _disk(status: Document) -> Iterator[Attention]:
    free_mb = status["disk_free_mb"]
    if free_mb is None:
        return
    severity = Severity.PERSON_NEEDED if free_mb < HARDLY_ANY_MB else Severity.WARNING
    sentence = (
        f"The contest's disk has only {free_mb} MB left; make room. On a full disk nothing is stored, and no window "
        "opens."
    )
    yield Attention("disk", severity, sentence)


def _meters(status: Document) -> Iterator[Attention]:
    for station in status["stations"]:
        name = station["name"]
        run = station["run"]
        state = station["meter_state"]
        if state not in (METER_LOST, NOT_INTEGRATING, ENERGY_TO_READ):
            continue
        said = station["meter_sentence"] or f"It is {state}."
        if state == METER_LOST and run is not None and run["state"] == RunState.ARMED:
            words = f"The meter of {name}: {said}"
            void = act_of_run("Void", run["run"], "void")
            severity = Severity.PERSON_NEEDED
            yield Attention(
                "meter-lost", severity, words, run["run"], name, acts=(void,)
            )
        elif run is None or run["state"] != RunState.OPEN:
            words = f"The meter of {name}: {said}"
            code = f"meter-{_code(state)}"
            yield Attention(code, Severity.WARNING, words, None, name, acts=(STATIONS,))
        elif run["energy_lost"] is None:
            number = run["run"]
            words = f"The meter of {name} is {state} while run {number} of {run['team']} is open: {said}"
            acts = (
                act_of_run("Close", number, "close"),
                act_of_run("Void", number, "void"),
            )
            code = f"meter-{_code(state)}"
            severity = Severity.PERSON_NEEDED
            yield Attention(code, severity, words, number, name, acts=acts)


def _stranded(status: Document) -> Iterator[Attention]:
    """Yield the runs whose station is not in the settings: a team cannot log in, or an energy is never read."""
    for one in status["stranded"]:
        station = one["station"]
        lost = "the team cannot log in"
        if one["is_over"]:
            lost = "it is never read"
        sentence = (
            f"{one['what']}, but the settings have no station of that name: {lost}. Name a station {station!r} again, "
            "with the same meter, and apply."
        )
        void = act_of_run("Void", one["run"], "void")
        acts = (STATIONS, void)
        severity = Severity.PERSON_NEEDED
        yield Attention(
            "station-gone", severity, sentence, one["run"], station, acts=acts
        )


def _code(state: str) -> str:
    return state.replace(" ", "-")


def _questions(status: Document) -> Iterator[Attention]:
    waiting = [one for one in status["questions"] if one["answered_utc"] is None]
    if len(waiting) > MOST_QUESTIONS:
        teams = ", ".join(sorted({one["team"] for one in waiting}))
        sentence = f"{len(waiting)} questions wait for an answer, from {teams}."
        look = Act("Questions", f"{OPERATOR}/#questions")
        yield Attention("questions", Severity.PERSON_NEEDED, sentence, acts=(look,))
        return
    for one in waiting:
        number = str(one["id"])
        answer = Act("Answer", f"{OPERATOR}/questions/{number}/answer", {})
        sentence = f"{one['team']} asks: {shortened(one['text'])}"
        severity = Severity.PERSON_NEEDED
        yield Attention("question", severity, sentence, about=number, acts=(answer,))


def shortened(text: str) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_OF_QUESTION else f"{line[:MOST_OF_QUESTION]}…"


def _failed_log_ins(status: Document) -> Iterator[Attention]:
    since = (datetime.fromisoformat(status["utc"]) - RECENT).isoformat()
    armed = {
        station["run"]["team"]
        for station in status["stations"]
        if station["run"] is not None and station["run"]["state"] == RunState.ARMED
    }
    counts: dict[str | None, int] = defaultdict(int)
    addresses: dict[str | None, dict[str, None]] = defaultdict(dict)
    for one in status["refusals"]:
        if one["code"] in FAILED_LOG_INS and one["utc"] >= since:
            counts[one["team"]] += one["count"]
            addresses[one["team"]][one["address"] or "an unknown address"] = None
    for name, count in counts.items():
        if count < MANY_FAILURES:
            continue
        whose = "without a name" if name is None else f"as {name}"
        places = ", ".join(addresses[name])
        sentence = f"{count} failed log-ins {whose} within ten minutes, from {places}."
        severity = Severity.WARNING
        if name in armed:
            sentence += " Its run is armed: help the team to log in."
            severity = Severity.PERSON_NEEDED
        look = Act("Refusals", f"{OPERATOR}/#refusals")
        yield Attention("log-ins", severity, sentence, about=name or "", acts=(look,))


def _of_plug_ins(status: Document) -> Iterator[Attention]:
    for one in status["plugged"]:
        severity = Severity.TO_DO if one["is_advice"] else Severity.WARNING
        yield Attention(one["code"], severity, one["sentence"], about=one["about"])
