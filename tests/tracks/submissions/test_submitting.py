from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpirc_testsets import TestSet
from lpirc_tracks.submissions.kept_models import read_submitted
from lpirc_tracks.submissions.open_track import (
    OpenTrack,
    configured_track,
    open_track,
)
from lpirc_tracks.submissions.result_document import parse_result
from lpirc_tracks.submissions.submitting import (
    Order,
    check_result,
    judge,
    measure_again,
    submit,
    to_measure_again,
)
from lpirc_tracks.submissions.track_board import (
    board,
    build_number,
    candidates,
    judged_now,
)
from referee.clock import Clock
from referee.config.tracks import MODELS
from referee.contest import Contest
from referee.errors import ModelCrashed, RefereeError
from referee.store.model_records import Submission
from referee.store.submission_table import FREE_REPETITIONS
from tests.tracks.submissions.model_days import (
    LONG,
    colour_set,
    model_contest,
    packed,
    result,
    sha256,
)

TRACK = '[[tracks]]\nname = "phones"\nrule = "lpirc2018-track1"\ntestset = "../colours"\nholdout = "../kept"\n'
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
MODEL = b"pretend this is a model"


class Calendar(Clock):
    """A clock that stands at a time of day until it is moved."""

    def __init__(self) -> None:
        self.now = NOON

    def utc(self) -> datetime:
        return self.now


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> tuple[TestSet, TestSet]:
    folder = tmp_path_factory.mktemp("sets")
    public = colour_set(folder, ("red", 7), ("green", 8), ("blue", 1000), ("red", 8))
    return public, colour_set(folder, ("blue", 7), ("green", 8), name="kept")


@pytest.fixture
def contest(tmp_path: Path, sets: tuple[TestSet, TestSet]) -> Iterator[Contest]:
    for made in sets:
        (tmp_path / made.folder.name).symlink_to(made.folder)
    with model_contest(tmp_path / "day", TRACK) as opened:
        yield opened


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.node", lambda: "board-7")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.tflite"
    path.write_bytes(MODEL)
    return path


@pytest.fixture
def track(contest: Contest) -> OpenTrack:
    return open_track(contest, "phones")


@pytest.fixture
def clock() -> Calendar:
    return Calendar()


def never(_: Path) -> bytes:
    raise AssertionError("nothing is to be measured here")


def accepts(_: Path) -> None:
    """The validator's word for a model that is fine."""


def runs(track: OpenTrack, *shares: float) -> Iterator[bytes]:
    """The documents of runs of 300 inferences of 20 ms, for which the model had a share of a processor."""
    for number, share in enumerate(shares):
        own = {"latency__processor_share": share, "started_utc": f"run {number}"}
        yield packed(result(track.test_set, MODEL, [7, 8, 9, 8], **LONG | own))


Hand = Callable[..., Submission]


@pytest.fixture
def hand_in(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
) -> Hand:
    """Hand in a result document of another device, each time a new one."""
    count = itertools.count()

    def hand(
        answers: list[int],
        team: str = "alpha",
        build: str = "b",
        **changes: object,
    ) -> Submission:
        new = {"started_utc": f"measurement {next(count)}"} | changes
        content = packed(result(track.test_set, model.read_bytes(), answers, **new))
        return submit(
            contest,
            track,
            Order(team, model, build, content),
            accepts,
            never,
            clock,
        )

    return hand


def refusal(action: Callable[[], object]) -> RefereeError:
    with pytest.raises(RefereeError) as failure:
        action()
    assert "\n" not in failure.value.sentence
    return failure.value


def test_a_document_of_another_device_is_judged_and_stored(
    contest: Contest,
    hand_in: Hand,
    model: Path,
) -> None:
    made = hand_in([7, 8, 9, 8])
    assert made.measurement is not None
    assert made.measurement.valid is True
    assert made.measurement.metric == 75.0
    assert made.measurement.device == "board-7"
    assert made.accepted_utc == NOON.isoformat()
    assert made.split == "public"
    assert made.build == "b"
    assert (
        made
        == contest.store.submissions.get(made.id)
        == contest.store.submissions.all("phones")[0]
    )
    kept = contest.folder / MODELS / f"{sha256(MODEL)}.tflite"
    assert kept.read_bytes() == MODEL


