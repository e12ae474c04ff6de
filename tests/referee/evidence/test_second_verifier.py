"""The stand-alone verifier says of every bundle what `referee bundle verify` says."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from referee.evidence.bundle_container import (
    ENVELOPE,
    FORMAT,
    GROUND_TRUTH,
    MANIFEST,
    BadBundle,
    pack,
    unpack,
)
from referee.evidence.bundle_verification import verify
from referee.evidence.given_facts import Given
from referee.evidence.signed_statement import sign
from referee.store.run_rules import rules_of
from tests.referee.evidence.proved import (
    SCRIPT,
    SECOND,
    Proved,
    Texts,
    by_main,
    by_second,
    failed,
    lines,
    opened,
    sealed_parts,
    sentences,
)
from tests.referee.evidence.tampered import tampered

MOST_LINES = 400
FILES = sorted(SCRIPT.parent.glob("verify_*.py"))
LEFT_OUT = {"checks"}  # of the items that `by_main` looks at
BUNDLES = ["others", "judged", "empty", "unjudged"]
RUN = "run.json"
RESULT = "result.json"
JUDGEMENTS = "judgements.json"
POSTS = "posts.jsonl.gz"
READINGS = "readings.csv.gz"


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_as_exported_holds(proved: dict[str, Proved], name: str) -> None:
    one = proved[name]
    given = (one.data, one.receipts, one.key.public)
    mine = by_second(*given)
    its = by_main(*given)
    assert failed(mine) == failed(its) == []
    assert {*its} - {*mine} <= LEFT_OUT
    assert {*mine} <= {*its}


def test_a_bundle_of_format_1_holds_for_ever() -> None:
    assert (
        failed(by_second(Path(__file__).with_name("format-1.zip").read_bytes())) == []
    )


def test_a_bundle_of_format_3_names_no_makers_and_holds_for_ever() -> None:
    data = Path(__file__).with_name("format-3.zip").read_bytes()
    rules = json.loads(opened(data)[RUN])["run"]["rules"]
    assert "official_makers" not in rules
    assert rules_of(rules).makers == ("YOKOGAWA",)
    for verifier in (by_main, by_second):
        found = verifier(data)
        assert failed(found) == []
        assert found["rules"] == found["run-chain"] == found["score"] == ""


@pytest.mark.parametrize("number", [4, 5])
def test_a_bundle_without_a_budget_holds_for_ever(number: int) -> None:
    """Format 4 is of an interval by the limit of error, format 5 of the rule least-energy."""
    data = Path(__file__).with_name(f"format-{number}.zip").read_bytes()
    assert "energy_budget" not in json.loads(opened(data)[RESULT])
    for verifier in (by_main, by_second):
        found = verifier(data)
        assert failed(found) == []
        assert found["score"] == found["checks" if verifier is by_main else "map"] == ""
    items = {item.name: item for item in verify(data, Given(interval=True))}
    assert items["interval"].outcome == ("ok" if number == 4 else "not checked")


def test_a_bundle_of_coco_whose_sums_had_another_order_holds_for_ever() -> None:
    data = Path(__file__).with_name("format-2-coco.zip").read_bytes()
    # As exact sums: ...069.
    assert json.loads(opened(data)["result.json"])["map"] == 0.5039306930693068
    for verifier in (by_main, by_second):
        found = verifier(data)
        assert failed(found) == []
        assert found["map"] == found["score"] == ""


def test_a_secret_ground_truth_is_asked_for(proved: dict[str, Proved]) -> None:
    judged = proved["judged"]
    texts = opened(proved["judged"].data)
    del texts[GROUND_TRUTH]
    manifest = json.loads(texts[MANIFEST])
    manifest["predicate"]["ground_truth"] = "secret"
    data = judged.sealed(texts | {MANIFEST: lines([manifest])})
    without = SECOND.verify(data).wrong
    assert not failed(without)
    assert not {"map", "score"} & {*without}
    truth = (judged.testset / "ground_truth.json").read_bytes()
    assert SECOND.verify(data, truth=truth).wrong["map"] == ""
    of_other = SECOND.verify(data, truth=truth + b" ").wrong
    assert not {"map", "score"} & {*of_other}
    assert failed(of_other) == ["ground-truth"]
    assert "give the run's test set, or leave --testset" in of_other["ground-truth"]


def _with(
    texts: Texts,
    name: str,
    old: str,
    new: str,
    most: int = -1,
) -> Texts:
    before = texts[name].decode()
    assert old in before
    return texts | {name: before.replace(old, new, most).encode()}


def _with_value(
    texts: Texts,
    name: str,
    *path: str,
    value: object,
) -> Texts:
    document = json.loads(texts[name])
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return texts | {name: lines([document])}


def _with_last(texts: Texts, name: str, **values: object) -> Texts:
    """With other values in the last of a list, or of lines."""
    if name == JUDGEMENTS:
        *others, last = json.loads(texts[name])
        return texts | {name: lines([[*others, last | values]])}
    *others, last = texts[name].splitlines(keepends=True)
    return texts | {name: b"".join([*others, lines([json.loads(last) | values])])}


def _by_metric_version_7(texts: Texts) -> Texts:
    """Rules and judgements of another version than the manifest's."""
    old = '"metric_version": 1'
    new = '"metric_version": 7'
    return _with(texts, RUN, old, new) | {
        JUDGEMENTS: texts[JUDGEMENTS]
        .replace(old.encode(), new.encode())
        .replace(b"rules:1|", b"rules:7|")
    }


