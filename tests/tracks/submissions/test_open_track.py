from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lpirc_testsets import TestSet, TestSetError, import_coco
from lpirc_tracks import track_named
from lpirc_tracks.cli.doctor_tracks import look_at_tracks
from lpirc_tracks.submissions.open_track import first_images, open_track, track_on
from lpirc_tracks.web.plugin import tracks_pages
from referee.clock import Clock
from referee.errors import RefereeError
from tests.tracks.submissions.model_days import (
    colour_set,
    model_contest,
    spot_set,
)

PUBLIC = '[[tracks]]\nname = "ovic-classification"\ntestset = "../colours"\n'


@pytest.fixture
def colours(tmp_path: Path) -> TestSet:
    return colour_set(tmp_path, ("red", 7), ("green", 8), ("blue", 9))


def refusal(
    folder: Path,
    tracks: str,
    name: str,
    *,
    holdout: bool = False,
) -> RefereeError:
    with (
        model_contest(folder / "day", tracks) as contest,
        pytest.raises(RefereeError) as failure,
    ):
        open_track(contest, name, holdout=holdout)
    return failure.value


def test_a_track_has_its_rule_with_the_contests_settings(
    tmp_path: Path,
    colours: TestSet,
) -> None:
    with model_contest(
        tmp_path / "day",
        PUBLIC + "[tracks.settings]\nk = 10\na0 = 40\n",
    ) as contest:
        track = open_track(contest, "ovic-classification")
    assert track.rule.settings()["k"] == 10.0
    assert track.rule.settings()["target_ms"] == 10.0
    assert isinstance(track.truth, np.ndarray)
    assert track.truth.tolist() == [7, 8, 9]


@pytest.mark.parametrize(
    ("tracks", "name", "code", "told"),
    [
        ("", "x", "track-unknown", "has no track 'x'; it has no tracks, which its operator adds"),
        (PUBLIC, "", "track-unknown", "names no track of the contest; its tracks are ovic-classification"),
        (PUBLIC, "x", "track-unknown", "has no track 'x'; its tracks are ovic-classification"),
        (PUBLIC.replace("ovic", "ovid"), "ovid-classification", "bad-config", "no rule 'ovid-classification'"),
        (PUBLIC.replace("ovic", "ovid"), "ovid-classification", "bad-config", "tion'? Without the key rule, "),
        (PUBLIC + 'rule = "ovic-detektion"\n', "ovic-classification", "bad-config", "Did you mean 'ovic-detection'?"),
        (PUBLIC + "[tracks.settings]\ntarget = 1\n", "ovic-classification", "bad-config", "Did you mean 'target_ms'?"),
        (PUBLIC + "[tracks.settings]\nq = 1\n", "ovic-classification", "bad-config", "unknown setting 'q'"),
        (PUBLIC + "[tracks.settings]\nk = 'x'\n", "ovic-classification", "bad-config", "k = 'x' must be a number"),
        (PUBLIC + 'rule = "aiotbench"\n', "ovic-classification", "bad-config", "aiotbench is a suite of many models"),
    ],
)  # fmt: skip
def test_a_track_that_cannot_be_opened_is_told(
    tmp_path: Path,
    colours: TestSet,
    tracks: str,
    name: str,
    code: str,
    told: str,
) -> None:
    failure = refusal(tmp_path, tracks, name)
    assert failure.code == code
    assert told in failure.sentence
    assert "\n" not in failure.sentence


def test_a_wrong_rule_is_told_to_operators_and_in_the_log_of_the_server(
    tmp_path: Path,
    colours: TestSet,
    caplog: pytest.LogCaptureFixture,
) -> None:
    tracks = PUBLIC + 'rule = "ovic-detektion"\n'
    with model_contest(tmp_path / "day", tracks) as contest:
        pages = tracks_pages(contest, Clock())
        try:
            (found,) = pages.attention()
            pages.look()
        finally:
            pages.close()
        (finding, *_) = [one for one in look_at_tracks(contest) if not one.is_advice]
    assert found == finding
    assert "There is no rule 'ovic-detektion'; the rules are " in found.sentence
    assert found.sentence in caplog.messages


def test_a_track_without_hold_out_set_says_so(tmp_path: Path, colours: TestSet) -> None:
    code = refusal(tmp_path, PUBLIC, "ovic-classification", holdout=True).code
    assert code == "no-holdout"