def test_an_unstable_latency_is_measured_again_and_then_stored_as_such_at_no_cost(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
) -> None:
    busy = runs(track, 0.5, 0.5, 0.5)
    order = Order("alpha", model, "b")
    made = submit(contest, track, order, accepts, lambda _: next(busy), clock)
    assert next(busy, None) is None  # each was tried
    assert made == contest.store.submissions.get(made.id)
    outcome = made.measurement
    assert outcome is not None
    assert outcome.measured is not None
    assert made.is_unstable is True
    assert outcome.valid is False
    assert outcome.metric is None
    assert outcome.measured["latency_ms"] == 20.0
    assert outcome.sentence == (
        "the latency is unstable, the model had a processor for only 50% of its 20.000 ms, and another job had it "
        "for the rest."
    )
    assert made.counts is False
    assert contest.store.submissions.used("phones", "alpha", clock.utc()) == 0
    ((waiting, _),) = board(
        track.rule,
        candidates(contest.store.submissions.all("phones"), "public"),
    ).invalid
    assert waiting.made.is_unstable
    assert judged_now(made, track.rule) == made
    # The same build measures it again, since it has not measured it yet; that counts towards no limit.
    assert to_measure_again(contest.store.submissions.all("phones"), "public", "b") == [
        made
    ]
    quiet = runs(track, 1.0)
    measure_again(contest, track, made, "b", lambda _: next(quiet), clock)
    standing = board(
        track.rule,
        candidates(contest.store.submissions.all("phones"), "public"),
    )
    assert [line.candidate.made.id for line in standing.lines] == [2]
    assert standing.invalid == ()
    assert (
        to_measure_again(contest.store.submissions.all("phones"), "public", "b") == []
    )
    assert (
        build_number(
            contest.store.submissions.get(2),
            contest.store.submissions.all("phones"),
        )
        == 1
    )


def test_a_second_try_on_a_quiet_machine_is_the_submission(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
) -> None:
    tries = runs(track, 0.5, 0.99, 0.5)
    made = submit(
        contest,
        track,
        Order("alpha", model, "b"),
        accepts,
        lambda _: next(tries),
        clock,
    )
    assert made.measurement is not None
    assert made.is_unstable is False
    assert made.measurement.metric == 75.0
    assert made.counts is True
    assert next(tries, None) is not None


def test_a_document_with_an_unstable_latency_costs_no_submission(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
) -> None:
    (content,) = runs(track, 0.5)
    made = submit(
        contest,
        track,
        Order("alpha", model, "b", content),
        accepts,
        never,
        clock,
    )
    assert made.is_unstable is True
    assert contest.store.submissions.used("phones", "alpha", clock.utc()) == 0


def test_a_team_s_unstable_models_are_free_three_times_a_day_and_then_count(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
) -> None:
    store = contest.store
    limit = configured_track(contest, "phones").submissions_per_day
    contents = runs(track, *[0.5] * (FREE_REPETITIONS + limit + 1))

    def hand(team: str = "alpha") -> Submission:
        return submit(
            contest,
            track,
            Order(team, model, "b", next(contents)),
            accepts,
            never,
            clock,
        )

    for number in range(FREE_REPETITIONS + limit):
        assert hand().is_unstable
        assert store.submissions.used("phones", "alpha", clock.utc()) == max(
            0,
            number + 1 - FREE_REPETITIONS,
        )
    refused = refusal(hand)
    assert refused.code == "submission-limit"
    assert (
        f"{limit} of them for repeated measurements beyond the {FREE_REPETITIONS} free ones"
        in refused.sentence
    )
    store.submissions.require_below_limit("phones", "beta", limit, clock.utc())
    store.submissions.require_below_limit(
        "phones",
        "alpha",
        limit,
        clock.utc() + timedelta(days=1),
    )