WRONG: dict[str, Callable[[Texts], Texts]] = {
    "energy": lambda texts: _with_value(texts, RUN, "run", "energy_wh", value=0.001),
    "map": lambda texts: _with_value(texts, RESULT, "map", value=0.9),
    "map-ilsvrc-det": lambda texts: _with_value(
        texts,
        RESULT,
        "map_ilsvrc_det",
        value=0.9,
    ),
    "ap": lambda texts: _with_value(texts, RESULT, "ap", "1", value=0.5),
    "detections": lambda texts: _with_value(texts, RESULT, "detections", value=5),
    "score": lambda texts: _with_value(texts, RESULT, "score", value=1000.0),
    "team": lambda texts: _with_value(texts, RUN, "run", "team", value="bees"),
    "window": lambda texts: _with_value(texts, RUN, "run", "window_s", value=60.0),
    "unserved": lambda texts: (
        texts | {"served.csv.gz": b"image,elapsed_s,bytes\n1,0.5,100\n"}
    ),
    "readings": lambda texts: (
        texts | {"readings.csv.gz": texts["readings.csv.gz"].replace(b"36.0", b"18.0")}
    ),
    "content-type": lambda texts: _with(texts, POSTS, "text/csv", "application/json"),
    "accepted": lambda texts: _with(texts, POSTS, '"refused": 2', '"refused": 1'),
    "order": lambda texts: (
        texts
        | {"image_order.json": lines([json.loads(texts["image_order.json"])[::-1]])}
    ),
    "category": lambda texts: _with(texts, "testset.json", "[[1, ", "[[7, "),
    "digest": lambda texts: _with_value(
        texts,
        "testset.json",
        "ground_truth_sha256",
        value="0" * 64,
    ),
    "judged": lambda texts: _with(texts, "events.jsonl.gz", "lpirc|iou", "coco|iou"),
    "least-map": lambda texts: _with_value(
        texts,
        RUN,
        "run",
        "rules",
        "least_map",
        value=0.1,
    ),
    "rules-away": lambda texts: _with_value(texts, RUN, "run", "rules", value=None),
    "metric": lambda texts: _with_value(texts, RUN, "contest", "metric", value="coco"),
    "extra-time": lambda texts: _with_value(texts, RUN, "run", "extra_s", value=30.0),
    "meter": lambda texts: _with(texts, POSTS, '"meter": "', '"meter": "0'),
    "fewer-readings": lambda texts: _with_last(texts, POSTS, readings=0),
    "first-reading": lambda texts: _with(texts, READINGS, "\n", "\n1", 1),
    "judgement": lambda texts: _with_last(texts, JUDGEMENTS, map=0.9),
    "no-judgement": lambda texts: texts | {JUDGEMENTS: b"[]\n"},
    "judged-by": lambda texts: _with(
        texts,
        JUDGEMENTS,
        '"metric": "lpirc"',
        '"metric": "voc-11"',
    ),
    "mean-power": lambda texts: _with_value(
        texts,
        RESULT,
        "mean_power_w",
        value=1000.0,
    ),
    "metric-version": lambda texts: _by_metric_version_7(texts),
    **{
        f"signature's {old}": lambda texts, old=old, new=new: _with(
            texts,
            RESULT,
            old,
            new,
        )
        for old, new in (
            ("iou:0.5|", "iou:0.6|"),
            ("blacklist:none", "blacklist:1-0a1b2c3d4e5f"),
            ("images:all", "images:1-of-5:0a1b2c3d4e5f"),
            ("counts:served", "counts:unserved-too"),
            ("window:600s", "window:60s"),
            ("mode:rms", "mode:dc"),
            ("|meter:", "|extra:30s|meter:"),
            ("|v:", "|w:"),
        )
    },
    **{
        f"interval's {name}": lambda texts, name=name, value=value: _with_value(
            texts,
            RESULT,
            "interval",
            name,
            value=value,
        )
        for name, value in {
            "seed": 7,
            "level": 0.5,
            "resamples": 100,
            "method": "bootstrap",
        }.items()
    },
}


