from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from lpirc_tracks import Measured, Track, track_named
from lpirc_tracks.submissions.track_board import (
    Board,
    Candidate,
    board,
    build_number,
    judged_now,
)
from referee.store.model_records import ModelMeasurement, Submission


def measured(
    accuracy: float,
    latency_ms: float = 30.0,
    **more: float,
) -> Measured:
    return Measured(
        accuracy,
        latency_ms,
        images=10,
        processed=10,
        total_s=0.2,
        **more,
    )  # type: ignore[arg-type]


def candidate(
    number: int,
    team: str,
    result: Measured | None,
    sha256: str = "a",
    sentence: str = "It crashed.",
    handed_in: int | None = None,
) -> Candidate:
    outcome = ModelMeasurement(
        "2026-05-04",
        valid=result is not None,
        sentence=sentence,
    )
    made = submission(
        number,
        None,
        team=team,
        model_sha256=sha256,
        measurement=outcome,
    )
    return Candidate(made, result, handed_in or number)


def places(made: Board) -> list[tuple[int, str, int]]:
    return [
        (line.rank, line.candidate.made.team, line.candidate.made.id)
        for line in made.lines
    ]


OVIC: Track = track_named("ovic-detection")
PHONE: Track = track_named("lpirc2018-track1")


def test_the_best_build_of_a_team_counts_wherever_it_stands() -> None:
    field = [
        candidate(1, "a", measured(20)),
        candidate(2, "a", measured(25)),
        candidate(3, "a", measured(22)),
    ]
    made = board(OVIC, field)
    assert places(made) == [(1, "a", 2)]
    assert made.lines[0].builds == 3


def test_builds_are_those_of_one_model() -> None:
    field = [
        candidate(1, "a", measured(20)),
        candidate(2, "a", measured(25), sha256="other"),
    ]
    assert board(OVIC, field).lines[0].builds == 1


def test_teams_stand_by_their_metric_and_not_by_accuracy() -> None:
    slow = measured(26, 36.0)
    fast = measured(24, 24.0)
    assert places(
        board(
            OVIC,
            [
                candidate(1, "slow", slow),
                candidate(2, "fast", fast),
            ],
        )
    ) == [
        (1, "fast", 2),
        (2, "slow", 1),
    ]


def test_of_equal_values_the_earlier_submission_stands_first_and_shares_the_rank_where_the_rule_says_so() -> (
    None
):
    field = [
        candidate(2, "late", measured(20)),
        candidate(1, "early", measured(20)),
    ]
    assert places(board(OVIC, field)) == [(1, "early", 1), (1, "late", 2)]
    assert places(board(PHONE, field)) == [(1, "early", 1), (2, "late", 2)]


def test_a_later_build_does_not_make_a_submission_later() -> None:
    field = [
        candidate(1, "early", measured(20)),
        candidate(2, "late", measured(25)),
        candidate(3, "early", measured(25), handed_in=1),
    ]
    assert places(board(PHONE, field)) == [(1, "early", 3), (2, "late", 2)]


def test_a_team_keeps_the_earlier_of_two_equal_submissions() -> None:
    field = [
        candidate(5, "a", measured(20)),
        candidate(3, "a", measured(20)),
        candidate(4, "b", measured(20)),
    ]
    assert places(board(PHONE, field)) == [(1, "a", 3), (2, "b", 4)]


def test_what_is_not_valid_is_listed_with_its_reason_and_does_not_hide_a_valid_one() -> (
    None
):
    field = [
        candidate(3, "a", measured(50, 37.0)),
        candidate(1, "a", measured(20)),
        candidate(2, "b", None, sentence="It took too much memory."),
    ]
    made = board(OVIC, field)
    assert places(made) == [(1, "a", 1)]
    assert [(one.made.id, why) for one, why in made.invalid] == [
        (2, "It took too much memory."),
        (3, "37.000 ms is above 36 ms, 1.2 times the target 30 ms."),
    ]


def test_a_board_follows_the_present_settings() -> None:
    field = [candidate(1, "a", measured(20, 37.0))]
    changed = track_named("ovic-detection", {"target_ms": 40})
    assert board(OVIC, field).lines == ()
    assert places(board(changed, field)) == [(1, "a", 1)]


def submission(
    number: int,
    measured: dict[str, Any] | None,
    **changes: Any,
) -> Submission:
    outcome = ModelMeasurement(
        "2026-05-04",
        valid=True,
        sentence="Once.",
        metric=1.0,
        measured=measured,
    )
    made = Submission(
        number,
        "",
        "phones",
        "a",
        "public",
        "b",
        "m.tflite",
        "m",
        "set",
        counts=True,
    )
    return replace(made, **{"measurement": outcome} | changes)


def test_a_single_submission_follows_the_present_settings_as_the_board_does() -> None:
    stored = submission(1, asdict(measured(20, 37.0)))
    late = judged_now(stored, OVIC).measurement
    assert late is not None
    assert late.valid is False
    assert late.metric is None
    assert late.measured_utc == "2026-05-04"
    assert late.sentence == "37.000 ms is above 36 ms, 1.2 times the target 30 ms."
    changed = track_named("ovic-detection", {"target_ms": 40})
    now = judged_now(stored, changed).measurement
    (line,) = board(changed, [candidate(1, "a", measured(20, 37.0))]).lines
    assert now is not None
    assert now.valid is True
    assert now.metric == line.verdict.value
    assert now.sentence == line.verdict.sentence
    failed = submission(1, None)
    assert judged_now(failed, OVIC) is failed


def test_a_build_is_numbered_among_those_of_its_model_that_stand() -> None:
    one = {"accuracy_percent": 20.0}
    others = [
        submission(1, one),
        submission(2, one, withdrawn="power cut"),
        submission(3, None, measurement=None),
        submission(4, one, team="b"),
        submission(5, one, model_sha256="other"),
        submission(6, one, split="holdout"),
        submission(7, one, testset_digest="former"),
        submission(8, one),
        submission(9, one),
    ]
    assert [build_number(others[place], others) for place in (0, 3, 7, 8)] == [
        1,
        1,
        2,
        3,
    ]


def test_an_entry_without_energy_is_not_valid_where_the_rule_needs_it() -> None:
    track = track_named("dac-sdc")
    made = board(
        track,
        [
            candidate(1, "a", measured(50)),
            candidate(2, "b", measured(40, energy_wh=0.1)),
        ],
    )
    assert places(made) == [(1, "b", 2)]
    assert [one.made.id for one, _ in made.invalid] == [1]


def test_a_board_of_nothing_is_empty() -> None:
    assert board(OVIC, []) == Board((), ())
