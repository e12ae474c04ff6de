from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lpirc_client.harness.model_settings import PRESETS
from lpirc_tracks import TRACKS, track_named, track_names
from lpirc_tracks.rules.aiotbench import COOLDOWN_S
from referee.errors import BadTrack, RefereeError
from tests.plugins_installed import Installer, plugins_in
from tests.tracks.runs import entry, measured

SHIPPED = [
    "aiotbench",
    "dac-sdc",
    "lpirc2018-track1",
    "ovic-classification",
    "ovic-detection",
    "results",
]
RULE = """
from dataclasses import dataclass
from lpirc_tracks.track import Track, Verdict

@dataclass(frozen=True, kw_only=True)
class Fastest(Track):
    bonus: float = 0.0

    def budget_s(self, images):
        return None

    def measure(self, result):
        value = 1000 / result.latency_ms + self.bonus
        return Verdict(self.name, value, result.accuracy_percent, result.latency_ms, "fast")

ONE = Fastest(name="{name}", title="Fastest", metric="images/s", task="classification",
              preprocessing="resize", accuracy="top-1")
"""


@pytest.fixture
def installer(tmp_path: Path) -> Iterator[Installer]:
    with plugins_in(tmp_path) as made:
        yield made


def test_the_shipped_tracks_are_found_by_name() -> None:
    assert list(track_names()) == SHIPPED
    assert [track_named(name).name for name in SHIPPED] == SHIPPED


def test_every_track_runs_one_thread_and_says_what_it_needs() -> None:
    told = {name: track_named(name) for name in SHIPPED}
    assert {track.threads for track in told.values()} == {1}
    assert {
        name: (t.task, t.preprocessing, t.accuracy) for name, t in told.items()
    } == {
        "aiotbench": ("classification", "central-square", "top-1"),
        "dac-sdc": ("detection", "resize", "mean-iou"),
        "lpirc2018-track1": ("classification", "central-crop", "top-1"),
        "ovic-classification": ("classification", "central-crop", "top-1"),
        "ovic-detection": ("detection", "resize", "coco-ap"),
        "results": ("detection", "resize", "coco-ap"),
    }
    budgets = {name: track.budget_s(20_000) for name, track in told.items()}
    assert budgets == {
        "aiotbench": None,
        "dac-sdc": None,
        "lpirc2018-track1": 600.0,
        "ovic-classification": 600.0,
        "ovic-detection": 720.0,
        "results": None,
    }


def test_a_new_rule_is_one_file_and_one_line(installer: Installer) -> None:
    source = RULE.format(name="fastest")
    installer.install("some_track", TRACKS.group, "fastest = some_track:ONE", source)
    assert sorted([*SHIPPED, "fastest"]) == list(track_names())
    track = track_named("fastest", {"bonus": 2})
    places = track.rank([entry("ant", 1, 50, 20.0), entry("bee", 2, 50, 10.0)])
    assert [
        (place.rank, place.entry.name, place.verdict.value) for place in places
    ] == [
        (1, "bee", 102.0),
        (2, "ant", 52.0),
    ]


def test_a_built_in_track_keeps_its_name(installer: Installer) -> None:
    source = RULE.format(name="ovic-detection")
    entry = "ovic-detection = some_track:ONE"
    installer.install("some_track", TRACKS.group, entry, source)
    assert type(track_named("ovic-detection")).__module__.startswith("lpirc_tracks.")


def test_a_name_is_given_once(installer: Installer) -> None:
    for one in ("some_track", "other_track"):
        installer.install(one, TRACKS.group, f"fastest = {one}:ONE", "")
    with pytest.raises(RefereeError, match="offer the Track 'fastest'") as caught:
        track_named("fastest")
    assert "some_track 1.0" in caught.value.sentence
    assert track_named("dac-sdc").name == "dac-sdc", "no other one is concerned"


def test_the_former_group_takes_no_name_from_the_present_one(
    installer: Installer,
) -> None:
    source = RULE.format(name="ovic-detection")
    entry = "ovic-detection = some_track:ONE"
    installer.install("some_track", "lpirc_referee.tracks", entry, source)
    with pytest.raises(RefereeError, match="offer the Track 'ovic-detection'"):
        track_named("ovic-detection")