@pytest.mark.parametrize("what", WRONG)
def test_both_say_the_same_of_what_a_holder_of_the_key_altered(
    proved: dict[str, Proved],
    what: str,
) -> None:
    judged = proved["judged"]
    data = judged.sealed(WRONG[what](opened(judged.data)))
    mine = by_second(data, judged.receipts)
    its = by_main(data, judged.receipts)
    assert failed(mine)
    assert failed(its)
    same = mine.keys() & its.keys()
    if "map" in failed(its):
        same -= {"score"}  # the second one divides the mAP that is stated
    if "meter-chain" in failed(its):
        same -= {
            "score"
        }  # and takes the terms of the budget, made of the readings, as they are stated
    if "bodies" in failed(its):
        same -= {"map", "map-ilsvrc-det"}  # and stops at the first wrong body
    if "container" not in failed(mine) + failed(its):
        assert {*failed(mine)} & same == {*failed(its)} & same, (mine, its)


@pytest.mark.parametrize(
    ("what", "item", "words", "its_words"),
    [
        (
            "interval's seed",
            "interval",
            "The seed of the interval is stated as 7, but it is 0.",
            "the wrong seed",
        ),
        (
            "interval's resamples",
            "interval",
            "stated as 100, but it is 300.",
            "the wrong resamples",
        ),
        (
            "interval's level",
            "interval",
            "stated as 0.5, but it is 0.95.",
            "the wrong level",
        ),
        (
            "metric-version",
            "rules",
            "metric_version in the run's rules is stated as 7, but it is 1.",
            "has metric_version 1",
        ),
        (
            "mean-power",
            "score",
            "mean_power_w is stated as 1000.0",
            "the wrong mean_power_w",
        ),
    ],
)
def test_both_name_what_no_judge_may_choose(
    proved: dict[str, Proved],
    what: str,
    item: str,
    words: str,
    its_words: str,
) -> None:
    data = proved["judged"].sealed(WRONG[what](opened(proved["judged"].data)))
    assert words in sentences(data)[item]
    assert its_words in by_second(data)[item]


