"""Replays for everyone: of published runs only, as they stood at the freeze, and without what is worth points."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient
from numpy.typing import NDArray

from lpirc_score import Detections, evaluate
from lpirc_testsets import TestSet, read_ground_truth
from referee.clock import Clock
from referee.contest import Contest, create_contest, open_contest
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.judging.replay_publisher import ReplayPublisher
from referee.runs.run_control import RunControl
from referee.store.records import Run, RunState
from referee.web.app import create_app
from tests.contest_day import PROBLEM
from tests.referee.factories import START, config_text
from tests.referee.judging.judged_runs import armed_run, closed_run

Rows = NDArray[np.float64]
SECRET_UNTIL = START + timedelta(days=1)
LATER_S = 2 * 86400.0
TOLD = """
form contest run team station heat closed_by images window_s official elapsed_s boxes missing posts.at_s posts.rows
final.map final.energy_wh final.score final.needs_review frames.served_s frames.answered_s left_out.images
left_out.boxes steps.at_s steps.energy_wh steps.served steps.answered steps.detections steps.power_at_s steps.power_w
"""


class SetClock(Clock):
    """It shows what the test sets."""

    seconds = 0.0

    def monotonic_s(self) -> float:
        return self.seconds

    def utc(self) -> datetime:
        return datetime.fromtimestamp(START.timestamp() + self.seconds, UTC)


@dataclass
class Hall:
    """A contest, everyone's client, and what publishes beside the server."""

    contest: Contest
    clock: SetClock
    client: FlaskClient

    def judged(self, team: str, seed: int = 0, energy_wh: float = 1.0) -> Run:
        run = closed_run(self.contest, team, energy_wh, seed)
        judge(self.contest, run.id, self.clock)
        return self.contest.store.runs.get(run.id)

    def publish(self) -> None:
        """Let the processes beside the server do what they do each second, until nothing is left to do."""
        Publisher(self.contest, self.clock).tick()
        for _ in self.contest.store.runs.find():
            ReplayPublisher(self.contest, self.clock).tick()
        self.clock.seconds += 1.0

    def get(self, path: str) -> Any:
        with self.client.get(path, headers={"Accept": "text/html"}) as answer:
            answer.get_data()
            return answer

    def course(self, run: int) -> Any:
        answer = self.get(f"/replay/{run}/course.json")
        return answer.json if answer.status_code == 200 else answer.status_code

    def runs(self) -> list[int]:
        answer = self.get("/replay/runs.json").json
        assert answer is not None
        return [one["run"] for one in answer["runs"]]


@pytest.fixture
def make(tmp_path: Path, small_set: TestSet) -> Iterator[Callable[..., Hall]]:
    with ExitStack() as stack:

        def made(**keys: object) -> Hall:
            create_contest(tmp_path / "day", config_text(small_set, **keys))
            contest = stack.enter_context(open_contest(tmp_path / "day"))
            clock = SetClock()
            control = RunControl(contest, clock)
            stack.callback(control.shutdown)
            client = create_app(contest, control, clock).test_client()
            return Hall(contest, clock, client)

        yield made


@pytest.fixture
def hall(make: Callable[..., Hall]) -> Hall:
    return make()


def with_date(contest: Contest) -> None:
    """Set the time until which the ground truth is secret: it is read at the start."""
    object.__setattr__(contest.config, "ground_truth_secret_until", SECRET_UNTIL)


def test_a_published_run_can_be_played_by_everyone_with_the_figures_of_the_board(
    hall: Hall,
) -> None:
    run = hall.judged("ant")
    assert hall.runs() == []
    hall.publish()
    assert hall.runs() == [run.id]
    found = hall.course(run.id)
    place = hall.get("/board.json").json["ranking"][0]
    for name in ("map", "energy_wh", "score"):
        assert found["final"][name] == place[name]
    assert found["steps"]["answered"][-1] == run.images
    assert found["steps"]["energy_wh"][-1] == pytest.approx(run.energy_wh, rel=1e-5)
    for path in ("/replay", f"/replay/{run.id}", "/replay?view=projector"):
        assert hall.get(path).status_code == 200