@pytest.mark.parametrize("group", ["lpirc.tracks", "lpirc_referee.tracks"])
def test_a_plug_in_is_found_by_its_entry_point(
    installer: Installer, group: str
) -> None:
    source = RULE.format(name="plugged")
    installer.install("some_track", group, "plugged = some_track:ONE", source)
    assert sorted([*SHIPPED, "plugged"]) == list(track_names())
    assert track_named("plugged").measure(measured(latency_ms=10.0)).value == 100.0


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("plugged", "no_such_module:ONE", "No module named 'no_such_module'"),
        ("plugged", "json:dumps", "is not the Track 'plugged'"),
        ("renamed", "some_track:ONE", "is not the Track 'renamed'"),
        ("plugged", "some_track:SEVEN", "7 is not the Track 'plugged'"),
    ],
)
def test_a_broken_plug_in_is_named_and_harms_no_other(
    installer: Installer, name: str, value: str, word: str
) -> None:
    source = RULE.format(name="other") + "SEVEN = 7\n"
    installer.install("some_track", TRACKS.group, f"{name} = {value}", source)
    assert track_named("ovic-detection").name == "ovic-detection"
    with pytest.raises(RefereeError, match=word) as caught:
        track_named(name)
    assert caught.value.code == "bad-track"
    assert f"{name} = {value} of some_track 1.0" in caught.value.sentence


def test_an_unknown_track_is_told_the_names() -> None:
    with pytest.raises(RefereeError, match=r"'ovic'; the rules are aiotbench, dac-sdc"):
        track_named("ovic")


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        (
            {"speed": 1},
            "unknown setting 'speed'; the settings are k, a0, base, target_ms",
        ),
        ({"name": "x"}, "unknown setting 'name'"),
        ({"k": "17"}, "k = '17' must be a number"),
        ({"k": True}, "k = True must be a number"),
        ({"a0": float("nan")}, "a0 = nan must lie between"),
        ({"a0": 1e7}, "a0 = 10000000.0 must lie between"),
        ({"base": 1}, "base = 1 must be above 1"),
        ({"base": "ln"}, "base = 'ln' must be a number"),
        ({"target_ms": 0}, "target_ms = 0 must be above 0"),
        ({"budget_ms": -5}, "budget_ms = -5 must be above 0"),
        ({"low_factor": 1.3}, "low_factor = 1.3 must not be above high_factor = 1.2"),
        ({"target_ms": 1e-200, "low_factor": 1e-200}, "is too small"),
    ],
)
def test_settings_that_make_no_rule_are_refused(
    settings: dict[str, object], word: str
) -> None:
    with pytest.raises(RefereeError, match=word) as caught:
        track_named("ovic-detection", settings)
    assert caught.value.code == "bad-track-setting"


@pytest.mark.parametrize(
    ("name", "settings", "word"),
    [
        ("lpirc2018-track1", {"budget_ms": 0}, "budget_ms = 0 must be above 0"),
        ("dac-sdc", {"base": 0.5}, "base = 0.5 must be above 1"),
        ("dac-sdc", {"weight": -1}, "weight = -1 must not be below 0"),
        ("dac-sdc", {"needed_fps": -1}, "needed_fps = -1 must not be below 0"),
        ("aiotbench", {"k": 1}, "the settings are none"),
    ],
)
def test_each_rule_checks_its_own_settings(
    name: str, settings: dict[str, object], word: str
) -> None:
    with pytest.raises(RefereeError, match=word):
        track_named(name, settings)


def test_settings_are_told_by_name() -> None:
    assert track_named("dac-sdc", {"base": 10}).settings() == {
        "base": 10.0,
        "weight": 0.2,
        "needed_fps": 5.0,
    }


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_the_client_benches_by_the_numbers_of_the_rule(name: str) -> None:
    preset = PRESETS[name]
    rule = track_named(name)
    assert (preset.task, preset.preprocessing) == (rule.task, rule.preprocessing)
    assert preset.image_budget_s == rule.budget_s(1)
    assert preset.cooldown_s == (COOLDOWN_S if rule.is_suite else 0)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "raise ZeroDivisionError('by zero')",
            r"failed to judge a run: ZeroDivisionError: by zero \(some_track.py, line 13\)",
        ),
        ("return 7", "returned 7 for a run; it must return a Verdict"),
    ],
)
def test_a_rule_that_fails_to_judge_is_one_sentence(
    installer: Installer, body: str, words: str
) -> None:
    line = "value = 1000 / result.latency_ms + self.bonus"
    source = RULE.format(name="plugged").replace(line, body)
    installer.install("some_track", TRACKS.group, "plugged = some_track:ONE", source)
    with pytest.raises(BadTrack, match=f"^The rule plugged {words}"):
        track_named("plugged").rank([entry("one", 1.0, latency_ms=10.0)])


def test_a_rule_of_another_accuracy_is_told_the_words(installer: Installer) -> None:
    source = RULE.format(name="plugged").replace("top-1", "top-5")
    installer.install("some_track", TRACKS.group, "plugged = some_track:ONE", source)
    words = "accuracy = 'top-5' must be one of coco-ap, top-1, mean-iou"
    with pytest.raises(BadTrack, match=words):
        track_named("plugged")
