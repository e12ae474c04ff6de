"""The commands over the real harness, with tiny models whose answers are worked out by hand."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from click.testing import CliRunner, Result

from lpirc_client.harness.confinement import confinement
from lpirc_testsets import load_test_set
from lpirc_tracks import track_named
from lpirc_tracks.submissions import harness
from lpirc_tracks.submissions.harness import Limits
from referee.cli import main
from referee.clock import Clock
from referee.config.tracks import MODELS
from referee.contest import open_contest
from referee.errors import ModelCrashed, ModelFault
from referee.store.entry_withdrawal import EntryWithdrawals
from tests import onnx_models
from tests import tflite_models as models
from tests.confinement import UNCONFINED
from tests.tracks.submissions.model_days import (
    LONG,
    colour_set,
    model_contest,
    result,
    sha256,
    spot_set,
)

TRACKS = f"""\
[[tracks]]
name = "phones"
rule = "lpirc2018-track1"
{UNCONFINED}testset = "../colours"
holdout = "../kept"
submissions_per_day = 2
[[tracks]]
name = "finder"
rule = "ovic-detection"
{UNCONFINED}testset = "../spots"
[tracks.settings]
budget_ms = 1000
[[tracks]]
name = "spots"
rule = "dac-sdc"
{UNCONFINED}testset = "../spots"
"""
ONCE = ("--repeats", "1")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Hall:
    """A contest folder, with test sets and models beside it."""

    folder: Path

    @property
    def day(self) -> Path:
        return self.folder / "day"

    def model(self, name: str, data: bytes) -> Path:
        path = self.folder / f"{name}.tflite"
        path.write_bytes(data)
        return path

    def call(self, *arguments: object) -> Result:
        words = ["model", *map(str, arguments)]
        if words[1] not in ("validate", "bench"):
            words += ["--contest", str(self.day)]
        return CliRunner().invoke(main, words)

    def told(self, *arguments: object) -> Any:
        result = self.call(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def refusal(self, *arguments: object) -> str:
        """What a failing command says on stderr: one line."""
        result = self.call(*arguments)
        assert result.exit_code == 1, result.output
        lines = [
            line for line in result.stderr.splitlines() if line.startswith("referee: ")
        ]
        assert len(lines) == 1
        return lines[0].removeprefix("referee: ")

    def board(self, track: str = "phones", *more: str) -> Any:
        return self.told("board", "--track", track, *more)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hall")
    red = models.RED
    green = models.GREEN
    blue = models.BLUE
    colour_set(folder, ("red", red), ("green", green), ("blue", blue), ("red", green))
    colour_set(folder, ("blue", blue), ("green", red), name="kept")
    spot_set(folder)
    return folder


@pytest.fixture
def hall(prepared: Path, tmp_path: Path) -> Iterator[Hall]:
    folder = tmp_path / "hall"
    shutil.copytree(prepared, folder)
    with model_contest(folder / "day", TRACKS):
        yield Hall(folder)


@pytest.fixture
def at_noon() -> Iterator[None]:
    """Commands see a day with twelve hours to go: at midnight a daily limit begins again."""
    ahead = NOON - datetime.now(UTC)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Clock, "utc", lambda _: datetime.now(UTC) + ahead)
        yield


@pytest.mark.usefixtures("at_noon")
def test_a_classifier_is_measured_ranked_and_measured_again(hall: Hall) -> None:
    model = hall.model("mean", models.classifier())
    submit = ("submit", model, "--track", "phones", "--team", "alpha", *ONCE)
    first = hall.told(*submit)
    # Three of the four pictures carry the label of their colour.
    assert first["measurement"]["metric"] == 75.0
    assert first["measurement"]["measured"]["processed"] == 4
    is_confined = bool(confinement().prefix)
    assert (
        first["measurement"]["confined"]
        is hall.board()["places"][0]["confined"]
        is is_confined
    )
    assert hall.call("list").stdout.endswith(
        "[confined]\n" if is_confined else "[not confined]\n"
    )
    again = hall.call(*submit, "--build", "two", "--json")
    second = json.loads(again.stdout)
    assert (
        again.stderr == "build 2 of this model; 2 of 2 submissions of today are used\n"
    )
    assert second["model_sha256"] == first["model_sha256"]
    (place,) = hall.board()["places"]
    assert place["rank"] == 1
    assert place["team"] == "alpha"
    assert place["metric"] == 75.0
    assert place["builds"] == 2
    # Equal values: the earlier submission is the one that counts.
    assert place["submission"] == first["id"]
    assert "used up 2 of its 2 submissions" in hall.refusal(*submit)
    assert hall.board()["places"] == [place]
    # The hold-out set is no way around the limit, and no part of the public standings: one of its two is right.
    held = hall.told(
        "remeasure", "--track", "phones", "--build", "final", "--holdout", *ONCE
    )
    assert held["measurement"]["metric"] == 50.0
    assert held["counts"] is False
    assert [one["metric"] for one in hall.board("phones", "--holdout")["places"]] == [
        50.0
    ]
    assert hall.board()["places"] == [place]
    assert [one["split"] for one in hall.told("list")] == [
        "public",
        "public",
        "holdout",
    ]
    assert len(list((hall.day / MODELS).iterdir())) == 1


@pytest.mark.parametrize("quantized", [False, True])
def test_a_detector_finds_what_was_painted(hall: Hall, quantized: bool) -> None:
    made = found(hall, quantized=quantized)
    assert made["measurement"]["measured"]["accuracy_percent"] == pytest.approx(100)
    expected = 100 - (16.894553358968146 * math.log(24) - 34.42191514521174)
    assert made["measurement"]["metric"] == pytest.approx(expected)
    assert made["measurement"]["figures"]["counted_latency_ms"] == 24.0


def test_an_unstable_latency_is_shown_as_to_be_measured_again_and_never_as_not_valid(
    hall: Hall,
) -> None:
    model = hall.model("mean", models.classifier())
    colours = load_test_set(hall.folder / "colours")
    busy = result(
        colours,
        models.classifier(),
        [7, 8, 1000, 8],
        **LONG,
        latency__processor_share=0.5,
    )
    file = hall.folder / "result.json"
    file.write_text(json.dumps(busy))
    told = hall.refusal(
        "submit", model, "--track", "phones", "--team", "alpha", "--result", file
    )
    again = "Submission 1 is to be measured again, with: referee model remeasure"
    assert f"{again} --contest {hall.folder}" in told
    assert "; the latency is unstable" in told
    shown = hall.call("list").stdout + hall.call("board", "--track", "phones").stdout
    assert (
        shown.count(
            "to be measured again: the latency is unstable, the model had a processor for only 50%"
        )
        == 2
    )
    assert "not valid" not in shown
    assert [one["unstable"] for one in hall.board()["invalid"]] == [True]
    assert [one["counts"] for one in hall.told("list")] == [False]


def found(hall: Hall, *, quantized: bool = False) -> Any:
    """A submission of the detector to its track."""
    model = hall.model("cells", models.detector(quantized=quantized))
    return hall.told("submit", model, "--track", "finder", "--team", "beta", *ONCE)


def test_board_and_list_judge_by_the_present_settings(hall: Hall) -> None:
    made = found(hall)
    drawing = hall.folder / "board.svg"
    assert len(hall.board("finder", "--plot", str(drawing))["places"]) == 1
    assert drawing.read_text().startswith("<?xml")
    columns = ("accuracy_on_classified", "classified", "reference_accuracy")
    (place,) = hall.board("finder")["places"]
    assert [round(place[name], 4) for name in columns] == [1.0, 2, 0.1927]
    assert (
        "accuracy_per_ms"
        in hall.call("board", "--track", "finder", "--csv").stdout.splitlines()[0]
    )
    assert "reference accuracy" in hall.call("board", "--track", "finder").stdout
    assert hall.call("board", "--track", "finder").stderr == ""
    config = hall.day / "contest.toml"
    config.write_text(
        config.read_text().replace(
            "budget_ms = 1000",
            "budget_ms = 1000\nk = 12.5\na0 = 40",
        )
    )
    (listed,) = hall.told("list")
    (place,) = hall.board("finder")["places"]
    assert (
        listed["measurement"]["metric"]
        == place["metric"]
        == pytest.approx(60 - 12.5 * math.log(24))
    )
    assert listed["measurement"]["sentence"] == place["sentence"]
    config.write_text(config.read_text().replace("a0 = 40", "a0 = 80"))
    told = hall.call("board", "--track", "finder", "--csv").stderr
    assert told.startswith(
        "referee: warning: The frontier a(t) = 12.5 ln t + 80 is implausible"
    )
    config.write_text(config.read_text().replace("budget_ms = 1000", "budget_ms = -1"))
    told = hall.call("list", "--json")
    assert json.loads(told.stdout) == [made | {"broken_off": False}]  # as it was judged
    assert told.stderr.startswith("referee: warning: ")
    assert "budget_ms = -1" in told.stderr
    config.write_text(config.read_text().replace('"finder"', '"former"'))
    # As it was judged: the rule is gone.
    assert hall.told("list") == [made | {"broken_off": False}]
    assert "ends in .png or .svg" in hall.refusal(
        "board", "--track", "finder", "--plot", "board.txt"
    )


def test_a_bench_on_one_machine_is_handed_in_on_another(hall: Hall) -> None:
    model = hall.model("mean", models.classifier(quantized=True))
    bench = (
        "bench",
        model,
        "--track",
        "lpirc2018-track1",
        "--images",
        hall.folder / "colours",
        *ONCE,
    )
    document = hall.told(*bench)
    assert document["verdict"]["value"] == 75.0
    assert document["energy"] is None
    result = hall.folder / "result.json"
    result.write_text(json.dumps(document))
    made = hall.told(
        "submit", model, "--track", "phones", "--team", "beta", "--result", result
    )
    assert made["measurement"]["device"] == document["device"]["host"]
    # A contestant's own improvement cannot be told.
    document["predictions"]["labels"][3][1] = models.GREEN
    # But this one can.
    document["latency"]["mean_ms"] = document["latency"]["max_ms"] * 2
    result.write_text(json.dumps(document))
    assert "latency.mean_ms" in hall.refusal(
        "submit", model, "--track", "phones", "--team", "beta", "--result", result
    )
    assert [one["metric"] for one in hall.board()["places"]] == [75.0]
    table = hall.call("board", "--track", "phones").stdout
    assert "beta" in table
    (row,) = csv.DictReader(
        io.StringIO(hall.call("board", "--track", "phones", "--csv").stdout)
    )
    assert row["team"] == "beta"
    assert row["metric"] == "75.0"


def test_a_meter_beside_the_bench_gives_the_energy_of_an_inference(hall: Hall) -> None:
    model = hall.model("cells", models.detector())
    metered = (
        "--meter",
        "sim:constant:36W",
        "--energy-loop",
        "2",
        "--idle",
        "0.5",
        *ONCE,
    )
    made = hall.told("submit", model, "--track", "spots", "--team", "alpha", *metered)
    with open_contest(hall.day) as contest:
        document = json.loads(contest.store.submissions.result(made["id"]) or b"")
    energy = document["energy"]
    loop_s = energy["loop_s"]
    inferences = document["energy_loop"]["inferences"]
    assert loop_s == pytest.approx(2, rel=0.2)
    assert energy["mean_power_w"] == pytest.approx(36, rel=0.01)
    assert energy["inference_j"] == pytest.approx(36 * loop_s / inferences, rel=0.01)
    assert energy["idle_power_w"] == pytest.approx(36, rel=0.01)
    assert made["measurement"]["measured"]["energy_wh"] == pytest.approx(
        2 * energy["inference_wh"]
    )
    (place,) = hall.board("spots")["places"]
    assert place["official"] is False
    # By itself an entry has the mean energy: a full overlap scores 1 x (1 + 1).
    assert place["metric"] == pytest.approx(2.0)


def test_a_track_that_needs_energy_takes_nothing_without_it_and_says_so_before_anything_is_measured(
    hall: Hall,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = hall.model("cells", models.detector())
    document = hall.told(
        "bench", model, "--track", "dac-sdc", "--images", hall.folder / "spots", *ONCE
    )
    assert "has no energy" in document["verdict"]["sentence"]
    result = hall.folder / "result.json"
    result.write_text(json.dumps(document))
    submit = ("submit", model, "--track", "spots", "--team", "alpha")
    assert "energy is null, the track spots needs it" in hall.refusal(
        *submit, "--result", result
    )
    monkeypatch.setattr(harness, "PROGRAM", ("/nowhere",))
    for words in (submit, ("remeasure", "--track", "spots", "--build", "b")):
        told = hall.refusal(*words)
        assert (
            told
            == "The track spots ranks only runs with measured energy; measure the energy with --meter."
        )
    assert hall.told("list") == []


def test_a_model_that_would_be_measured_on_another_device_than_the_boards_is_refused_at_once(
    hall: Hall,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = hall.day / "contest.toml"
    config.write_text(
        config.read_text().replace('"phones"\n', '"phones"\ndevice = "pi"\n')
    )
    monkeypatch.setattr(harness, "PROGRAM", ("/nowhere",))
    model = hall.model("mean", models.classifier())
    told = hall.refusal("submit", model, "--track", "phones", "--team", "alpha")
    assert (
        "but the board of the track phones lists measurements on 'pi'; measure the model there."
        in told
    )
    assert hall.told("list") == []


Bad = Callable[[], bytes]


@pytest.mark.parametrize(
    ("name", "made", "told"),
    [
        ("garbage", lambda: b"no model at all, really", "not a TFLite flatbuffer"),
        ("nothing", lambda: b"", "the file is empty"),
        (
            "detector",
            models.detector,
            "its number of outputs is 4; classification has 1",
        ),
        ("endless", models.endless, "no answer within"),
        ("greedy", models.greedy, "more than the 2048 MB of memory"),
    ],
)
def test_a_bad_model_is_told_in_one_sentence_and_the_board_is_unharmed(
    hall: Hall,
    name: str,
    made: Bad,
    told: str,
) -> None:
    model = hall.model(name, made())
    limits = ("--timeout-s", "0.5")
    assert told in hall.refusal(
        "submit", model, "--track", "phones", "--team", "alpha", *limits
    )
    assert hall.told("list") == []
    board = hall.board()
    assert board["track"] == "phones"
    assert board["split"] == "public"
    assert board["places"] == []
    assert board["invalid"] == []
    told_empty = hall.call("board", "--track", "phones").stdout
    assert (
        told_empty
        == "phones (LPIRC 2018 track 1), public test set: no valid submission yet.\n"
    )
    assert not (hall.day / MODELS).exists()
    (told_list,) = hall.call("list").stderr.splitlines()
    assert (
        told_list == "No model has been submitted yet; see: referee model submit --help"
    )


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("endless", models.endless),
        ("greedy", models.greedy),
    ],
)
def test_a_model_that_only_fails_when_it_is_measured_is_listed_as_not_valid_and_uses_up_a_submission(
    hall: Hall,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    made: Bad,
) -> None:
    # As by a model that the validator finds nothing against.
    monkeypatch.setattr(harness, "refusals", lambda *_: ())
    model = hall.model(name, made())
    submit = (
        "submit",
        model,
        "--track",
        "phones",
        "--team",
        "alpha",
        "--timeout-s",
        "0.5",
    )
    assert "Submission 1 is not valid: " in hall.refusal(*submit)
    board = hall.board()
    assert board["places"] == []
    (invalid,) = board["invalid"]
    assert invalid["team"] == "alpha"
    assert invalid["submission"] == 1
    assert invalid["sentence"].startswith(f"{name}.tflite: ")
    assert "--memory-mb" in invalid["sentence"] or "--timeout-s" in invalid["sentence"]
    (listed,) = hall.told("list")
    assert listed["counts"] is True
    assert listed["withdrawn"] is None


def test_a_model_that_cannot_run_confined_does_not_run_unless_its_track_says_so(
    hall: Hall,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing = hall.folder / "bin"
    nothing.mkdir()
    monkeypatch.setenv("PATH", str(nothing))
    config = hall.day / "contest.toml"
    config.write_text(config.read_text().replace(UNCONFINED, ""))
    file = hall.model("good", models.classifier())
    words = ("submit", file, "--track", "phones", "--team", "alpha", *ONCE)
    told = hall.refusal(*words)
    assert told.startswith(
        "Models cannot run confined here: bubblewrap (bwrap) is not installed; install"
    )
    assert "unconfined = true in its [[tracks]] of contest.toml" in told
    assert hall.call("list").stdout == ""

    def doctor() -> tuple[int, str]:
        found = CliRunner().invoke(main, ["doctor", str(hall.day)])
        assert "Models run confined" not in found.stderr
        lines = [
            line for line in found.stdout.splitlines() if "The track phones" in line
        ]
        assert len(lines) == 1
        return found.exit_code, lines[0]

    code, line = doctor()
    assert code == 1
    assert (
        line.partition(" Models cannot")[0]
        == "not-confined: The track phones takes no models:"
    )
    config.write_text(
        config.read_text().replace("[[tracks]]", "[[tracks]]\nunconfined = true")
    )
    _, line = doctor()
    assert line.startswith(
        "advice, not-confined: The track phones runs models with all rights of the server's user:"
    )
    made = hall.told(*words)
    assert made["measurement"]["confined"] is False
    assert made["counts"] is True


@pytest.fixture
def terminal() -> Iterator[None]:
    """Ctrl-C and a closed terminal end us, also where the tests run without one, or in the background of a shell."""
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    hangup = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGHUP, hangup)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_measurement_that_is_broken_off_is_given_up_and_costs_nothing(
    hall: Hall,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
) -> None:
    def interrupted(*_: Any, **__: Any) -> bytes:
        signal.raise_signal(number)
        raise AssertionError("it went on")

    monkeypatch.setattr(harness, "bench", interrupted)
    model = hall.model("mean", models.classifier())
    told = hall.call("submit", model, "--track", "phones", "--team", "alpha")
    assert told.exit_code == 130
    assert told.stdout == ""
    assert (
        told.stderr
        == "referee: interrupted; a submission that was being measured is cancelled and uses no attempt.\n"
    )
    assert [one["withdrawn"] for one in hall.told("list")] == [
        "the measurement was interrupted"
    ]
    assert "given up: the measurement was interrupted" in hall.call("list").stdout
    assert hall.board()["invalid"] == []


def test_a_models_name_is_no_option(
    hall: Hall,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(hall.model("-m", models.classifier()).parent)
    stdout = hall.call(
        "validate", "--track", "ovic-classification", "--", "-m.tflite"
    ).stdout
    assert stdout == "ok\n"


def test_an_interruption_just_when_the_harness_has_ended_is_one(
    hall: Hall,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    communicate = subprocess.Popen.communicate

    def interrupted(process: subprocess.Popen[bytes]) -> Any:
        communicate(process)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        harness.refusals(
            hall.folder / "nothing.tflite",
            track_named("ovic-detection"),
            Limits(),
        )


def test_validate_says_ok_or_every_refusal(hall: Hall) -> None:
    good = hall.model("good", models.classifier())
    stdout = hall.call("validate", good, "--track", "ovic-classification").stdout
    assert stdout == "ok\n"
    bad = hall.model("bad", models.constant_answers((2, 8, 1001, 4), "float32"))
    told = hall.call("validate", bad, "--track", "ovic-classification", "--json")
    refusals = json.loads(told.stdout)["refusals"]
    for word in ("float32", "2 images at once", "4 channels", "1 to 1000", "outputs"):
        assert sum(word in one for one in refusals) == 1, refusals
    assert told.exit_code == 1
    assert told.stderr == f"referee: {bad} is refused, for {len(refusals)} reasons.\n"


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ("file,label\n", "no labels below the header"),
        ("file,label\n1.jpg,0\n2.jpg,8\n3.jpg,1000\n4.jpg,8\n", "label '0' is not a whole number from 1 to 1000"),
        ("file,label\n1.jpg,7\n2.jpg,8\n3.jpg,1001\n4.jpg,8\n", "label '1001' is not a whole number from 1 to 1000"),
    ],
)  # fmt: skip
def test_bad_labels_are_told_before_anything_is_measured(
    hall: Hall,
    labels: str,
    told: str,
) -> None:
    model = hall.model("mean", models.classifier())
    (hall.folder / "colours" / "labels.csv").write_text(labels)
    assert told in hall.refusal("submit", model, "--track", "phones", "--team", "alpha")
    images = hall.folder / "colours"
    assert told in hall.refusal(
        "bench", model, "--track", "lpirc2018-track1", "--images", images
    )
    assert hall.told("list") == []


def test_a_test_set_that_is_none_is_told(hall: Hall) -> None:
    model = hall.model("mean", models.classifier())
    empty = hall.folder / "empty"
    empty.mkdir()
    bench = ("bench", model, "--track", "lpirc2018-track1", "--images")
    assert "no manifest.json in it" in hall.refusal(*bench, empty)
    assert "no such folder" in hall.refusal(*bench, hall.folder / "nowhere")


def test_a_submission_is_withdrawn_with_a_reason(hall: Hall) -> None:
    model = hall.model("mean", models.classifier())
    made = hall.told("submit", model, "--track", "phones", "--team", "alpha", *ONCE)
    told = hall.call("withdraw", made["id"], "--reason", "fan was off").stdout
    assert "withdrawn: fan was off" in told
    assert "withdrawn: fan was off" in hall.call("list", "--track", "phones").stdout
    assert hall.board()["places"] == []
    assert "no submission 7" in hall.refusal("withdraw", 7, "--reason", "x")


@pytest.mark.parametrize(
    "words",
    [
        (
            "submit",
            "m.tflite",
            "--track",
            "phones",
            "--team",
            "a",
            "--energy-loop",
            "5",
        ),
        (
            "submit",
            "m.tflite",
            "--track",
            "phones",
            "--team",
            "a",
            "--meter",
            "sim:",
            "--result",
            "r.json",
        ),
        ("board", "--track", "phones", "--json", "--csv"),
        (
            "bench",
            "m.tflite",
            "--track",
            "phones",
            "--images",
            "x",
            "--meter",
            "sim:",
            "--idle",
            "nan",
        ),
        (
            "bench",
            "m.tflite",
            "--track",
            "phones",
            "--images",
            "x",
            "--meter",
            "sim:",
            "--energy-loop",
            "inf",
        ),
        ("withdraw", "1", "--reason", "a\nb"),
        ("withdraw", "1", "--reason", " "),
    ],
)
def test_options_that_contradict_each_other_or_make_no_sense_are_wrong_usage(
    hall: Hall,
    words: tuple[str, ...],
) -> None:
    assert hall.call(*words).exit_code == 2


@pytest.mark.usefixtures("at_noon")
def test_a_submission_whose_referee_was_killed_is_told_from_one_that_is_being_measured(
    hall: Hall,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[bool] = []

    def killed(*_: Any, **__: Any) -> bytes:
        seen.extend(one["broken_off"] for one in hall.told("list"))
        assert "being measured\n" in hall.call("list").stdout
        raise KeyboardInterrupt

    monkeypatch.setattr(harness, "bench", killed)
    # As SIGKILL leaves it.
    monkeypatch.setattr(
        EntryWithdrawals,
        "give_up",
        lambda *_: None,
    )
    model = hall.model("mean", models.classifier())
    for _ in range(2):
        hall.call("submit", model, "--track", "phones", "--team", "alpha")
    assert seen == [False, True, False]
    lines = hall.call("list").stdout.splitlines()
    assert all(
        f"it used an attempt; give the attempt back with: referee model uncount {one}"
        in lines[one - 1]
        for one in (1, 2)
    )
    monkeypatch.undo()
    assert "used up 2 of its 2" in hall.refusal(
        "submit", model, "--track", "phones", "--team", "alpha", *ONCE
    )
    hall.call("uncount", 1, "--reason", "power cut")
    assert "interrupted; it used no attempt" in hall.call("list").stdout
    assert (
        hall.told("submit", model, "--track", "phones", "--team", "alpha", *ONCE)["id"]
        == 3
    )


def test_a_board_tells_its_rule_with_the_settings_it_judged_by(hall: Hall) -> None:
    told = hall.board("finder")["rule"]
    assert told["name"] == "ovic-detection"
    assert told["title"] == "OVIC object detection"
    assert told["settings"]["budget_ms"] == 1000
    assert told["settings"]["target_ms"] == 30
    assert hall.call("board", "--track", "finder").stdout.startswith(
        "finder (OVIC object detection), public"
    )


@pytest.fixture
def measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real harness examines and measures each model once; another time it answers the same."""

    def once(call: Callable[..., Any]) -> Callable[..., Any]:
        answers: dict[bytes, Any] = {}

        def answer(model: Path, *arguments: Any, **named: Any) -> Any:
            data = model.read_bytes()
            if data not in answers:
                answers[data] = call(model, *arguments, **named)
            return answers[data]

        return answer

    for name in ("refusals", "bench"):
        monkeypatch.setattr(harness, name, once(getattr(harness, name)))