def test_the_limit_of_the_energy_is_computed_again_whatever_is_said_to_state_it(
    proved: dict[str, Proved],
) -> None:
    judged = proved["judged"]
    texts = _with_value(opened(judged.data), RESULT, "energy_known_by", value=None)
    assert failed(by_main(judged.sealed(texts))) == []  # words are not compared
    altered = _with_value(texts, RESULT, "energy_limit", value=0.001)
    assert failed(by_main(judged.sealed(altered))) == ["score"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("run", 9),
        ("contest", "0a1b2c3d4e5f"),
    ],
)
def test_both_refuse_a_manifest_of_another_run_or_contest_than_run_json(
    proved: dict[str, Proved],
    name: str,
    value: object,
) -> None:
    judged = proved["judged"]
    texts = opened(judged.data)
    data = judged.sealed(_with_value(texts, MANIFEST, "predicate", name, value=value))
    with pytest.raises(
        BadBundle,
        match="but the manifest names run",
    ) as bad:
        verify(data, Given())
    assert bad.value.part == RUN
    assert by_second(data)["parts"] == f"manifest.json has the wrong {name}"


@pytest.mark.parametrize("name", ["_type", "predicateType"])
def test_both_refuse_a_statement_of_another_kind(
    proved: dict[str, Proved],
    name: str,
) -> None:
    judged = proved["judged"]
    parts = unpack(judged.data)
    statement = json.loads(parts[MANIFEST]) | {name: "another"}
    manifest = lines([statement])
    data = b"".join(
        pack(parts | {MANIFEST: manifest, ENVELOPE: sign(manifest, judged.key)})
    )
    assert failed(by_main(data)) == ["container"]
    assert failed(by_second(data)) == ["parts"]


def test_a_head_from_outside_the_bundle_is_not_checked_and_a_wrong_one_within_fails(
    proved: dict[str, Proved],
) -> None:
    data = proved["judged"].data
    before = json.loads(opened(data)["events.jsonl.gz"].splitlines()[0])
    first = before["before"]
    zeros = "0" * 64
    assert first > 0
    for head in (f"{first}:{before['previous'][:12]}", before["previous"]):
        assert SECOND.verify(data, head=head).wrong["log-chain"] == ""
    for head in (f"{first - 1}:{zeros}", f"{first + 10**6}:{zeros}", "ab" * 32):
        findings = SECOND.verify(data, head=head)
        assert "log-chain" in findings.unchecked
        assert failed(findings.wrong) == []
    assert failed(SECOND.verify(data, head=f"{first}:{'ab' * 32}").wrong) == [
        "log-chain"
    ]


def test_receipts_of_another_form_are_named(proved: dict[str, Proved]) -> None:
    judged = proved["judged"]
    kept = [json.loads(line) for line in judged.receipts.splitlines()]
    for form, words in (
        (1, "the receipts of this run have form 2"),
        (7, "use a newer verifier"),
    ):
        others = [one | {"form": form} if "number" in one else one for one in kept]
        said = SECOND.verify(judged.data, receipts=lines(others)).wrong["receipts"]
        assert words in said
    unknown = lines([*kept, {"run": kept[0]["run"], "something": 1}])
    assert SECOND.verify(judged.data, receipts=unknown).wrong["receipts"]
    only_rules = lines([one for one in kept if "rules_sha256" in one])
    receipts = SECOND.verify(judged.data, receipts=only_rules).wrong["receipts"]
    assert "no receipts" in receipts


def test_both_detect_what_others_altered(proved: dict[str, Proved]) -> None:
    for name in BUNDLES:
        for one in tampered(proved[name], 12, seed=5):
            key = proved[name].key.public
            assert failed(by_main(one.data, key=key)), one.how
            assert failed(by_second(one.data, key=key)), one.how


def _newer(proved: Proved) -> bytes:
    parts = unpack(proved.data)
    manifest = json.loads(parts[MANIFEST])
    manifest["predicate"]["format"] = FORMAT + 1
    return b"".join(pack(parts | {MANIFEST: lines([manifest])}))


