"""What looks odd about a final board before it is published."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from lpirc_tracks.submissions.oddities import equal_scores, oddities
from referee.config.tracks import ModelTrack
from referee.store.model_records import ModelMeasurement, Submission

END = datetime(2026, 5, 4, 12, tzinfo=UTC)
TRACK = ModelTrack("phones", "sets/public", holdout="sets/prize", holdout_until=END)
RIGHT = ModelMeasurement(
    "2026-05-04T10:00:00+00:00",
    valid=True,
    sentence="fine",
    metric=1.0,
    confined=True,
)


def part(
    number: int,
    team: str,
    split: str = "public",
    sha256: str = "",
    **more: Any,
) -> Submission:
    at = "2026-05-04T09:00:00+00:00"
    words = (
        number,
        at,
        "phones",
        team,
        split,
        "b",
        f"{team}.tflite",
        sha256 or team,
        f"of {split}",
    )
    return replace(
        Submission(*words, counts=split == "public", measurement=RIGHT),
        **more,
    )


def found(*submissions: Submission) -> list[tuple[str, tuple[int, ...]]]:
    return [
        (one.code, one.submissions)
        for one in oddities(TRACK, submissions, "of holdout")
    ]


def test_nothing_looks_odd_where_all_is_well() -> None:
    assert (
        found(
            part(1, "ant"),
            part(2, "ant", "holdout"),
            part(3, "bee"),
            part(4, "bee", "holdout"),
        )
        == []
    )


def test_the_same_file_of_two_teams_looks_odd_and_that_of_one_team_does_not() -> None:
    twice = [
        part(1, "ant", sha256="5"),
        part(2, "ant", "holdout", sha256="5"),
    ]
    assert found(*twice) == []
    copy = [
        part(3, "bee", sha256="5"),
        part(4, "bee", "holdout", sha256="5"),
    ]
    assert found(*twice, *copy) == [("equal-files", (1, 2, 3, 4))]
    (odd,) = oddities(TRACK, [*twice, *copy], "of holdout")
    assert odd.sentence == "Teams ant, bee handed in the same file, SHA-256 5."


def test_a_withdrawn_entry_is_listed_once_with_who_and_why() -> None:
    gone = {
        "withdrawn": "of another team",
        "withdrawn_utc": "2026-05-04T11:00:00+00:00",
        "withdrawn_by": "eve",
    }
    (odd,) = oddities(
        TRACK,
        [
            part(1, "ant", **gone),
            part(2, "ant", "holdout", **gone),
        ],
        "",
    )
    assert odd.code == "withdrawn"
    assert odd.submissions == (1, 2)
    assert odd.sentence.endswith(
        "is withdrawn, since 2026-05-04T11:00:00 by eve: of another team"
    )
    # Given up, not withdrawn.
    assert found(part(1, "ant", withdrawn="interrupted", measurement=None)) == []


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("not-measured", {"measurement": None}),
        ("unstable", {"measurement": replace(RIGHT, valid=False, unstable=True)}),
        ("not-valid", {"measurement": replace(RIGHT, valid=False)}),
        ("not-confined", {"measurement": replace(RIGHT, confined=False)}),
        (
            "unofficial-meter",
            {"measurement": replace(RIGHT, meter="sim", meter_official=False)},
        ),
        ("measured-elsewhere", {"measured_by": "Acme"}),
    ],
)
def test_what_is_wrong_with_a_hold_out_part_is_listed(
    code: str,
    change: dict[str, Any],
) -> None:
    assert found(part(1, "ant"), part(2, "ant", "holdout", **change)) == [(code, (2,))]


def test_of_several_builds_only_the_newest_must_be_settled() -> None:
    failed = part(2, "ant", "holdout", measurement=replace(RIGHT, valid=False))
    assert found(part(1, "ant"), failed, part(3, "ant", "holdout")) == []
    assert found(part(1, "ant"), part(2, "ant", "holdout"), replace(failed, id=3)) == [
        ("not-valid", (3,))
    ]


def test_an_entry_without_a_figure_on_the_present_hold_out_images_is_listed() -> None:
    entries = [
        part(1, "ant"),
        part(2, "ant", "holdout"),
        part(3, "bee"),
    ]
    assert found(*entries) == [("no-holdout", (3,))]
    on_other_images = part(4, "bee", "holdout", testset_digest="before the correction")
    assert found(*entries, on_other_images) == [("no-holdout", (3,))]
    assert found(*entries, part(4, "bee", "holdout")) == []


def test_an_entry_that_came_after_the_end_is_listed() -> None:
    late = part(1, "ant", accepted_utc="2026-05-04T12:00:00+00:00")
    assert found(late, part(2, "ant", "holdout")) == [("late", (1,))]


def test_a_copy_with_another_blank_at_its_end_is_listed_by_its_scores() -> None:
    places = [
        {
            "team": team,
            "score": score,
            "public_score": public,
        }
        for team, score, public in (
            ("bee", 41.25, 40.5),
            ("ant", 41.25, 40.5),
            ("cat", 41.25, 40.0),
        )
    ]
    (odd,) = equal_scores(places)
    assert odd.sentence == "Teams ant, bee have equal scores, public and final."