@pytest.mark.parametrize("confined", [True, False, None])
def test_whether_a_model_was_confined_is_stored(
    contest: Contest,
    hand_in: Hand,
    confined: bool | None,
) -> None:
    section = (
        {}
        if confined is None
        else {"confinement": {"confined": confined, "reason": None}}
    )
    made = hand_in([7, 8, 9, 8], **section)
    assert made.measurement is not None
    assert made.measurement.confined is confined
    assert contest.store.submissions.get(made.id) == made


def test_the_document_is_kept_as_it_was_received(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
) -> None:
    content = packed(result(track.test_set, MODEL, [7, 8, 9, 8])) + b"\n \n"
    made = submit(
        contest,
        track,
        Order("alpha", model, "b", content),
        accepts,
        never,
        clock,
    )
    assert contest.store.submissions.result(made.id) == content


def test_one_document_is_one_submission_until_that_is_withdrawn(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
) -> None:
    document = result(track.test_set, MODEL, [7, 8, 9, 8])
    content = packed(document)

    def hand(team: str, content: bytes = content) -> Submission:
        return submit(
            contest,
            track,
            Order(team, model, "b", content),
            accepts,
            never,
            clock,
        )

    made = hand("alpha")
    failure = refusal(lambda: hand("alpha"))
    assert failure.code == "result-repeated"
    assert (f"as submission {made.id};" in failure.sentence) is True
    reordered = {"verdict": {"value": 75}} | dict(reversed(document.items()))
    code = refusal(lambda: hand("alpha", json.dumps(reordered, indent=1).encode())).code
    assert code == "result-repeated"
    assert contest.store.submissions.used("phones", "alpha", NOON) == 1
    assert hand("beta").team == "beta"
    measured_again = document | {"started_utc": "2026-05-04T09:05:00+00:00"}
    assert hand("alpha", packed(measured_again)).id == made.id + 2
    contest.store.entries.withdraw(made.id, "the fan was off", "ops", NOON)
    assert hand("alpha").id == made.id + 3


def test_images_that_were_not_reached_are_wrong(hand_in: Hand) -> None:
    made = hand_in([7, 8])
    assert made.measurement is not None
    assert made.measurement.metric == 50.0


@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        ({"images__sha256": "0" * 64}, "bad-result", "images.sha256 is '000"),
        ({"images__count": 5, "stopped_by": "budget"}, "bad-result", "phones needs 4; bench the model on the images"),
        ({"model__sha256": "0" * 64}, "bad-result", "; submit the model that was benched"),
        ({"preprocessing": "resize"}, "bad-result", "preprocessing is 'resize', the track phones needs 'central-crop'"),
        ({"settings__mean": [9, 9, 9]}, "bad-result", "settings.mean is [9, 9, 9], the track phones needs [0, 0, 0]"),
        ({"settings__threads": 4}, "bad-result", "settings.threads is 4, the track phones needs 1"),
        ({"settings__budget_s": None}, "bad-result", "settings.budget_s is None, the budget for 4 images is 0.12"),
        ({"settings__budget_s": 1.0}, "bad-result", "settings.budget_s is 1.0, the budget for 4 images is 0.12"),
        ({"latency__mean_ms": 5.0}, "bad-result", "latency.mean_ms = 5.0"),
    ],
)  # fmt: skip
def test_a_document_of_something_else_is_refused_and_costs_nothing(
    contest: Contest,
    hand_in: Hand,
    changes: dict[str, object],
    code: str,
    told: str,
) -> None:
    failure = refusal(lambda: hand_in([7, 8, 9, 8], **changes))
    assert failure.code == code
    assert told in failure.sentence
    assert contest.store.submissions.all() == []
    assert not (contest.folder / MODELS).exists()