def test_no_run_that_is_not_on_the_board_can_be_played(hall: Hall) -> None:
    void = hall.judged("ant")
    judged = (RunState.JUDGED,)
    hall.contest.store.runs.change(void.id, judged, state="void", void_reason="so")
    closed = closed_run(hall.contest, "bee")
    armed = armed_run(hall.contest, "cat", station="two")
    hall.judged("dog")
    hall.publish()
    for number in (void.id, closed.id, armed.id, 99):
        for path in (
            f"/replay/{number}",
            f"/replay/{number}/course.json",
            f"/replay/{number}/images/1",
            f"/replay/4/{number}",
        ):
            answer = hall.get(path)
            assert answer.status_code == 404, path
            assert answer.content_type == PROBLEM
            assert answer.json["code"] == "replay-unknown"


def test_after_the_freeze_nothing_newer_can_be_played(hall: Hall) -> None:
    early = hall.judged("ant")
    hall.publish()
    before = hall.get(f"/replay/{early.id}/course.json").data
    hall.contest.store.published.freeze(hall.clock.utc(), "")
    late = hall.judged("bee", energy_wh=0.1)
    with hall.contest.store.database.transaction() as connection:
        connection.execute("UPDATE scores SET map = 0.125 WHERE run = ?", (early.id,))
    hall.publish()
    assert hall.runs() == [early.id]
    assert hall.course(late.id) == 404
    assert hall.get(f"/replay/{early.id}/course.json").data == before


def test_a_freeze_that_is_due_but_not_yet_made_hides_new_replays(
    make: Callable[..., Hall],
) -> None:
    hall = make()
    run = hall.judged("ant")
    Publisher(hall.contest, hall.clock).tick()
    freeze_at = START + timedelta(seconds=0.5)
    object.__setattr__(hall.contest.config, "freeze_at", freeze_at)
    hall.clock.seconds = 1.0
    ReplayPublisher(hall.contest, hall.clock).tick()
    assert hall.contest.store.replays.get(run.id) is None


def test_a_replay_of_other_figures_than_those_on_the_board_is_not_shown(
    hall: Hall,
) -> None:
    """A run judged again while its replay is being made, or by whoever wrote into the table."""
    run = hall.judged("ant")
    hall.publish()
    with hall.contest.store.database.transaction() as connection:
        connection.execute("UPDATE replays SET made_of = '[0.9, 1.0, 0.9]'")
    assert hall.runs() == []
    assert hall.course(run.id) == 404
    hall.publish()
    assert hall.runs() == [run.id], "it is made again"