def _bomb(proved: Proved) -> bytes:
    parts = unpack(proved.data)
    return b"".join(
        pack(parts | {"bodies.gz": gzip.compress(bytes(10**7), 9, mtime=0)})
    )


def _packed_again(proved: Proved) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in unpack(proved.data).items():
            archive.writestr(name, content)
    return packed.getvalue()


BAD: dict[str, Callable[[Proved], bytes]] = {
    "packed again": _packed_again,
    "ten bytes": lambda proved: proved.data[:10],
    "cut short": lambda proved: proved.data[:-40],
    "cut in a part": lambda proved: proved.data[:5000],
    "more after it": lambda proved: proved.data + b"\0",
    "newer": _newer,
    "bomb": _bomb,
    "climbs out": lambda proved: proved.data.replace(b"run.json", b"../a.txt"),
    "no zip": lambda _: b"GIF89a",
    "empty": lambda _: b"",
    "of another run": lambda proved: b"".join(
        pack(
            sealed_parts(
                _with_value(opened(proved.data), RUN, "run", "id", value=9),
                proved.key,
                proved.key.public,
            )
        )
    ),
}


@pytest.mark.parametrize("how", BAD)
def test_both_refuse_what_is_no_bundle(proved: dict[str, Proved], how: str) -> None:
    data = BAD[how](proved["judged"])
    assert failed(by_main(data))
    assert failed(by_second(data))


def test_the_script_runs_alone_and_tells_what_it_leaves_out(
    proved: dict[str, Proved],
    tmp_path: Path,
) -> None:
    judged = proved["judged"]
    bundle = tmp_path / "run.zip"
    receipts = tmp_path / "receipts.jsonl"
    alone = tmp_path / "alone"
    alone.mkdir()
    script = alone / SCRIPT.name
    for path in FILES:
        shutil.copy(path, alone)
    bundle.write_bytes(judged.data)
    receipts.write_bytes(judged.receipts)

    def told(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-s", "-S", str(script), str(bundle), *options]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
        )

    good = told("--receipts", str(receipts), "--key", judged.key.public)
    assert good.returncode == 0
    assert good.stderr == ""
    assert "holds; not checked: " in good.stdout
    assert " Wh, computed here\n" in good.stdout
    receipts.write_bytes(b"\n")
    stdout = told("--receipts", str(receipts)).stdout
    assert "receipts          failed: the file holds no receipts" in stdout
    receipts.write_bytes(b"\xef\xbb\xbf" + judged.receipts)
    returncode = told(
        "--receipts", str(receipts), "--key", f" {judged.key.public.upper()}"
    ).returncode
    assert returncode == 0
    for bad in (
        b"[]",
        b'{"run": 2, "number": "1"}',
        bytes(range(128, 256)),
        judged.receipts[:-20],
    ):
        receipts.write_bytes(bad)
        found = told("--receipts", str(receipts))
        assert (found.returncode, found.stderr) == (1, ""), found
        assert "receipts          failed: " in found.stdout
    receipts.write_bytes(judged.receipts)
    for options in (
        ["--head", ""],
        ["--head", "e"],
        ["--key", "0" * 12],
        ["--testset", "no"],
        ["--receipts", "."],
    ):
        found = told(*options)
        assert (found.returncode, found.stdout, found.stderr.count("\n")) == (
            1,
            "",
            1,
        ), found
    of_other = told("--receipts", str(receipts), "--key", judged.wrong_key.public)
    assert of_other.returncode == 1
    assert judged.wrong_key.public in of_other.stdout


def test_its_files_are_small_enough_to_be_read_and_need_only_python() -> None:
    own = {path.stem for path in FILES}
    for path in FILES:
        text = path.read_text()
        assert len(text.splitlines()) <= MOST_LINES
        named = re.findall(r"^(?:from|import) ([\w.]+)", text, re.M)
        assert {name.partition(".")[0] for name in named} <= own | {
            *sys.stdlib_module_names
        }
