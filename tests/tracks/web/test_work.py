"""The device queue over real HTTP: the client as a process with the real harness, leases on a clock that is moved."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import signal
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import requests
from werkzeug.serving import make_server

from lpirc_client.harness.child import LOG_BYTES
from lpirc_score.metrics.evaluation_result import VERSION
from lpirc_testsets import TestSet
from lpirc_tracks.submissions import claims, measuring_queue
from lpirc_tracks.submissions.entries import entry_document
from lpirc_tracks.submissions.kept_models import keep_model
from lpirc_tracks.submissions.oddities import oddities
from lpirc_tracks.submissions.open_track import open_track
from lpirc_tracks.submissions.submitting import measure_again, to_measure_again
from referee.store.model_records import (
    JobKind,
    JobState,
    ModelMeasurement,
    Submission,
    Upload,
)
from referee.web.app import create_app
from referee.web.app_parts import part_of
from referee.web.plugged_pages import PluggedPages
from referee.workers.job_dispatch import LEASE_S
from tests import tflite_models as models
from tests import warm_programs
from tests.confinement import IS_UNCONFINED
from tests.contest_day import called, descendants_of, is_running, problem, until
from tests.ports import own_port
from tests.referee.factories import TEAM, House
from tests.timeouts import TIMEOUT_S
from tests.tracks.submissions.model_days import colour_set, packed, result

SET = (
    ("red", models.RED),
    ("green", models.GREEN),
    ("blue", models.BLUE),
    ("red", models.GREEN),
)
MODEL = b"pretend this is a model"
HELLO = {"name": "pixel-4", "version": f"{VERSION.rpartition('.')[0]}.7"}


@dataclass
class Desk:
    """A served contest with a model track, and the devices on the desk."""

    house: House
    test_set: TestSet
    keys: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=own_port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def referee(self, *words: object) -> str:
        done = called(*map(str, words), "--contest", str(self.house.folder))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def add(self, name: str) -> None:
        self.keys[name] = self.referee("device", "add", name).strip()

    def queue(self, data: bytes, team: str = TEAM) -> Submission:
        name = "handed in.tflite"
        sha256 = hashlib.sha256(data).hexdigest()
        track = self.house.contest.config.tracks[0]
        keep_model(self.house.folder, data, sha256, name)
        digest = open_track(self.house.contest, track.name).digest
        now = self.house.clock.utc()
        given = Submission(
            0,
            "",
            track.name,
            team,
            "public",
            "b",
            name,
            sha256,
            "",
            counts=True,
        )
        made = self.house.store.uploads.receive(
            given,
            Upload(0, now.isoformat(), len(data), None),
            99,
        )
        part = replace(made, testset_digest=digest, job=None)
        assert self.house.store.uploads.admit(made, [part], JobKind.MEASURING, now)
        return self.submission(made.id)

    def submission(self, number: int = 1) -> Submission:
        return self.house.store.submissions.get(number)

    def sentence(self, number: int = 1) -> str:
        outcome = self.submission(number).measurement
        return "" if outcome is None else outcome.sentence

    def serve(self) -> None:
        app = create_app(self.house.contest, self.house.control, self.house.clock)
        self.house.stack.callback(part_of(app, PluggedPages).close)
        server = make_server("127.0.0.1", self.port, app, True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        for end in (server.server_close, thread.join, server.shutdown):
            self.house.stack.callback(end)

    def ask(
        self,
        method: str,
        path: str = "",
        name: str = "pixel-4",
        **more: Any,
    ) -> requests.Response:
        bearing = {"Authorization": f"Bearer {self.keys[name]}"}
        return requests.request(
            method,
            f"{self.url}/v1/jobs{path}",
            headers=bearing,
            timeout=60,
            **more,
        )

    def lease(self, name: str = "pixel-4") -> dict[str, Any]:
        answer = self.ask("POST", name=name, json=HELLO | {"name": name})
        assert answer.status_code == 200, answer.text
        work: dict[str, Any] = answer.json()
        return work

    def hand_in(
        self,
        work: dict[str, Any],
        document: bytes,
        name: str = "pixel-4",
    ) -> requests.Response:
        return self.ask("POST", f"/{work['job']}/result", name, data=document)

    def device(self, *options: str) -> Any:
        """The client, as a process."""
        folder = self.house.folder.parent
        words = [
            "lpirc-client",
            "work",
            self.url,
            "--name",
            "pixel-4",
            "--images",
            str(folder / "kept"),
        ]
        environment = {"LPIRC_PASSWORD": self.keys["pixel-4"], "PATH": "/usr/bin:/bin"}
        process = warm_programs.start([*words, *options], cwd=folder, env=environment)
        for end in (
            process.stdout.close,
            process.stderr.close,
            process.wait,
            process.kill,
        ):
            self.house.stack.callback(end)
        return process


@pytest.fixture
def desk(build: Callable[..., House], tmp_path: Path) -> Callable[..., Desk]:
    def make(*devices: str, **track: object) -> Desk:
        test_set = colour_set(tmp_path, *SET)
        settings = {
            "name": "phones",
            "rule": "lpirc2018-track1",
            "testset": str(test_set.folder),
        }
        track["unconfined"] = IS_UNCONFINED
        made = Desk(build(tracks=[settings | track]), test_set)
        for name in devices:
            made.add(name)
        return made

    return make


def test_a_model_goes_through_the_queue_to_the_board_though_the_referee_was_away(
    desk: Callable[..., Desk],
) -> None:
    ours = desk("pixel-4", device="pixel-4")
    ours.queue(models.classifier())
    assert "in the queue" in ours.referee("model", "list")
    client = ours.device("--once")
    assert client.stderr.readline().rstrip().endswith("waiting for the referee")
    ours.serve()
    assert client.wait(TIMEOUT_S) == 0
    (told,) = client.stderr.read().splitlines()
    assert told.startswith("phones, handed in.tflite: 75.000 % of 4 images")
    (line,) = json.loads(ours.referee("model", "board", "--track", "phones", "--json"))[
        "places"
    ]
    assert line["team"] == TEAM
    assert line["builds"] == 1
    assert ours.submission().measurement.device == "pixel-4"  # type: ignore[union-attr]  # it is measured
    assert "pixel-4  20" in ours.referee("device", "list")
    assert ours.ask("POST", json=HELLO).status_code == 204


def test_a_device_that_is_interrupted_or_killed_gives_the_model_to_another_which_measures_it_once(
    desk: Callable[..., Desk],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The model never answers, here as there.
    monkeypatch.setattr(
        claims,
        "TIMEOUT_S",
        0.5,
    )
    ours = desk("pixel-4", "jetson")
    ours.serve()
    endless = models.endless()
    made = ours.queue(endless)

    def measuring() -> tuple[Any, list[int]]:
        client = ours.device()
        # The harness, and the model's process in it.
        until(lambda: len(descendants_of(client.pid)) >= 2)
        return client, descendants_of(client.pid)

    client, harness = measuring()
    client.send_signal(signal.SIGINT)
    assert client.wait(TIMEOUT_S) == 130
    job = ours.house.store.jobs.get(str(made.job))
    assert job.state == JobState.WAITING
    assert job.failures == 0
    assert job.losses == 0
    assert job.reason == "pixel-4 was interrupted."
    client, more = measuring()
    status_code = ours.ask(
        "POST",
        name="jetson",
        json=HELLO | {"name": "jetson"},
    ).status_code
    assert status_code == 204
    client.kill()
    until(lambda: not any(map(is_running, [*harness, *more])))
    ours.house.clock.advance(LEASE_S + 1)

    work = ours.lease("jetson")
    document = packed(
        result(ours.test_set, endless, [7, 8, 9, 8], device__host="jetson")
    )
    problem(ours.hand_in(work, document), 409, "lease-lost")
    assert ours.sentence() == ""
    told = ours.hand_in(work, document, "jetson").json()["outcome"]
    assert told.startswith(f"{ours.sentence()} In review: the referee could not repeat")
    for name in ("jetson", "pixel-4"):
        late = problem(ours.hand_in(work, document, name), 409, "lease-lost")
        assert (
            late["detail"]
            == "The lease of this job is lost: it was not renewed in time, or another device holds it now."
        )
    job = ours.house.store.jobs.get(str(made.job))
    assert job.state == JobState.DONE
    assert job.losses == 1
    listed = json.loads(ours.referee("model", "board", "--track", "phones", "--json"))
    assert [one["submission"] for one in listed["invalid"]] == [1]
    assert "could not repeat" in listed["invalid"][0]["sentence"]
    assert ours.submission().measurement.device == "jetson"  # type: ignore[union-attr]  # it is measured


def test_a_model_that_crashes_is_an_outcome_and_one_that_no_device_can_measure_costs_nothing(
    desk: Callable[..., Desk],
) -> None:
    ours = desk("pixel-4", submissions_per_day=2)
    ours.serve()
    ours.queue(models.greedy(when_run=True))
    assert ours.device("--once").wait(TIMEOUT_S) == 0
    assert ours.sentence().startswith("handed in.tflite: ")
    assert "memory" in ours.sentence()

    other = ours.queue(models.classifier())
    (kept,) = (ours.house.folder.parent / "kept").iterdir()
    (kept / "00000002.jpg").write_bytes(b"another picture")
    client = ours.device("--once")
    assert client.wait(TIMEOUT_S) == 0
    assert (
        "these are not the track's images; they are removed and fetched again"
        in client.stderr.read()
    )
    assert list(kept.glob("*.jpg")) == []
    document = packed(
        result(ours.test_set, b"another model", [7, 8, 9, 8], device__host="pixel-4")
    )
    for _ in range(2):
        work = ours.lease()
        refused = problem(ours.hand_in(work, document), 422, "not-measured")
        assert "model.sha256" in refused["detail"]
    assert ours.ask("POST", json=HELLO).status_code == 204
    assert ours.sentence(other.id) == refused["detail"]
    job = ours.house.store.jobs.get(str(other.job))
    assert job.state == JobState.FAILED
    assert job.failures == 3
    assert not ours.submission(other.id).counts
    assert ours.submission(1).counts


def test_a_device_s_answers_that_the_referee_does_not_get_are_in_review_until_an_operator_decides(
    desk: Callable[..., Desk],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claims, "LEASE_S", 0.1)
    # The look may take long on a busy machine.
    monkeypatch.setattr(
        measuring_queue,
        "SPARE_RENEWALS",
        10_000,
    )
    renew = measuring_queue.leased
    renewed = []
    monkeypatch.setattr(
        measuring_queue,
        "leased",
        lambda *given: renewed.append(given) or renew(*given),
    )
    ours = desk("pixel-4")
    ours.serve()
    for model, answers in (
        (models.classifier(), [7, 8, 1000, 7]),
        (models.classifier() + b" ", [7, 8, 1000, 8]),
    ):
        ours.queue(model)
        told = ours.hand_in(
            ours.lease(),
            packed(result(ours.test_set, model, answers, device__host="pixel-4")),
        )
    # Beside each of the two requests: the look takes longer than this lease.
    assert len(renewed) > 2
    lie = "the device's answers differ from the referee's own on 1 of 4 images (4)."
    assert told.json()["outcome"].endswith(f"In review: {lie}")

    def places() -> list[int]:
        found = json.loads(
            ours.referee("model", "board", "--track", "phones", "--json")
        )
        return [one["submission"] for one in found["places"]]

    assert places() == [1]
    shown = requests.get(f"{ours.url}/tracks/phones.json", timeout=60).json()
    assert [one["score"] for one in shown["places"]] == [75.0]
    assert shown["in_review"] == 1
    assert shown["failed"] == 0
    assert entry_document(ours.house.store, ours.submission(2))["state"] == "review"
    assert (
        f"in review, {lie.removesuffix('.')}; result as measured: 100.0000: "
        in ours.referee(
            "model",
            "list",
        )
    )
    submissions = ours.house.store.submissions.all("phones")
    assert [one.id for one in to_measure_again(submissions, "public", "b")] == [2]
    doubtful = oddities(
        ours.house.contest.config.tracks[0],
        ours.house.store.submissions.all(),
        "",
    )
    assert [one.submissions for one in doubtful if one.code == "in-review"] == [(2,)]

    ours.referee(
        "model", "confirm", 2, "--reason", "a runtime of its own, checked by hand"
    )
    assert places() == [2]
    again = called(
        "model", "confirm", "2", "--reason", "x", "--contest", str(ours.house.folder)
    )
    assert again.stderr == "referee: Submission 2 is not in review.\n"
    assert any(
        event["detail"].get("doubt") == lie
        for event in ours.house.store.log.newest_after(0, 100)[1]
    )


def test_who_may_ask_and_what_a_device_sees(desk: Callable[..., Desk]) -> None:
    ours = desk("pixel-4", "jetson", device="pixel-4")
    ours.serve()
    ours.queue(models.classifier())
    refused = ours.queue(MODEL)
    told = problem(
        ours.ask("POST", json=HELLO | {"version": "99.0.0"}),
        409,
        "wrong-version",
    )
    assert (
        f"lpirc-client 99.0.0 is incompatible with the referee's {VERSION}"
        in told["detail"]
    )
    detail = problem(ours.ask("POST", name="jetson", json=HELLO), 401, "bad-token")[
        "detail"
    ]
    assert "belongs to device jetson, not to pixel-4" in detail
    status_code = ours.ask(
        "POST",
        name="jetson",
        json=HELLO | {"name": "jetson"},
    ).status_code
    assert status_code == 204

    work = ours.lease()
    assert ours.ask("POST", json=HELLO).status_code == 204  # one at a time
    archive = zipfile.ZipFile(
        io.BytesIO(ours.ask("GET", f"/{work['job']}/images").content)
    )
    assert archive.namelist() == ["1.jpg", "2.jpg", "3.jpg", "4.jpg"]
    assert ours.ask("GET", f"/{work['job']}/model").content == models.classifier()
    for path in ("/model", "/images"):
        problem(ours.ask("GET", f"/{work['job']}{path}", "jetson"), 409, "lease-lost")
    problem(ours.ask("PUT", f"/{'0' * 64}"), 409, "lease-lost")

    ours.referee("model", "withdraw", 1, "--reason", "too late")
    problem(ours.ask("PUT", f"/{work['job']}"), 409, "lease-lost")
    answers = packed(
        result(ours.test_set, models.classifier(), [7, 8, 9, 8], device__host="pixel-4")
    )
    problem(ours.hand_in(work, answers), 409, "lease-lost")
    assert ours.submission().measurement is None
    work = ours.lease()
    error = {
        "code": "wrong-input",
        "sentence": f"{refused.model_sha256}: its input is int32.",
        "facts": {},
    }
    answer = ours.ask("POST", f"/{work['job']}/failed", json={"error": error})
    assert answer.json() == {"outcome": "handed in.tflite: its input is int32."}
    assert ours.submission(refused.id).counts
    ours.referee("model", "restore", 1, "--reason", "in time after all")
    work = ours.lease()
    assert ours.hand_in(work, answers).status_code == 200
    assert ours.submission().measurement is not None
    ours.referee("device", "remove", "pixel-4")
    problem(ours.ask("POST", json=HELLO), 401, "bad-token")
    where = f"--contest {ours.house.folder}"
    said = called("device", "remove", "pixel-4", *where.split()).stderr
    advice = f"see: referee device list {where}"
    assert said == f"referee: There is no device 'pixel-4'; {advice}\n"
    assert {"device-add", "device-remove"} <= {
        event["detail"].get("action")
        for event in ours.house.store.log.newest_after(0, 100)[1]
    }


def test_a_job_that_is_cancelled_withdraws_what_was_handed_in(
    desk: Callable[..., Desk],
) -> None:
    ours = desk("pixel-4")
    made = ours.queue(models.classifier())
    assert (
        ours.house.store.entries.cancel_jobs(
            [str(made.job), "another"],
            "ops",
            ours.house.clock.utc(),
        )
        == 1
    )
    assert ours.submission().withdrawn == "its job was cancelled"


def test_a_model_that_a_device_measured_can_be_measured_again(
    desk: Callable[..., Desk],
) -> None:
    ours = desk("pixel-4")
    ours.serve()
    made = ours.queue(MODEL)
    host = platform.node()
    ours.add(host)
    away = ours.test_set.folder.rename(ours.test_set.folder.with_name("away"))
    assert ours.ask("POST", name=host, json=HELLO | {"name": host}).status_code == 204
    job = ours.house.store.jobs.get(str(made.job))
    assert job.state == JobState.WAITING
    assert job.failures == 0
    assert (
        job.reason
        == "The track phones has wrong settings; the referee's log says which."
    )
    away.rename(ours.test_set.folder)
    answers = [7, 8, 9, 8]
    lie = packed(result(ours.test_set, MODEL, answers, device__host="another"))
    document = packed(
        result(ours.test_set, MODEL, answers, device__host=platform.node())
    )
    work = ours.lease(platform.node())
    refused = problem(ours.hand_in(work, lie, platform.node()), 422, "not-measured")
    assert (
        f"the result document must be from lpirc-harness on {platform.node()!r}, not on 'another'"
        in refused["detail"]
    )
    ours.hand_in(ours.lease(platform.node()), document, platform.node())
    contest = ours.house.contest
    track = open_track(ours.house.contest, "phones")
    again = packed(
        result(ours.test_set, MODEL, [7, 8, 9, 8], device__host=platform.node())
    )
    later = measure_again(
        contest,
        track,
        ours.submission(made.id),
        "2",
        lambda _: again,
        ours.house.clock,
    )
    assert later.job is None
    assert (later.measurement and later.measurement.valid) is True


def test_the_public_board_says_who_measured_what(
    desk: Callable[..., Desk],
    tmp_path: Path,
) -> None:
    ours = desk()
    ours.serve()
    elsewhere = {
        "elsewhere_version": 1,
        "task": "classification",
        "images": {
            "count": 4,
            "sha256": open_track(ours.house.contest, "phones").images_sha256,
        },
        "runtime": "QNN",
        "device": {"name": "board-7"},
        "latency": {"mean_ms": 1.92, "counted": 100},
        "predictions": {"labels": [[1, 7, 0.9], [2, 8, 0.9]]},
    }
    document = tmp_path / "found.json"
    document.write_text(json.dumps(elsewhere))
    words = (
        "--track",
        "phones",
        "--team",
        TEAM,
        "--result",
        document,
        "--measured-by",
        "Acme cloud",
    )
    ours.referee("model", "submit", *words)
    shown = requests.get(f"{ours.url}/tracks/phones.json", timeout=60).json()
    assert [
        (one["team"], one["measured_by"], one["official"]) for one in shown["places"]
    ] == [(TEAM, "Acme cloud", True)]
    page = requests.get(f"{ours.url}/tracks/phones", timeout=60).text
    assert f"{TEAM} (measured by Acme cloud, not by the organiser)" in page
    assert "This board uses the public images; there will be no final board." in page
    assert shown["published"] is None
    assert shown["closed"] is False


def test_removing_the_only_device_of_a_track_says_that_its_models_wait(
    desk: Callable[..., Desk],
) -> None:
    ours = desk("pixel-4", device="pixel-4")
    ours.queue(models.classifier())
    done = called("device", "remove", "pixel-4", "--contest", str(ours.house.folder))
    assert done.returncode == 0
    assert (
        "models of the track phones are waiting, and only pixel-4 may measure them"
        in done.stderr
    )
    ours.add("another")
    done = called("device", "remove", "another", "--contest", str(ours.house.folder))
    assert done.stderr == ""


def has_begun_a_model(process: int) -> bool:
    """Whether it is the process of a model, and dies with its harness by now: it limits its files after that."""
    try:
        limits = Path(f"/proc/{process}/limits").read_text()
    except OSError:  # it has ended
        return False
    return re.search(rf"^Max file size +{LOG_BYTES} ", limits, re.MULTILINE) is not None


def test_a_harness_that_is_stopped_is_ended_with_its_model_and_costs_no_attempt(
    desk: Callable[..., Desk],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measuring_queue, "limit_s", lambda track: 6.0)
    ours = desk("pixel-4")
    ours.serve()
    made = ours.queue(models.endless())
    client = ours.device("--once")
    until(lambda: any(map(has_begun_a_model, descendants_of(client.pid))))
    harness = descendants_of(client.pid)
    for process in harness:
        os.kill(process, signal.SIGSTOP)
    assert client.wait(TIMEOUT_S) == 0
    until(lambda: not any(map(is_running, harness)))
    job = ours.house.store.jobs.get(str(made.job))
    assert job.state == JobState.WAITING
    assert job.failures == 1
    assert "did not finish within 6 s, the track's limit, and was ended" in str(
        job.reason
    )
    assert ours.sentence() == ""


def test_a_device_that_renews_its_lease_for_ever_loses_it(
    desk: Callable[..., Desk],
) -> None:
    ours = desk("pixel-4", "jetson", devices=["pixel-4", "jetson"])
    ours.serve()
    made = ours.queue(MODEL)
    work = ours.lease()
    images = len(ours.test_set.images)
    assert work["limit_s"] == 300 + 10 * images * 0.03
    for _ in range(work["renewals"]):
        assert ours.ask("PUT", f"/{work['job']}").status_code == 204
    refused = problem(ours.ask("PUT", f"/{work['job']}"), 409, "lease-lost")
    assert refused["detail"].startswith(
        "pixel-4 did not finish before the last renewal of its lease"
    )
    job = ours.house.store.jobs.get(str(made.job))
    assert job.state == JobState.WAITING
    assert job.failures == 0
    assert job.losses == 1
    assert job.reason == refused["detail"]
    # The next lease begins with all of its renewals.
    assert ours.lease("jetson")["job"] == work["job"]
    assert ours.ask("PUT", f"/{work['job']}", "jetson").status_code == 204


def test_several_devices_of_a_track_measure_a_model_each_and_none_is_thrown_away(
    desk: Callable[..., Desk],
) -> None:
    ours = desk("pixel-4", "jetson", "stranger", devices=["pixel-4", "jetson"])
    ours.serve()
    made = {one.job: one for one in (ours.queue(MODEL), ours.queue(b"another model"))}
    data = {
        one.model_sha256: content
        for one, content in zip(made.values(), (MODEL, b"another model"), strict=True)
    }
    works = {name: ours.lease(name) for name in ("pixel-4", "jetson")}
    assert works["pixel-4"]["job"] != works["jetson"]["job"]
    status_code = ours.ask(
        "POST",
        name="stranger",
        json=HELLO | {"name": "stranger"},
    ).status_code
    assert status_code == 204
    for name, work in works.items():
        document = packed(
            result(
                ours.test_set,
                data[work["model"]["sha256"]],
                [7, 8, 9, 8],
                device__host=name,
            )
        )
        assert ours.hand_in(work, document, name).status_code == 200
    assert {ours.submission(one.id).measurement.device for one in made.values()} == set(
        works
    )  # type: ignore[union-attr]


def test_without_named_devices_a_second_one_waits_until_the_first_has_measured_or_failed(
    desk: Callable[..., Desk],
) -> None:
    ours = desk("pixel-4", "jetson")
    ours.serve()
    ours.queue(MODEL)
    second = ours.queue(b"another model")
    work = ours.lease()
    status_code = ours.ask(
        "POST",
        name="jetson",
        json=HELLO | {"name": "jetson"},
    ).status_code
    assert status_code == 204
    ours.house.clock.advance(LEASE_S + 1)
    other = ours.lease("jetson")  # the first one vanished
    assert other["job"] == work["job"]
    document = packed(result(ours.test_set, MODEL, [7, 8, 9, 8], device__host="jetson"))
    assert ours.hand_in(other, document, "jetson").status_code == 200
    # The track is the other's now.
    assert ours.ask("POST", json=HELLO).status_code == 204
    job = ours.house.store.jobs.get(str(second.job))
    assert job.failures == 0
    assert ours.lease("jetson")["job"] == second.job


def test_a_result_of_a_device_whose_track_became_anothers_is_no_failure_of_the_entry(
    desk: Callable[..., Desk],
) -> None:
    ours = desk("pixel-4", "jetson")
    ours.serve()
    first = ours.queue(MODEL)
    work = ours.lease()
    digest = open_track(ours.house.contest, "phones").digest
    meanwhile = Submission(
        0,
        "",
        "phones",
        TEAM,
        "public",
        "b",
        "m.tflite",
        "0" * 64,
        digest,
        counts=True,
    )
    accepted = ours.house.store.submissions.accept(
        meanwhile,
        ours.house.clock.utc(),
        99,
    )
    utc = ours.house.clock.utc().isoformat()
    ours.house.store.submissions.add_measurement(
        accepted.id,
        ModelMeasurement(utc, True, "", device="jetson"),
    )
    document = packed(
        result(ours.test_set, MODEL, [7, 8, 9, 8], device__host="pixel-4")
    )
    problem(ours.hand_in(work, document), 422, "not-measured")
    job = ours.house.store.jobs.get(str(first.job))
    assert job.state == JobState.WAITING
    assert job.failures == 0
    assert "lists measurements on 'jetson'" in str(job.reason)