def leaves(document: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every value within a document, with where it is."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield from leaves(value, f"{path}.{name}")
    elif isinstance(document, list):
        for value in document:
            yield from leaves(value, path)
    else:
        yield path, document


def test_while_teams_may_run_again_no_box_no_size_and_no_map_over_time_is_told(
    hall: Hall,
) -> None:
    run = hall.judged("ant")
    hall.publish()
    found = hall.course(run.id)
    told = {path for path, _ in leaves(found)}
    assert told == {f".{name}" for name in TOLD.split()}
    assert found["boxes"] is None
    answer = hall.get(f"/replay/{run.id}/images/1")
    assert (answer.status_code, answer.json["code"]) == (404, "image-unknown")


def matched(weak: Rows, boxes: dict[str, list[Any]]) -> Rows:
    """The rival's answers: for each of its images the other's frame whose boxes fit its own weak ones best."""
    names = ("category", "confidence", "x", "y", "width", "height")
    theirs = np.column_stack([boxes[name] for name in names]).astype(float)
    frame = np.array(boxes["frame"])
    frames = np.unique(frame)
    answers = []
    for image in np.unique(weak[:, 0]):
        own = weak[weak[:, 0] == image]
        distances = [distance(own, theirs[frame == one]) for one in frames]
        best = theirs[frame == frames[np.argmin(distances)]]
        first = best[:, 2:4]
        last = first + best[:, 4:] - 1
        number = np.full(len(best), image)
        answers.append(np.column_stack([number, best[:, :2], first, last]))
    return np.concatenate(answers)


def distance(own: Rows, theirs: Rows) -> float:
    """How far the corners of one's own boxes are from the next ones of a frame of theirs, on average."""
    corners = own[:, None, 3:5]
    gaps = np.abs(corners - theirs[None, :, 2:4])
    nearest = gaps.sum(2).min(1)
    return float(nearest.mean())


def map_of(hall: Hall, rows: Rows) -> float:
    truth = read_ground_truth(hall.contest.test_set.folder)
    return evaluate(truth, Detections.from_rows(rows), "lpirc").map


def test_a_rival_with_a_weak_detector_would_gain_by_another_s_boxes_and_gets_none(
    hall: Hall,
) -> None:
    """The attack on boxes in a blank frame: whose frame it is is seen from where its boxes are."""
    run = hall.judged("ant")
    hall.publish()
    stored = hall.contest.store.replays.get(run.id)
    assert stored is not None
    secret = json.loads(stored.document)["boxes"]
    truth = read_ground_truth(hall.contest.test_set.folder)
    chance = np.random.default_rng(1)
    off = chance.normal(0, 6, truth.boxes.shape)
    confidence = chance.random(len(off))
    weak = np.column_stack(
        [
            truth.image,
            truth.category,
            confidence,
            truth.boxes + off,
        ]
    )
    alone = map_of(hall, weak)
    by_theirs = map_of(hall, matched(weak, secret))
    assert by_theirs > alone + 0.2, "worth the attack"
    assert hall.course(run.id)["boxes"] is None


def test_once_no_team_runs_and_the_date_is_over_images_and_boxes_are_shown(
    hall: Hall,
) -> None:
    run = hall.judged("ant")
    hall.publish()
    with_date(hall.contest)
    assert hall.course(run.id)["boxes"] is None, "the date is not over"
    hall.clock.seconds = LATER_S
    found = hall.course(run.id)
    assert len(found["boxes"]["frame"]) > 0
    assert len(found["moments"]["map"]) > 0
    answer = hall.get(f"/replay/{run.id}/images/1")
    assert answer.status_code == 200
    assert answer.content_type == "image/jpeg"
    assert answer.data[:2] == b"\xff\xd8"
    assert hall.get(f"/replay/{run.id}/images/6").status_code == 404, "not served"


def armed(hall: Hall) -> None:
    armed_run(hall.contest, "cat", station="two")


def queued(hall: Hall) -> None:
    hall.contest.store.teams.add("cat", "no hash", START)
    hall.contest.store.queue.change(lambda _: ["cat"])


def frozen(hall: Hall) -> None:
    hall.contest.store.published.freeze(hall.clock.utc(), "")


@pytest.mark.parametrize("what", [armed, queued, frozen])
def test_images_are_secret_again_while_a_team_is_about_to_run_or_the_board_is_frozen(
    hall: Hall,
    what: Callable[[Hall], None],
) -> None:
    run = hall.judged("ant")
    with_date(hall.contest)
    hall.clock.seconds = LATER_S
    hall.publish()
    assert hall.course(run.id)["boxes"] is not None
    what(hall)
    hall.publish()
    assert hall.course(run.id)["boxes"] is None
    assert hall.get(f"/replay/{run.id}/images/1").status_code == 404


def test_words_of_operators_and_events_are_for_no_one_else(hall: Hall) -> None:
    run = hall.judged("ant")
    hall.contest.store.log.append(
        hall.clock.utc(), run.id, "operator", action="note", text="they cheat"
    )
    with_date(hall.contest)
    hall.clock.seconds = LATER_S
    hall.publish()
    text = hall.get(f"/replay/{run.id}/course.json").text
    assert json.loads(text)["events"] == []
    assert "cheat" not in text
    assert str(hall.contest.test_set.folder) not in text


def test_two_runs_have_one_page_and_the_projector_begins_with_the_first_two(
    hall: Hall,
) -> None:
    ant = hall.judged("ant", energy_wh=0.5)
    bee = hall.judged("bee", seed=1)
    hall.publish()
    assert hall.runs() == [ant.id, bee.id]
    page = hall.get(f"/replay/{ant.id}/{bee.id}").text
    for one in (ant, bee):
        assert f"/replay/{one.id}/course.json" in page
    items = hall.get("/replay/runs.json").json["items"]
    assert [len(item) for item in items] == [2, 1, 1]


def test_a_replay_is_kept_by_caches_and_asked_for_again_by_its_tag(hall: Hall) -> None:
    run = hall.judged("ant")
    hall.publish()
    path = f"/replay/{run.id}/course.json"
    answer = hall.get(path)
    again = hall.client.get(path, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    packed = hall.client.get(path, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"


def test_names_in_markup_stay_names_on_the_page(hall: Hall) -> None:
    name = "<script>alert(1)</script>"
    run = hall.judged(name)
    hall.publish()
    assert name not in hall.get(f"/replay/{run.id}").text
    assert hall.course(run.id)["team"] == name