@pytest.mark.usefixtures("measured_once")
def test_a_model_that_is_gone_or_fails_keeps_no_other_from_being_measured_again(
    hall: Hall,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = [
        hall.model("one", models.classifier()),
        hall.model("two", models.classifier(quantized=True)),
    ]
    limits = ("--repeats", 1)
    kept = [
        hall.told("submit", model, "--track", "phones", "--team", team, *limits)[
            "model_sha256"
        ]
        for model, team in [
            (made[0], "alpha"),
            (made[1], "alpha"),
            (made[1], "beta"),
        ]
    ]
    (hall.day / MODELS / f"{kept[0]}.tflite").unlink()
    bench = harness.bench
    benched = iter([ModelCrashed("model-timeout", "No answer within 1 s."), None])

    def failing_first(model: Path, **named: Any) -> bytes:
        if failure := next(benched):
            raise failure
        return bench(model, **named)

    monkeypatch.setattr(harness, "bench", failing_first)
    told = hall.call("remeasure", "--track", "phones", "--build", "later", *limits)
    assert told.exit_code == 1
    assert (
        told.stderr.splitlines()[-1] == "referee: 2 of 3 models could not be measured."
    )
    assert "of submission 1," in told.stderr
    later = [
        one["measurement"]["valid"]
        for one in hall.told("list")
        if one["build"] == "later"
    ]
    assert later == [False, True]


@pytest.mark.usefixtures("measured_once")
def test_a_model_that_is_damaged_or_refused_keeps_no_other_from_being_measured_again(
    hall: Hall,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = [
        ("alpha", models.classifier()),
        ("beta", models.classifier(quantized=True)),
    ]
    first, _ = (
        hall.told(
            "submit", hall.model(team, data), "--track", "phones", "--team", team, *ONCE
        )
        for team, data in made
    )
    bench = harness.bench
    failures = [ModelFault(code, "No.") for code in ("bad-result", "wrong-outputs")]

    def failing_first(model: Path, **named: Any) -> bytes:
        if model.name.startswith(first["model_sha256"]):
            raise failures.pop()
        return bench(model, **named)

    monkeypatch.setattr(harness, "bench", failing_first)
    for build in ("two", "three"):
        assert "1 of 2 models could not be" in hall.refusal(
            "remeasure", "--track", "phones", "--build", build, *ONCE
        )
    (hall.day / MODELS / f"{first['model_sha256']}.tflite").write_bytes(
        bytes(len(made[0][1]))
    )
    again = ("remeasure", "--track", "phones", "--build", "four", *ONCE)
    for told in (hall.call(*again), hall.call(*again)):
        assert "The model of submission 1, " in told.stderr
        assert "is gone or damaged; restore it." in told.stderr
    listed = [
        (one["team"], one["build"], one["withdrawn"]) for one in hall.told("list")[2:]
    ]
    assert listed == [
        *(
            ("alpha", "two", "No."),
            ("beta", "two", None),
            ("alpha", "three", "No."),
            ("beta", "three", None),
        ),
        ("beta", "four", None),
    ]
    config = hall.day / "contest.toml"
    config.write_text(
        config.read_text().replace('"phones"\n', '"phones"\ndevice = "pi"\n')
    )
    assert "lists measurements on 'pi'" in hall.refusal(
        "remeasure", "--track", "phones", "--build", "five"
    )
    assert len(hall.told("list")) == 7


PAGE = (Path(__file__).parents[3] / "docs" / "model-board.md").read_text()


def block(start: str) -> str:
    """The indented block of the page that begins with these words."""
    lines = PAGE[PAGE.index(f"    {start}") :].splitlines()
    return "\n".join(
        line[4:]
        for line in itertools.takewhile(lambda line: line.startswith("    "), lines)
    )


@pytest.fixture
def elsewhere(
    hall: Hall,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """The page's example of a document, with the digest that the page's program prints."""
    monkeypatch.chdir(hall.folder / "colours")
    exec(block("import hashlib, json"))  # noqa: S102 - our own page
    path = hall.folder / "found.json"
    path.write_text(
        block("{\n").replace('"..."', f'"{capsys.readouterr().out.strip()}"')
    )
    return path


def test_a_document_written_by_hand_from_the_page_is_ranked_and_says_who_measured_it(
    hall: Hall,
    elsewhere: Path,
) -> None:
    who = "Acme <b>& [red]cloud $^$"
    origin = f"(measured by {who}, not by the organiser)"
    words = (
        "submit",
        "--track",
        "phones",
        "--team",
        "alpha",
        "--result",
        elsewhere,
        "--measured-by",
        who,
    )
    made = hall.told(*words)
    # Three of the four pictures carry the label that the page's example gives.
    assert made["measurement"]["metric"] == 75.0
    assert made["measured_by"] == who
    assert made["model_sha256"] == ""
    assert made["measurement"]["device"] == "Snapdragon 8 Elite"
    assert "was handed in already, as submission 1" in hall.refusal(*words)
    assert f"alpha {origin}" in hall.call("board", "--track", "phones").stdout
    (row,) = csv.DictReader(
        io.StringIO(hall.call("board", "--track", "phones", "--csv").stdout)
    )
    assert row["measured_by"] == who
    assert row["sentence"].endswith(origin) is True
    (place,) = hall.board()["places"]
    assert place["measured_by"] == who
    assert place["latency_ms"] == 1.92
    assert place["confined"] is None
    line = hall.call("list").stdout.strip()
    assert line.endswith(origin)
    assert "(no model file; " in line
    drawing = hall.folder / "board.svg"
    hall.board("phones", "--plot", str(drawing))
    assert escape(origin) in drawing.read_text()
    stdout = hall.call("remeasure", "--track", "phones").stdout
    assert stdout == "Nothing is left to measure.\n"
    assert not (hall.day / MODELS).exists()


def test_a_document_of_another_program_needs_its_author_and_the_boards_device_and_images(
    hall: Hall,
    elsewhere: Path,
) -> None:
    model = hall.model("net", b"DLC, for another runtime")
    text = elsewhere.read_text()
    words = (
        "submit",
        model,
        "--track",
        "phones",
        "--team",
        "beta",
        "--result",
        elsewhere,
    )
    assert "name who measured the model with --measured-by NAME" in hall.refusal(*words)
    by = ("--measured-by", "beta itself")
    made = hall.told(*words, *by)
    assert made["model_file"] == "net.tflite"
    assert made["model_sha256"] == sha256(b"DLC, for another runtime")
    assert not (hall.day / MODELS).exists()
    elsewhere.write_text(text.replace("Elite", "Gen 3"))
    refusal = hall.refusal(*words, *by)
    assert (
        "but the board of the track phones lists measurements on 'Snapdragon 8 Elite'"
        in refusal
    )
    elsewhere.write_text(text.replace('"sha256": "', '"sha256": "0'))
    assert "images.sha256 is '0" in hall.refusal(*words, *by)
    stderr = hall.call(*words, "--measured-by", "b" * 101).stderr
    assert "at most 100 characters" in stderr
    for incomplete in (
        (words[0], *words[2:6]),
        (*words[:6], *by),
        (words[0], *words[2:]),
    ):
        assert hall.call(*incomplete).exit_code == 2


def test_a_track_takes_onnx_where_its_contest_and_its_rule_say_so(hall: Hall) -> None:
    model = hall.folder / "mean.onnx"
    model.write_bytes(onnx_models.classifier("float32", first=True, outputs=1000))
    submit = ("submit", model, "--track", "phones", "--team", "alpha", *ONCE)
    assert "mean.onnx: not a TFLite flatbuffer" in hall.refusal(*submit)
    config = hall.day / "contest.toml"
    config.write_text(
        config.read_text().replace('"phones"\n', '"phones"\nruntime = "any"\n')
    )
    made = hall.told(*submit)
    assert made["measurement"]["metric"] == 75.0
    assert made["measured_by"] is None
    assert [one.name for one in (hall.day / MODELS).iterdir()] == [
        f"{made['model_sha256']}.onnx"
    ]
    metric = hall.told("remeasure", "--track", "phones", "--build", "b", *ONCE)[
        "measurement"
    ]["metric"]
    assert metric == 75.0
    config.write_text(
        config.read_text().replace('"finder"\n', '"finder"\nruntime = "onnxruntime"\n')
    )
    told = hall.refusal("board", "--track", "finder")
    assert told.endswith(
        "track 'finder': runtime = 'onnxruntime'; ovic-detection takes litert"
    )