def test_a_document_of_the_other_task_is_refused(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
) -> None:
    made = result(
        track.test_set,
        MODEL,
        [7, 8, 9, 8],
        task="detection",
        predictions={"rows": []},
    )
    order = Order("alpha", model, "b", packed(made))
    failure = refusal(lambda: submit(contest, track, order, accepts, never, clock))
    assert (
        "task is 'detection', the track phones needs 'classification'"
        in failure.sentence
    )


def test_a_team_has_so_many_submissions_a_day_and_the_board_is_unharmed(
    contest: Contest,
    hand_in: Hand,
    clock: Calendar,
) -> None:
    for _ in range(3):
        hand_in([7, 8, 9, 8])
    before = contest.store.submissions.all()
    failure = refusal(lambda: hand_in([7, 8, 1000, 8]))
    assert failure.code == "submission-limit"
    assert (
        "alpha has used up 3 of its 3 submissions to the track phones on 2026-05-04"
        in failure.sentence
    )
    assert contest.store.submissions.all() == before
    assert hand_in([7, 8, 9, 8], team="beta").id == 4
    clock.now += timedelta(hours=11, minutes=59, seconds=59)
    assert refusal(lambda: hand_in([7, 8, 9, 8])).code == "submission-limit"
    clock.now += timedelta(seconds=1)
    assert hand_in([7, 8, 9, 8]).id == 5


def test_of_two_that_take_the_last_one_together_one_is_refused(
    contest: Contest,
    hand_in: Hand,
    track: OpenTrack,
) -> None:
    made = hand_in([7, 8, 9, 8])
    contest.store.submissions.accept(made, NOON, limit=2)
    code = refusal(lambda: contest.store.submissions.accept(made, NOON, limit=2)).code
    assert code == "submission-limit"
    assert contest.store.submissions.used("phones", "alpha", NOON) == 2


def test_a_withdrawn_entry_still_counts_until_the_attempt_is_given_back(
    contest: Contest,
    hand_in: Hand,
) -> None:
    made = [hand_in([7, 8, 9, 8]) for _ in range(3)]
    contest.store.entries.withdraw(made[0].id, "of another team", "ops", NOON)
    assert contest.store.submissions.used("phones", "alpha", NOON) == 3
    assert refusal(lambda: hand_in([7, 8, 9, 8])).code == "submission-limit"
    contest.store.entries.uncount(made[0].id)
    assert hand_in([7, 8, 9, 8]).id == 4
    code = refusal(lambda: contest.store.entries.uncount(made[0].id)).code
    assert code == "not-counted"
    for act in (
        contest.store.entries.uncount,
        lambda one: contest.store.entries.restore(one, NOON),
    ):
        assert refusal(lambda act=act: act(99)).code == "submission-unknown"


def test_the_first_device_is_that_of_the_board(contest: Contest, hand_in: Hand) -> None:
    hand_in([7, 8, 9, 8])
    failure = refusal(
        lambda: hand_in([7, 8, 1000, 8], team="beta", device__host="faster")
    )
    assert failure.code == "wrong-device"
    assert (
        "measured on 'faster', but the board of the track phones lists measurements on 'board-7'"
        in failure.sentence
    )
    assert len(contest.store.submissions.all()) == 1


def test_a_configured_device_goes_before_the_first_one(
    tmp_path: Path,
    sets: tuple[TestSet, TestSet],
    model: Path,
    clock: Calendar,
) -> None:
    for made in sets:
        (tmp_path / made.folder.name).symlink_to(made.folder)
    with model_contest(tmp_path / "pinned", TRACK + 'device = "pi"\n') as contest:
        track = open_track(contest, "phones")
        orders = [
            Order(
                "alpha",
                model,
                "b",
                packed(result(sets[0], MODEL, [7, 8, 9, 8], device__host=host)),
            )
            for host in ("board-7", "pi")
        ]
        code = refusal(
            lambda: submit(contest, track, orders[0], accepts, never, clock)
        ).code
        assert code == "wrong-device"
        measurement = submit(
            contest,
            track,
            orders[1],
            accepts,
            never,
            clock,
        ).measurement
        assert measurement is not None


