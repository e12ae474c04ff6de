"""Devices that measure energy: the client as a process, the real harness, and a simulated meter over VXI-11."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lpirc_tracks.submissions import measuring_queue
from lpirc_tracks.submissions.entries import require_open
from referee.errors import RefereeError
from referee.store.model_records import JobState
from tests import tflite_models as models
from tests import warm_programs
from tests.contest_day import problem, until
from tests.ports import own_port
from tests.referee.conftest import Instrument
from tests.referee.factories import TEAM, House
from tests.timeouts import TIMEOUT_S
from tests.tracks.submissions.model_days import colour_set, packed, spot_set
from tests.tracks.web.test_work import HELLO, SET, Desk

METER = "YOKOGAWA WT310 SIMULATED F1.03"
ENERGY_TRACK = {"name": "watts", "rule": "dac-sdc"}


def served(made: House, test_set: Any) -> Desk:
    desk = Desk(made, test_set)
    desk.add("pixel-4")
    desk.serve()
    return desk


def integrator(meter: Instrument) -> str:
    with warm_programs.start(["meter", "probe", meter.address, "--json"]) as process:
        printed = process.stdout.read()
    found: str = json.loads(printed)["integrator"]
    return found


def test_a_track_that_needs_energy_opens_with_a_metered_device_which_alone_gets_its_models(
    build: Callable[..., House],
    instrument: Callable[..., Instrument],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measuring_queue, "DEFAULT_LOOP_S", 2.0)
    spots = spot_set(tmp_path)
    ours = served(build(tracks=[ENERGY_TRACK | {"testset": str(spots.folder)}]), spots)
    contest = ours.house.contest
    now = ours.house.clock.utc()
    (track,) = contest.config.tracks

    def open_to(file: str) -> None:
        require_open(contest, track, TEAM, file, now)

    with pytest.raises(
        RefereeError,
        match="no device of the track has reported a meter yet",
    ):
        open_to("m.tflite")
    made = ours.queue(models.detector())
    assert ours.ask("POST", json=HELLO).status_code == 204
    for wrong in ("", "two\nlines", "x" * 1001):
        problem(ours.ask("POST", json=HELLO | {"meter": wrong}), 400, "bad-json")

    client = ours.device(
        "--once", "--meter", instrument("--load", "constant:36W").address
    )
    assert client.wait(TIMEOUT_S) == 0, client.stderr.read()
    document = json.loads(ours.house.store.submissions.result(made.id) or b"")
    energy = document["energy"]
    assert energy["readings"] >= 10
    assert energy["mean_power_w"] == pytest.approx(36, rel=0.01)
    # A simulated one never is.
    assert energy["meter"] == METER
    assert energy["official"] is False
    outcome = ours.submission(made.id).measurement
    assert outcome is not None
    assert outcome.valid is True
    assert outcome.device == "pixel-4"
    assert outcome.meter == METER
    assert outcome.meter_official is False
    assert METER in ours.referee("device", "list")
    monkeypatch.setattr(
        "lpirc_tracks.submissions.entries.require_confined",
        lambda *_: None,
    )
    open_to("m.tflite")

    again = ours.queue(models.detector() + b" ")
    # Now it says nothing of a meter.
    assert ours.ask("POST", json=HELLO).status_code == 204
    with pytest.raises(RefereeError, match="has reported a meter"):
        open_to("m.tflite")
    work = ours.ask("POST", json=HELLO | {"meter": METER}).json()
    assert work["job"] == again.job
    assert work["bench"]["energy_loop_s"] == 2.0
    without = packed(
        document
        | {"energy": None, "model": document["model"] | {"sha256": again.model_sha256}}
    )
    detail = problem(ours.hand_in(work, without), 422, "not-measured")["detail"]
    assert "energy is null" in detail
    assert ours.submission(again.id).measurement is None


def test_a_meter_that_is_lost_in_the_middle_costs_nothing_and_its_device_gets_no_model_until_it_answers(
    build: Callable[..., House],
    instrument: Callable[..., Instrument],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measuring_queue, "DEFAULT_LOOP_S", 3.0)
    colours = colour_set(tmp_path, *SET)
    track = {
        "name": "phones",
        "rule": "lpirc2018-track1",
        "testset": str(colours.folder),
    }
    ours = served(build(tracks=[track]), colours)
    made = ours.queue(models.classifier())
    meter = instrument()
    client = ours.device("--meter", meter.address)
    until(lambda: integrator(meter) == "START")
    meter.die()
    told = client.stderr.readline()
    assert f"No meter answers at {meter.address}" in told
    job = ours.house.store.jobs.get(str(made.job))
    assert job.failures == 0
    assert job.losses == 1
    assert "No meter answers" in str(job.reason)
    assert client.stderr.readline().endswith(
        "This device requests no model until the meter answers.\n"
    )
    assert ours.house.store.jobs.get(str(made.job)).state is JobState.WAITING
    assert ours.submission().measurement is None

    instrument("--port", meter.port)
    until(lambda: ours.sentence() != "")
    assert ours.sentence().startswith("75.000 % of 4 images")
    assert "energy" in json.loads(ours.house.store.submissions.result(made.id) or b"")
    client.send_signal(signal.SIGINT)
    assert client.wait(TIMEOUT_S) == 130


def test_a_device_that_is_interrupted_gives_its_model_and_its_meter_back(
    build: Callable[..., House],
    instrument: Callable[..., Instrument],
    tmp_path: Path,
) -> None:
    colours = colour_set(tmp_path, *SET)
    track = {
        "name": "phones",
        "rule": "lpirc2018-track1",
        "testset": str(colours.folder),
    }
    ours = served(build(tracks=[track]), colours)
    made = ours.queue(models.endless())
    meter = instrument()
    client = ours.device("--meter", meter.address)
    until(lambda: integrator(meter) == "START")
    client.send_signal(signal.SIGINT)
    assert client.wait(TIMEOUT_S) == 130
    assert integrator(meter) == "RESET"
    job = ours.house.store.jobs.get(str(made.job))
    assert job.state == JobState.WAITING
    assert job.failures == 0
    assert job.losses == 0


def test_a_meter_that_does_not_answer_at_the_start_leases_nothing(
    build: Callable[..., House],
    tmp_path: Path,
) -> None:
    colours = colour_set(tmp_path, *SET)
    track = {
        "name": "phones",
        "rule": "lpirc2018-track1",
        "testset": str(colours.folder),
    }
    ours = served(build(tracks=[track]), colours)
    made = ours.queue(models.classifier())
    for address, sentence in (
        (f"TCPIP::127.0.0.1,{own_port()}::INSTR", "No meter answers at"),
        ("nowhere", "'nowhere'"),
    ):
        client = ours.device("--meter", address)
        assert client.wait(TIMEOUT_S) == 1
        (told,) = client.stderr.read().splitlines()
        assert re.match(r"lpirc-client: .", told)
        assert sentence in told
    assert ours.house.store.jobs.get(str(made.job)).state is JobState.WAITING
    assert "never seen" in ours.referee("device", "list")
