"""Pools of devices over real HTTP: they calibrate first, and one that fails or contradicts itself fails alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import requests

from lpirc_tracks.submissions import calibrating, calibration
from lpirc_tracks.submissions.calibration import AGAIN_AFTER
from lpirc_tracks.submissions.measuring_queue import LEASE_S
from referee.store.model_records import JobState
from tests import tflite_models as models
from tests.confinement import IS_UNCONFINED
from tests.contest_day import called, problem
from tests.referee.factories import House
from tests.timeouts import TIMEOUT_S
from tests.tracks.submissions.model_days import (
    colour_set,
    packed,
    result,
    sha256,
)
from tests.tracks.web.test_work import HELLO, MODEL, SET, Desk, desk

__all__ = ["desk"]

CALIBRATION = models.classifier()
OURS = models.classifier() + b" "
THEIRS = models.classifier() + b"  "
RIGHT = [7, 8, 1000, 7]
FAIR = ("pixel-4", "pixel-5", "pixel-6")
MS = ("min_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms", "mean_ms")


def steady(ms: float) -> dict[str, Any]:
    """What makes a document one of inferences that all take as long."""
    found: dict[str, Any] = {f"latency__{name}": ms for name in MS}
    return found | {"latency__repeat_means_ms": [ms], "latency__total_s": ms * 3 / 1000}


class Pool(Desk):
    """A desk whose devices hand in documents at a latency of their own."""

    def measure(
        self,
        name: str,
        ms: float,
        work: dict[str, Any] | None = None,
        answers: list[int] | None = None,
    ) -> requests.Response:
        work = work or self.lease(name)
        model = self.ask("GET", f"/{work['job']}/model", name).content
        document = result(
            self.test_set,
            model,
            answers or RIGHT,
            device__host=name,
            **steady(ms),
        )
        return self.hand_in(work, packed(document), name)

    def told(self, name: str, ms: float) -> str:
        answer = self.measure(name, ms)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["outcome"])

    def gets_nothing(self, name: str) -> bool:
        return (
            self.ask("POST", name=name, json=HELLO | {"name": name}).status_code == 204
        )

    def listed(self, name: str) -> dict[str, Any]:
        found = json.loads(self.referee("device", "list", "--json"))
        return next(one for one in found if one["name"] == name)

    def no_work(self, name: str) -> str:
        return str(self.listed(name)["tracks"][0]["no_work"])

    def logged(self, kind: str) -> list[dict[str, Any]]:
        return [
            one["detail"]
            for one in self.house.store.log.newest_after(0, 1000)[1]
            if one["kind"] == kind
        ]


@pytest.fixture
def pool(
    build: Callable[..., House],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Pool]:
    # The referee's own look at the answers has its tests beside `claims`; here it would only take time.
    monkeypatch.setattr("lpirc_tracks.web.device_routes.doubt_of", lambda *given: None)

    def make(
        *devices: str,
        calibration: bytes = b"",
        **track: object,
    ) -> Pool:
        test_set = colour_set(tmp_path, *SET)
        settings: dict[str, object] = {"name": "phones", "rule": "lpirc2018-track1"}
        settings |= {"testset": str(test_set.folder), "devices": list(devices)} | track
        settings["unconfined"] = IS_UNCONFINED
        if calibration:
            (tmp_path / "calibration.tflite").write_bytes(calibration)
            settings |= {"calibration": str(tmp_path / "calibration.tflite")}
        made = Pool(build(tracks=[settings]), test_set)
        for name in devices:
            made.add(name)
        made.serve()
        return made

    return make


def test_a_device_that_fails_each_time_does_not_use_up_an_entry_that_another_device_can_take(
    pool: Callable[..., Pool],
) -> None:
    ours = pool("pixel-4", "pixel-5")
    assert ours.gets_nothing("pixel-5")  # it is there, though nothing waits
    made = ours.queue(OURS)
    work = ours.lease("pixel-4")
    problem(
        ours.ask("POST", f"/{work['job']}/failed", data=b"it hangs"),
        422,
        "not-measured",
    )
    assert ours.gets_nothing("pixel-4")
    (shown,) = json.loads(ours.referee("jobs", "--json"))
    assert shown["failures"] == 1
    assert shown["failed_on"] == ["pixel-4"]
    assert ours.told("pixel-5", 2.0)

    made = ours.queue(THEIRS)
    assert ours.lease("pixel-4")["job"] == made.job
    ours.house.clock.advance(LEASE_S + 1)  # it vanished, and comes back
    assert ours.gets_nothing("pixel-4")
    work = ours.lease("pixel-5")
    too = ours.ask("POST", f"/{work['job']}/failed", "pixel-5", data=b"it hangs, too")
    problem(too, 422, "not-measured")
    # Nobody is left on whom it has not failed.
    assert ours.lease("pixel-5")["job"] == made.job
    ours.ask("DELETE", f"/{made.job}", "pixel-5")

    lonely = ours.queue(MODEL)
    ours.house.store.entries.cancel_jobs([str(made.job)], "ops", ours.house.clock.utc())
    work = ours.lease("pixel-4")
    problem(
        ours.ask("POST", f"/{work['job']}/failed", data=b"it hangs"),
        422,
        "not-measured",
    )
    assert ours.gets_nothing("pixel-4")
    # The other is switched off.
    ours.house.clock.advance(calibrating.PRESENT.total_seconds() + 1)
    assert ours.lease("pixel-4")["job"] == lonely.job


def test_a_device_on_which_every_model_crashes_spoils_no_entry_that_another_device_can_take(
    pool: Callable[..., Pool],
) -> None:
    ours = pool("pixel-4", "pixel-5")
    assert ours.gets_nothing("pixel-5")
    crash = json.dumps(
        {
            "error": {
                "code": "model-crashed",
                "sentence": "m.tflite crashed.",
                "facts": {},
            }
        }
    )

    def crashes(name: str) -> requests.Response:
        work = ours.lease(name)
        return ours.ask("POST", f"/{work['job']}/failed", name, data=crash.encode())

    made = ours.queue(OURS)
    told = problem(crashes("pixel-4"), 422, "not-measured")
    assert "Another device will now try the model" in told["detail"]
    assert ours.gets_nothing("pixel-4")
    ours.told("pixel-5", 2.0)
    outcome = ours.house.store.submissions.get(made.id).measurement
    assert outcome is not None
    assert outcome.valid

    faulty = ours.queue(THEIRS)
    problem(crashes("pixel-4"), 422, "not-measured")
    assert "crashed" in crashes("pixel-5").json()["outcome"]
    outcome = ours.house.store.submissions.get(faulty.id).measurement
    assert outcome is not None
    assert not outcome.valid
    assert not outcome.unstable


def test_devices_calibrate_first_and_one_that_is_not_like_the_others_gets_no_work(
    pool: Callable[..., Pool],
) -> None:
    ours = pool(*FAIR, "slow", "wrong", calibration=CALIBRATION)
    made = ours.queue(OURS)
    works = {name: ours.lease(name) for name in (*FAIR, "slow", "wrong")}
    assert {one["model"]["sha256"] for one in works.values()} == {sha256(CALIBRATION)}
    first = ours.measure("pixel-4", 2.0, works["pixel-4"]).json()["outcome"]
    assert (
        "its calibration cannot be compared until another device is calibrated: pixel-5, pixel-6"
        in first
    )
    assert ours.gets_nothing("pixel-4")
    ours.measure("pixel-5", 2.04, works["pixel-5"])
    ours.measure("pixel-6", 1.96, works["pixel-6"])
    told = ours.measure("slow", 2.3, works["slow"]).json()["outcome"]
    off = "its calibration took 2.300 ms, +13.9% from its pool's median of 2.020 ms"
    assert told.startswith(f"calibrated, but gets no work: {off}")
    ours.measure("wrong", 2.0, works["wrong"], [7, 8, 9, 7])

    for name, why in (
        ("slow", "2.300 ms, +15.0%"),
        ("wrong", "accuracy 50.000 %, -25.000 points from the median"),
    ):
        assert ours.gets_nothing(name)
        assert why in ours.no_work(name)
    assert "slow  20" in (text := ours.referee("device", "list"))
    assert "  phones: no work: its calibration took 2.300 ms, +15.0%" in text
    assert "  phones: calibrated: 2.000 ms, +0.0%" in text
    (event,) = [
        one for one in ours.logged("device-calibrated") if one["device"] == "slow"
    ]
    assert event["no_work"].startswith(off)
    assert ours.lease("pixel-4")["job"] == made.job
    store = ours.house.store
    # No team paid for it.
    assert [one.id for one in store.submissions.all()] == [made.id]
    places = json.loads(ours.referee("model", "board", "--track", "phones", "--json"))[
        "places"
    ]
    assert places == []
    ours.referee("device", "disable", "pixel-4", "--reason", "its fan is broken")
    problem(ours.ask("PUT", f"/{made.job}", "pixel-4"), 409, "lease-lost")
    job = store.jobs.get(str(made.job))
    assert job.state == JobState.WAITING
    assert job.failures == 0
    assert job.losses == 0
    assert job.failed_on == ()
    assert ours.lease("pixel-5")["job"] == made.job


def test_what_a_device_may_not_do_with_a_calibration(pool: Callable[..., Pool]) -> None:
    ours = pool("pixel-4", "liar", calibration=CALIBRATION)
    works = {name: ours.lease(name) for name in ("pixel-4", "liar")}
    assert ours.measure("pixel-4", 2.0, works["pixel-4"]).status_code == 200
    theirs = packed(result(ours.test_set, CALIBRATION, RIGHT, device__host="liar"))
    for name in ("liar", "pixel-4"):  # another's, and again
        problem(ours.hand_in(works["pixel-4"], theirs, name), 409, "lease-lost")
    assert len(ours.house.store.calibrations.of_track("phones")) == 2

    lies = (
        packed(result(ours.test_set, OURS, RIGHT, device__host="liar")),
        packed(result(ours.test_set, CALIBRATION, RIGHT, device__host="pixel-4")),
        packed(
            result(
                ours.test_set,
                CALIBRATION,
                RIGHT,
                device__host="liar",
                latency__mean_ms=0.5,
            )
        ),
    )
    for lie in lies:
        problem(ours.hand_in(works["liar"], lie, "liar"), 422, "not-measured")
        assert (
            ours.listed("liar")["disabled"]
            or ours.lease("liar")["job"] == works["liar"]["job"]
        )
    assert ours.listed("liar")["disabled"].startswith(
        "its calibration on phones failed 3 times; last error: "
    )
    ours.add("liar")  # another key ends nothing
    assert ours.gets_nothing("liar")
    made = ours.queue(OURS)
    # Which has nobody to wait for any more.
    assert ours.lease("pixel-4")["job"] == made.job


def test_a_device_whose_calibrations_differ_is_disabled_until_an_operator_enables_it(
    pool: Callable[..., Pool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calibration, "AGAIN_AFTER_RESULTS", 1)
    ours = pool(*FAIR, calibration=CALIBRATION)
    for name in FAIR:
        ours.told(name, 2.0)
    assert ours.gets_nothing("pixel-4")
    ours.queue(OURS)
    assert ours.told("pixel-4", 7.0)  # of a team's model
    assert ours.told("pixel-4", 2.05).startswith("calibrated")  # after so many results
    assert ours.gets_nothing("pixel-4")
    # The command's clock cannot be set forward.
    monkeypatch.setattr(
        calibration,
        "AGAIN_AFTER",
        timedelta(0),
    )
    assert ours.told("pixel-4", 2.01).startswith("calibrated")
    said = "its calibrations 1 and 7 differ: 2.000 and 2.500 ms, 25.0% apart; at most 5% is allowed."
    work = ours.lease("pixel-5")
    assert ours.told("pixel-4", 2.5) == f"pixel-4 is disabled: {said}"
    assert ours.logged("device-disabled") == [{"device": "pixel-4", "reason": said}]
    assert "disabled since 20" in (text := ours.referee("device", "list"))
    assert said in text
    assert ours.measure("pixel-5", 2.0, work).status_code == 200
    made = ours.queue(THEIRS)
    assert ours.gets_nothing("pixel-4")
    monkeypatch.setattr(calibration, "AGAIN_AFTER", AGAIN_AFTER)

    where = ("--contest", str(ours.house.folder))
    stderr = called("device", "enable", "pixel-4", *where).stderr
    assert "Missing option '--reason'" in stderr
    ours.referee("device", "enable", "pixel-4", "--reason", "it has a new battery")
    # What was before is not compared.
    assert ours.told("pixel-4", 2.06).startswith("calibrated: 2.060 ms")
    assert ours.lease("pixel-4")["job"] == made.job
    acts = [
        one for one in ours.logged("operator") if one.get("action") == "device-enable"
    ]
    assert [(one["reason"], one["disabled"]) for one in acts] == [
        ("it has a new battery", said)
    ]


@pytest.mark.parametrize("sound", [True, False])
def test_a_device_whose_results_for_a_model_differ_calibrates_before_it_measures_on(
    pool: Callable[..., Pool],
    sound: bool,
) -> None:
    ours = pool("pixel-4", calibration=CALIBRATION)
    ours.told("pixel-4", 2.0)
    ours.queue(OURS)
    assert ours.told("pixel-4", 3.0)
    ours.house.store.teams.add("omega", "hash", ours.house.clock.utc())
    again = ours.queue(OURS, "omega")
    job = ours.lease("pixel-4")
    refused = problem(ours.measure("pixel-4", 4.0, job), 422, "not-measured")["detail"]
    assert "3.000 and 4.000 ms, 33.3% apart; at most 5% is allowed" in refused
    kept = ours.house.store.jobs.get(str(again.job))
    assert kept.state == JobState.WAITING
    assert kept.failures == 0
    assert kept.losses == 0
    assert [one["submission"] for one in ours.logged("device-doubted")] == [again.id]
    work = ours.lease("pixel-4")
    assert work["model"]["sha256"] == sha256(CALIBRATION)
    told = ours.measure("pixel-4", 2.0 if sound else 2.8, work).json()["outcome"]
    if sound:  # so it is the model that differs, and it is not measured again and again
        assert told.startswith("calibrated")
        assert ours.told("pixel-4", 4.0)
        assert ours.submission(again.id).measurement is not None
    else:
        assert told.startswith("pixel-4 is disabled: its calibrations 1 and 2 differ")
        assert ours.gets_nothing("pixel-4")
        assert ours.house.store.jobs.get(str(again.job)).failures == 0


def test_two_devices_with_one_key_have_one_lease_between_them(
    pool: Callable[..., Pool],
) -> None:
    ours = pool("pixel-4", "pixel-5")
    for data in (OURS, THEIRS, MODEL):
        ours.queue(data)
    with ThreadPoolExecutor(8) as askers:
        greeting = HELLO | {"name": "pixel-4"}
        answers = list(
            askers.map(
                lambda _: ours.ask("POST", name="pixel-4", json=greeting),
                range(8),
            )
        )
    assert sorted(one.status_code for one in answers) == [200, *[204] * 7]
    assert [one.worker for one in ours.house.store.jobs.all(JobState.LEASED)] == [
        "pixel-4"
    ]
    work = next(one.json() for one in answers if one.status_code == 200)
    assert ours.measure("pixel-4", 2.0, work).status_code == 200
    problem(ours.hand_in(work, b"{}"), 409, "lease-lost")


def test_a_calibration_model_that_cannot_be_read_is_said_and_costs_nobody_anything(
    pool: Callable[..., Pool],
    tmp_path: Path,
) -> None:
    ours = pool("pixel-4", calibration=CALIBRATION)
    made = ours.queue(OURS)
    (tmp_path / "calibration.tflite").unlink()
    assert ours.gets_nothing("pixel-4")
    assert "the calibration model is not available" in ours.no_work("pixel-4")
    (tmp_path / "calibration.tflite").write_bytes(CALIBRATION)
    assert ours.told("pixel-4", 2.0).startswith("calibrated")
    assert ours.told("pixel-4", 2.0)
    assert ours.submission(made.id).measurement is not None


def test_the_client_calibrates_and_the_referee_repeats_its_answers(
    desk: Callable[..., Desk],
    tmp_path: Path,
) -> None:
    (tmp_path / "steady.tflite").write_bytes(CALIBRATION)
    ours = desk(
        "pixel-4",
        device="pixel-4",
        calibration=str(tmp_path / "steady.tflite"),
    )
    ours.serve()
    client = ours.device("--once")
    assert client.wait(TIMEOUT_S) == 0
    (told,) = client.stderr.read().splitlines()
    assert told.startswith("phones, model.tflite: calibrated: ")
    (made,) = ours.house.store.calibrations.of_track("phones")
    assert made.accuracy_percent == 75.0
    assert made.doubt is None