@pytest.mark.parametrize("team", ["nobody", "", "ALPHA"])
def test_a_team_must_be_registered(
    contest: Contest,
    hand_in: Hand,
    team: str,
) -> None:
    assert refusal(lambda: hand_in([7, 8, 9, 8], team=team)).code == "team-unknown"
    contest.store.teams.set_disabled("alpha", True)
    assert "is disabled" in refusal(lambda: hand_in([7, 8, 9, 8])).sentence
    assert contest.store.submissions.all() == []


def test_a_model_that_cannot_be_read_is_told(
    contest: Contest,
    track: OpenTrack,
    tmp_path: Path,
    clock: Calendar,
) -> None:
    for path in (tmp_path / "nowhere.tflite", tmp_path, tmp_path / "two\nlines.tflite"):
        order = Order("alpha", path, "b")
        assert (
            refusal(
                lambda o=order: submit(contest, track, o, accepts, never, clock)
            ).code
            == "model-unreadable"
        )  # type: ignore[misc]
    assert contest.store.submissions.all() == []


def test_a_refused_model_costs_nothing_also_with_a_sound_result(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
) -> None:
    def refuse(_: Path) -> None:
        raise RefereeError("model-refused", "It is no model.")

    content = packed(result(track.test_set, MODEL, [7, 8, 9, 8]))
    for order in (
        Order("alpha", model, "b"),
        Order("alpha", model, "b", content),
    ):
        assert (
            refusal(
                lambda o=order: submit(contest, track, o, refuse, never, clock)
            ).code
            == "model-refused"
        )  # type: ignore[misc]
    assert contest.store.submissions.all() == []


@pytest.mark.parametrize("code", ["model-crashed", "model-timeout", "out-of-memory"])
def test_a_model_that_fails_when_it_is_measured_uses_up_a_submission_and_is_not_valid(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
    code: str,
) -> None:
    def fail(_: Path) -> bytes:
        raise ModelCrashed(code, "It failed.")

    made = submit(contest, track, Order("alpha", model, "b"), accepts, fail, clock)
    assert made.measurement is not None
    assert made.measurement.valid is False
    assert made.measurement.sentence == "It failed."
    assert made.measurement.measured is None
    assert contest.store.submissions.used("phones", "alpha", NOON) == 1
    assert contest.store.submissions.result(made.id) is None


@pytest.mark.parametrize(
    "failure",
    [
        RefereeError("missing-extra", "Install it."),
        OSError("disk full"),
        KeyboardInterrupt(),
        ValueError(),
    ],
)
def test_what_the_house_broke_off_is_given_up_and_costs_nothing(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
    failure: BaseException,
) -> None:
    def fail(_: Path) -> bytes:
        raise failure

    with pytest.raises(type(failure)):
        submit(contest, track, Order("alpha", model, "b"), accepts, fail, clock)
    (made,) = contest.store.submissions.all()
    assert made.withdrawn
    assert made.measurement is None
    assert contest.store.submissions.used("phones", "alpha", NOON) == 0


def test_a_document_of_our_own_bench_that_is_wrong_is_the_houses_fault(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
) -> None:
    content = packed(result(track.test_set, b"another model", [7, 8, 9, 8]))
    order = Order("alpha", model, "b")
    code = refusal(
        lambda: submit(contest, track, order, accepts, lambda _: content, clock)
    ).code
    assert code == "bad-result"
    (made,) = contest.store.submissions.all()
    assert made.withdrawn
    assert "model.sha256" in made.withdrawn


def test_the_hold_out_set_is_another_one_and_counts_towards_no_limit(
    contest: Contest,
    model: Path,
    clock: Calendar,
) -> None:
    holdout = open_track(contest, "phones", holdout=True)
    for number in range(1, 6):
        content = packed(
            result(holdout.test_set, MODEL, [1000, 8], started_utc=str(number))
        )
        order = Order("alpha", model, "b", content)
        made = submit(contest, holdout, order, accepts, never, clock)
        assert made.id == number
        assert made.split == "holdout"
        assert made.counts is False
    assert made.measurement is not None
    assert made.measurement.metric == 50.0