def test_a_set_whose_images_changed_measures_nothing(
    tmp_path: Path,
    colours: TestSet,
) -> None:
    colours.image_path(2).write_bytes(colours.image_path(1).read_bytes())
    assert refusal(tmp_path, PUBLIC, "ovic-classification").code == "testset-changed"


def test_a_set_without_labels_or_with_bad_ones_is_told(
    tmp_path: Path,
    colours: TestSet,
) -> None:
    rule = track_named("ovic-classification")
    colours.labels_path.write_text("file,label\n1.jpg,0\n2.jpg,8\n3.jpg,9\n")
    with pytest.raises(
        TestSetError,
        match="label '0' is not a whole number from 1 to 1000",
    ):
        track_on(colours.folder, "t", rule)
    colours.labels_path.unlink()
    with pytest.raises(
        RefereeError,
        match=r"has no labels\.csv, .* make its test set with: referee testset import labels",
    ):
        track_on(colours.folder, "t", rule)
    with pytest.raises(TestSetError, match="no such folder"):
        track_on(tmp_path / "nowhere", "t", rule)


def test_a_set_for_classification_is_none_for_detection(colours: TestSet) -> None:
    with pytest.raises(
        RefereeError,
        match="has no categories, but ovic-detection is a track of detection",
    ):
        track_on(colours.folder, "t", track_named("ovic-detection"))


def test_a_rule_that_needs_one_object_an_image_is_told_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    track_on(spot_set(tmp_path).folder, "t", track_named("dac-sdc"))
    annotations = tmp_path / "spots.json"
    truth = json.loads(annotations.read_text())
    truth["annotations"].append(truth["annotations"][0] | {"id": 3})
    annotations.write_text(json.dumps(truth))
    crowded = import_coco(
        annotations,
        tmp_path / "spot-pictures",
        tmp_path / "crowded",
    ).folder
    track_on(crowded, "t", track_named("ovic-detection"))
    with pytest.raises(
        RefereeError,
        match="needs one object in each image; image 1 has 2",
    ):
        track_on(crowded, "t", track_named("dac-sdc"))


def test_labels_are_part_of_the_digest(colours: TestSet) -> None:
    rule = track_named("ovic-classification")
    before = track_on(colours.folder, "t", rule)
    colours.labels_path.write_text("file,label\n1.jpg,1\n2.jpg,8\n3.jpg,9\n")
    after = track_on(colours.folder, "t", rule)
    assert before.digest != after.digest
    assert before.images_sha256 == after.images_sha256


def test_the_first_images_are_a_set_of_their_own(colours: TestSet) -> None:
    track = track_on(colours.folder, "t", track_named("aiotbench"))
    first = first_images(track, 2)
    assert [image.number for image in first.test_set.images] == [1, 2]
    assert isinstance(first.truth, np.ndarray)
    assert first.truth.tolist() == [7, 8]
    assert first.images_sha256 != track.images_sha256
    assert (
        first_images(track, 50).images_sha256
        == first_images(track, None).images_sha256
        == track.images_sha256
    )


@pytest.mark.parametrize("holdout", [True, False])
def test_a_hold_out_set_whose_images_are_all_public_is_refused_by_whatever_path(
    tmp_path: Path,
    colours: TestSet,
    holdout: bool,
) -> None:
    (tmp_path / "kept").symlink_to(colours.folder)
    tracks = PUBLIC + 'holdout = "../kept"\n'
    failure = refusal(tmp_path, tracks, "ovic-classification", holdout=holdout)
    assert failure.code == "bad-config"
    assert ("every image of the hold-out test set" in failure.sentence) is True


def test_a_hold_out_set_with_an_image_of_its_own_is_taken_and_one_that_is_not_there_yet_is_let_be(
    tmp_path: Path,
    colours: TestSet,
) -> None:
    del colours
    with model_contest(tmp_path / "day", PUBLIC + 'holdout = "../kept"\n') as contest:
        assert open_track(contest, "ovic-classification").split == "public"
        colour_set(tmp_path, ("blue", 9), ("green", 8), name="kept")
        split = open_track(contest, "ovic-classification", holdout=True).split
        assert split == "holdout"
