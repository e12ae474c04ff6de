"""What needs attention follows from the status: each finding in one line, the worst first, with its way out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from referee.config import Station
from referee.errors import RefereeError
from referee.judging.attention import attention_of, rounded_mb
from referee.judging.contest_status import Known, StatusReader
from referee.judging.judge import judge
from referee.store.held_stations import require_not_needed
from referee.store.records import (
    BACKUP,
    ENERGY_LOST,
    ENERGY_MISSING,
    JUDGE_FAILED,
    METER_START,
    EnergyMissing,
    Refusal,
    Review,
    RunState,
)
from tests.referee.factories import START, House, StillClock
from tests.referee.judging.judged_runs import (
    READ_EACH_S,
    armed_run,
    closed_run,
    opened_run,
)

Build = Callable[..., House]
Found = dict[str, Any]
URGENT = "person-needed"


def look(house: House, **known: Any) -> list[Found]:
    status = StatusReader(house.contest).read(START, Known(**known))
    found: list[Found] = status["attention"]
    return found


def one(house: House, code: str, **known: Any) -> Found:
    (found,) = [each for each in look(house, **known) if each["code"] == code]
    return found


def acts(found: Found) -> list[tuple[str, str]]:
    return [(act["label"], act["path"]) for act in found["acts"]]


def refusal(team: str, count: int, utc: str = START.isoformat()) -> Refusal:
    code = "bad-credentials"
    return Refusal(utc, utc, count, code, 401, team, None, "10.0.0.9", "No.")


def test_a_quiet_contest_needs_no_attention(build: Build) -> None:
    house = build()
    opened_run(house.contest, "ant")
    assert look(house, meters={"one": ("integrating", None)}) == []


@pytest.mark.parametrize(
    ("free_mb", "stated", "severity"),
    [(5000, None, None), (999, 990, "warning"), (243, 240, URGENT), (0, 0, URGENT)],
)
def test_a_disk_that_is_nearly_full_is_named_in_steps(
    build: Build,
    free_mb: int,
    stated: int | None,
    severity: str | None,
) -> None:
    status = StatusReader(build().contest).read(START, Known())
    status["disk_free_mb"] = rounded_mb(free_mb * 1_000_000)
    assert status["disk_free_mb"] == stated
    found = [each for each in attention_of(status) if each["code"] == "disk"]
    expected = [] if severity is None else [severity]
    assert [each["severity"] for each in found] == expected


def test_a_meter_that_is_lost_needs_a_person_while_its_run_is_open(
    build: Build,
) -> None:
    house = build()
    meters = {"one": ("lost", "It does not answer.")}
    free = one(house, "meter-lost", meters=meters)
    assert (free["severity"], free["station"]) == ("warning", "one")
    run = opened_run(house.contest, "ant")
    found = one(house, "meter-lost", meters=meters)
    assert (found["severity"], found["run"]) == (URGENT, run.id)
    assert "It does not answer." in found["sentence"]
    assert acts(found) == [
        ("Close", "/operator/runs/1/close"),
        ("Void", "/operator/runs/1/void"),
    ]


def test_a_meter_that_is_lost_needs_a_person_while_a_team_waits_for_it(
    build: Build,
) -> None:
    house = build()
    run = armed_run(house.contest, "ant")
    found = one(house, "meter-lost", meters={"one": ("lost", "It did not start.")})
    assert (found["severity"], found["run"]) == (URGENT, run.id)
    assert found["sentence"] == "The meter of one: It did not start."
    assert acts(found) == [("Void", "/operator/runs/1/void")]


def test_a_lost_energy_is_one_finding_and_hides_what_follows_from_it(
    build: Build,
) -> None:
    house = build()
    run = opened_run(house.contest, "ant")
    house.store.log.append(START, run.id, ENERGY_LOST, code="meter-reset")
    found = look(house, meters={"one": ("not integrating", "It stands.")})
    assert [(each["code"], each["severity"]) for each in found] == [
        ("energy-lost", URGENT)
    ]
    assert found[0]["acts"][0]["command"] == 'referee run void 1 --reason "…"'


def test_a_lost_energy_comes_before_a_review_of_a_newer_run(build: Build) -> None:
    house = build()
    run = opened_run(house.contest, "dog")
    house.store.log.append(START, run.id, ENERGY_LOST, code="meter-reset")
    for team, energy_wh, odd in (
        ("bee", 1.0, False),
        ("cat", 9.0, False),
        ("ant", 0.5, True),
    ):
        other = closed_run(house.contest, team, energy_wh, odd=odd)
        judge(house.contest, other.id, StillClock())
    urgent = [each["code"] for each in look(house) if each["severity"] == URGENT]
    assert urgent == ["energy-lost", "review-of-prize"]


def test_a_review_that_decides_no_prize_can_wait(
    build: Build,
) -> None:
    house = build(prizes=[])
    for number, team in enumerate(("ant", "bee")):
        run = closed_run(house.contest, team, 1.0 + number, odd=team == "ant")
        judge(house.contest, run.id, StillClock())
    assert one(house, "review")["severity"] == "warning"


def test_the_prize_that_depends_on_a_review_is_named(build: Build) -> None:
    house = build()
    for team, energy_wh, odd in (
        ("ant", 0.5, True),
        ("bee", 1.0, False),
        ("cat", 9.0, True),
    ):
        run = closed_run(house.contest, team, energy_wh, odd=odd)
        judge(house.contest, run.id, StillClock())
    found = one(house, "review-of-prize")
    assert (found["run"], found["severity"]) == (1, URGENT)
    assert "Best score" in found["sentence"]
    assert acts(found)[0] == ("Let stand", "/operator/runs/1/review")
    assert one(house, "review")["run"] == 3, "it would win nothing"


def test_a_run_in_review_is_not_offered_to_be_confirmed_before_its_review(
    build: Build,
) -> None:
    house = build(publish_by=1, prizes=[])
    run = closed_run(house.contest, "ant", odd=True)
    judge(house.contest, run.id, StillClock())
    assert [each["code"] for each in look(house)] == ["review"]
    judged = house.store.scores.latest(run.id)
    assert judged is not None
    codes = tuple(each.code for each in judged.checks if not each.ok)
    review = Review("Eva", "It may stand.", START.isoformat(), codes)
    house.store.reviews.add(run.id, review)
    assert [each["code"] for each in look(house)] == ["confirm"]


def test_a_judging_again_that_fails_hides_no_review_on_which_a_prize_depends(
    build: Build,
) -> None:
    house = build()
    for team, energy_wh, odd in (("ant", 0.5, True), ("bee", 1.0, False)):
        run = closed_run(house.contest, team, energy_wh, odd=odd)
        judge(house.contest, run.id, StillClock())
    house.store.log.append(START, 1, JUDGE_FAILED, sentence="No test set.")
    assert one(house, "judge-failed")["run"] == 1
    found = one(house, "review-of-prize")
    assert (found["run"], found["severity"]) == (1, URGENT)


def test_runs_to_judge_are_one_finding_and_a_judging_that_failed_one_of_its_own(
    build: Build,
) -> None:
    house = build(auto_judge=False)
    for team in ("ant", "bee", "cat"):
        closed_run(house.contest, team)
    house.store.log.append(START, 3, JUDGE_FAILED, sentence="No test set.")
    waiting = one(house, "judge")
    assert (waiting["severity"], waiting["run"]) == ("to-do", None)
    assert waiting["sentence"] == "Closed and not judged yet: run 1, 2."
    failed = one(house, "judge-failed")
    assert (failed["severity"], failed["run"]) == (URGENT, 3)
    assert "No test set." in failed["sentence"]
    assert acts(failed) == [
        ("Judge", "/operator/runs/3/judge"),
        ("Run page", "/operator/runs/3"),
    ]
    judge(house.contest, 3, StillClock())
    assert [each["code"] for each in look(house)] == ["judge"]


def test_a_server_that_judges_by_itself_asks_nobody_to_do_it(build: Build) -> None:
    house = build()
    closed_run(house.contest, "ant")
    assert look(house) == []


def test_what_the_jury_has_to_decide_names_the_judgement_and_many_are_one_line(
    build: Build,
) -> None:
    house = build(publish_by=2)
    for team in ("ant", "bee", "cat", "dog"):
        setup = {"setup": READ_EACH_S} if team in ("cat", "dog") else {}
        run = closed_run(house.contest, team, **setup)
        judge(house.contest, run.id, StillClock())
        if team == "cat":
            found = [each for each in look(house) if each["code"] == "confirm"]
            assert [each["run"] for each in found] == [3, 2, 1]
            assert found[0]["acts"][0]["send"] == {"judged_utc": START.isoformat()}
    together = one(house, "confirm")
    assert together["sentence"] == "4 runs wait to be confirmed: 1, 2, 3, 4."
    assert acts(together) == [
        ("Confirm all", "/operator/confirm"),
        ("Runs", "/operator/#runs"),
    ]
    seen = {"judged_utc": START.isoformat()}
    free = [{"run": 3} | seen, {"run": 4} | seen]
    assert together["acts"][0]["send"] == {"runs": free}, "the others have a warning"


def test_failed_log_ins_are_added_up_and_urgent_while_the_team_s_run_is_armed(
    build: Build,
) -> None:
    house = build()
    old = START.replace(hour=1).isoformat()
    house.store.refusals.keep(
        [
            (None, refusal("ant", 3)),
            (None, refusal("ant", 4)),
            (None, refusal("bee", 4)),
            (None, refusal("cat", 90, old)),
        ]
    )
    found = one(house, "log-ins")
    assert found["sentence"].startswith("7 failed log-ins as ant within ten minutes")
    assert (found["severity"], found["id"]) == ("warning", "log-ins-ant")
    armed_run(house.contest, "ant")
    assert one(house, "log-ins")["severity"] == URGENT


def test_questions_backups_plug_ins_and_troubles_are_findings_too(
    build: Build,
) -> None:
    house = build()
    armed_run(house.contest, "ant")
    house.store.questions.ask("ant", "When?", START, most_open=5)
    house.store.log.append(START, None, BACKUP, sentence="They fail.", failed=True)
    plugged = {"code": "odd", "sentence": "Odd.", "is_advice": False, "about": "Odd."}
    found = look(
        house,
        database_trouble="It is gone.",
        journal_trouble="It stalls.",
        config_changed="It was changed.",
        plugged=(plugged,),
    )
    assert [each["code"] for each in found] == [
        *("database", "journal", "question"),
        *("backup", "config", "odd"),
    ]
    assert found[2]["sentence"] == "ant asks: When?"
    assert acts(found[2]) == [("Answer", "/operator/questions/1/answer")]
    house.store.log.append(START, None, BACKUP, sentence="Again.", failed=False)
    assert "backup" not in [each["code"] for each in look(house)]


def test_an_energy_left_in_the_meter_of_a_station_that_is_gone_needs_a_person(
    build: Build,
) -> None:
    """A renamed station's meter would be armed again as a new one, which resets it: the energy is lost for good."""
    house = build()
    run = opened_run(house.contest, "ant")
    store = house.store
    store.log.append(START, run.id, METER_START)
    late = EnergyMissing.READ_LATER
    store.log.append(START, run.id, ENERGY_MISSING, code=late, reason="It hangs.")
    store.runs.change(run.id, (RunState.OPEN,), state=RunState.CLOSED.value)
    with pytest.raises(RefereeError, match="may hold the energy of run 1 of ant"):
        require_not_needed(store, run.station)
    stations = (Station("Table 2", "sim:"),)
    config = replace(house.contest.config, stations=stations)
    status = StatusReader(replace(house.contest, config=config)).read(START, Known())
    (found,) = [one for one in status["attention"] if one["code"] == "station-gone"]
    assert found["severity"] == URGENT
    assert "it is never read" in found["sentence"]
    store.runs.change(run.id, (RunState.CLOSED,), state="void", void_reason="lost")
    require_not_needed(store, run.station)