def test_every_kept_model_is_measured_again_once_a_build(
    contest: Contest,
    track: OpenTrack,
    hand_in: Hand,
    model: Path,
    clock: Calendar,
) -> None:
    first = hand_in([7, 8, 9, 8], build="one")
    hand_in([7, 8, 9, 8], build="one")
    gone = hand_in([7, 8, 9, 8], team="beta", build="one")
    contest.store.entries.withdraw(gone.id, "x", "ops", NOON)
    assert to_measure_again(contest.store.submissions.all(), "public", "one") == []
    (wanted,) = to_measure_again(contest.store.submissions.all(), "public", "two")
    assert wanted.id == first.id
    assert [
        one.id
        for one in to_measure_again(contest.store.submissions.all(), "holdout", "one")
    ] == [first.id]
    benched: list[Path] = []

    def bench(file: Path) -> bytes:
        benched.append(file)
        return packed(result(track.test_set, MODEL, [7, 8, 1000, 8]))

    made = measure_again(contest, track, wanted, "two", bench, clock)
    assert benched[0].read_bytes() == MODEL
    assert made.build == "two"
    assert made.counts is False
    assert made.model_file == "model.tflite"
    assert made.measurement is not None
    assert made.measurement.metric == 100.0
    assert to_measure_again(contest.store.submissions.all(), "public", "two") == []


def test_a_kept_model_that_was_damaged_is_mended_when_it_is_handed_in_again(
    contest: Contest,
    hand_in: Hand,
) -> None:
    kept = contest.folder / MODELS / f"{hand_in([7, 8, 9, 8]).model_sha256}.tflite"
    kept.write_bytes(bytes(len(MODEL)))
    hand_in([7, 8, 9, 8])
    assert kept.read_bytes() == MODEL


def test_on_another_device_than_the_boards_nothing_is_begun(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    hand_in: Hand,
    clock: Calendar,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = hand_in([7, 8, 9, 8])
    monkeypatch.setattr("platform.node", lambda: "laptop")
    order = Order("beta", model, "b")
    for begin in (
        lambda: submit(
            contest,
            track,
            order,
            lambda _: pytest.fail("validated"),
            never,
            clock,
        ),
        lambda: measure_again(contest, track, made, "two", never, clock),
    ):
        failure = refusal(begin)
        assert failure.code == "wrong-device"
        assert "A model is measured here on 'laptop', but the board" in failure.sentence
    assert contest.store.submissions.all() == [made]


def test_a_kept_model_that_is_gone_is_told(
    contest: Contest,
    track: OpenTrack,
    hand_in: Hand,
    clock: Calendar,
) -> None:
    made = hand_in([7, 8, 9, 8])
    (contest.folder / MODELS / f"{made.model_sha256}.tflite").unlink()
    code = refusal(
        lambda: measure_again(contest, track, made, "two", never, clock)
    ).code
    assert code == "model-missing"
    assert len(contest.store.submissions.all()) == 1


def test_one_model_is_measured_at_a_time(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    hand_in: Hand,
    clock: Calendar,
) -> None:
    content = packed(result(track.test_set, MODEL, [7, 8, 9, 8]))
    refused = []

    def bench(_: Path) -> bytes:
        second = Order("beta", model, "b")
        refused.append(
            refusal(lambda: submit(contest, track, second, accepts, never, clock)).code
        )
        hand_in([7, 8, 9, 8], team="beta")  # measured elsewhere: it disturbs nobody
        return content

    measurement = submit(
        contest,
        track,
        Order("alpha", model, "b"),
        accepts,
        bench,
        clock,
    ).measurement
    assert measurement is not None
    assert refused == ["bench-busy"]
    assert [one.team for one in contest.store.submissions.all()] == ["alpha", "beta"]
    submit(contest, track, Order("beta", model, "b"), accepts, lambda _: content, clock)


SPOILT = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.lists(st.integers(), max_size=3)
)


def places(document: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Every key of a document with the object that holds it."""
    found = [(document, key) for key in document]
    for value in document.values():
        if isinstance(value, dict):
            found += places(value)
    return found


@settings(max_examples=60)
@given(data=st.data())
def test_whatever_a_document_says_it_is_judged_or_refused(
    contest: Contest,
    track: OpenTrack,
    data: st.DataObject,
) -> None:
    document = result(track.test_set, MODEL, [7, 8, 9, 8])
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(places(document)))
        if data.draw(st.booleans()):
            holder[key] = data.draw(SPOILT)
        else:
            del holder[key]
    refused: RefereeError | None = None
    try:
        parsed = parse_result(packed(document))
        check_result(contest, track, parsed, sha256(MODEL))
        measured, verdict = judge(track, parsed)
    except RefereeError as failure:
        refused = failure
    if refused is not None:
        assert refused.code in ("bad-result", "wrong-device", "bad-measurement")
        assert "\n" not in refused.sentence
    else:
        assert verdict.value in (None, measured.accuracy_percent)
        assert measured.accuracy_percent == 75.0


def test_of_equal_teams_the_one_whose_model_came_first_stands_first_whatever_build_counts(
    contest: Contest,
    track: OpenTrack,
    hand_in: Hand,
    clock: Calendar,
) -> None:
    first = hand_in([7, 8, 9, 9])
    hand_in([7, 8, 9, 8], team="beta")
    content = packed(result(track.test_set, MODEL, [7, 8, 9, 8]))
    measure_again(contest, track, first, "two", lambda _: content, clock)
    made = board(
        track.rule,
        candidates(contest.store.submissions.all("phones"), "public"),
    )
    assert [(line.rank, line.candidate.made.id) for line in made.lines] == [
        (1, 3),
        (2, 2),
    ]


def test_a_measurement_that_was_broken_off_is_made_again(
    contest: Contest,
    hand_in: Hand,
    clock: Calendar,
) -> None:
    made = hand_in([7, 8, 9, 8], build="one")
    contest.store.submissions.accept(
        replace(made, build="two", counts=False),
        clock.utc(),
        limit=0,
    )
    assert [
        one.id
        for one in to_measure_again(contest.store.submissions.all(), "public", "two")
    ] == [made.id]


@pytest.mark.parametrize("build", ["", " ", "a\nb"])
def test_a_build_is_a_line_of_text_also_when_it_measures_again(
    contest: Contest,
    track: OpenTrack,
    hand_in: Hand,
    clock: Calendar,
    build: str,
) -> None:
    made = hand_in([7, 8, 9, 8])
    code = refusal(
        lambda: measure_again(contest, track, made, build, never, clock)
    ).code
    assert code == "bad-build"


@pytest.mark.parametrize("what", ["model", "result"])
def test_a_pipe_is_neither_model_nor_result_and_not_waited_for(
    tmp_path: Path,
    what: str,
) -> None:
    os.mkfifo(tmp_path / "pipe")
    failure = refusal(lambda: read_submitted(tmp_path / "pipe", 100, what))
    assert failure.code == f"{what}-unreadable"
    assert failure.sentence.endswith("regular file.")


def test_the_reason_of_a_withdrawal_names_the_file_that_the_system_refused(
    contest: Contest,
    track: OpenTrack,
    model: Path,
    clock: Calendar,
) -> None:
    def fail(_: Path) -> bytes:
        raise OSError(28, "No space left on device", "/models/x")

    with pytest.raises(OSError, match="No space"):
        submit(contest, track, Order("alpha", model, "b"), accepts, fail, clock)
    assert [one.withdrawn for one in contest.store.submissions.all()] == [
        "/models/x: No space left on device"
    ]
