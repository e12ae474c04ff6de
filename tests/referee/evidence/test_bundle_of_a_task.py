"""Bundles of runs of another task than boxes: recomputed here, named as not computed by the second verifier."""

from __future__ import annotations

import json

import pytest

from lpirc_testsets import synthesize
from lpirc_testsets.task_truth import read_class_truth
from referee.auth.signing import ContestKey
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from referee.evidence.bundle_container import FORMAT
from referee.evidence.bundle_parts import export_bundle
from referee.evidence.bundle_verification import verify
from referee.evidence.given_facts import Given
from referee.judging.judge_many import judge_with_interval
from referee.runs.arming import rules_now
from tests.referee.evidence.closed_runs import closed_with_bodies
from tests.referee.evidence.proved import SECOND, Proved, by_main, failed, opened
from tests.referee.evidence.test_bundles_of_each_metric import SETUP
from tests.referee.factories import START, TEAM, config_text

IMAGES = 8
RIGHT = 5
NOT_HERE = "the figures of the task classification are not computed here"


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Proved:
    folder = tmp_path_factory.mktemp("task")
    test_set = synthesize(
        folder / "set",
        images=IMAGES,
        categories=3,
        size=(96, 64),
        task="classification",
    )
    _, labels = read_class_truth(test_set)
    items = [
        {"image": image, "classes": [label if image <= RIGHT else label % 3 + 1]}
        for image, label in labels.items()
    ]
    bodies = [
        (json.dumps(part).encode(), "application/json")
        for part in (items[:3], items[3:])
    ]
    home = folder / "day"
    create_contest(home, config_text(test_set, task="classification"))
    with open_contest(home) as contest:
        contest.store.teams.add(TEAM, "no hash", START)
        rules = rules_now(contest.config, contest.test_set, SETUP, 0)
        run = closed_with_bodies(contest, bodies, rules=rules, setup=SETUP)
        judge_with_interval(contest, run.id, Clock())
        export_bundle(contest, run.id, folder / "run.zip", START)
    key = ContestKey(home / "signing-key", None)
    data = (folder / "run.zip").read_bytes()
    return Proved(data, b"", key, key, test_set.folder)


def test_a_bundle_of_a_task_is_recomputed_with_its_interval(proved: Proved) -> None:
    manifest = json.loads(opened(proved.data)["manifest.json"])["predicate"]
    assert (manifest["format"], manifest["task"]) == (FORMAT, "classification")
    found = {one.name: one for one in verify(proved.data, Given(interval=True))}
    assert {name for name, one in found.items() if one.outcome != "ok"} == {
        "links",
        "receipts",
    }
    assert found["map"].sentence == (
        f"top-1 {RIGHT / IMAGES} was recomputed from {IMAGES} classifications with the task classification; it is "
        "identical bit for bit."
    )


def test_the_second_verifier_names_what_it_does_not_compute(proved: Proved) -> None:
    found = SECOND.verify(proved.data)
    assert found.failed() == []
    for name in ("map", "map-ilsvrc-det", "score"):
        assert found.unchecked[name] == NOT_HERE
    assert set(found.unchecked) == {
        "map",
        "map-ilsvrc-det",
        "score",
        "checks",
        "interval",
        "links",
        "receipts",
    }


def altered(proved: Proved, part: str, old: str, new: str) -> bytes:
    texts = opened(proved.data)
    text = texts[part].decode()
    assert old in text
    return proved.sealed(texts | {part: text.replace(old, new).encode()})


@pytest.mark.parametrize(
    ("part", "old", "new", "caught"),
    [
        ("result.json", '"map": 0.625', '"map": 0.75', "map"),
        ("result.json", '"top-5"', '"top-6"', "map"),
        ("bodies.gz", '"image": 1,', '"image": 7,', "bodies"),
        ("run.json", ', "task": "classification"', "", "run-chain"),
        ("checks.json", '"rows": 0', '"rows": 1', "checks"),
    ],
)
def test_what_is_altered_is_caught(
    proved: Proved,
    part: str,
    old: str,
    new: str,
    caught: str,
) -> None:
    assert caught in failed(by_main(altered(proved, part, old, new)))


def test_a_body_with_another_answer_is_caught_by_the_second_verifier(
    proved: Proved,
) -> None:
    data = altered(proved, "bodies.gz", '"image": 1,', '"image": 7,')
    assert "bodies" in SECOND.verify(data).failed()


def test_a_truth_that_is_not_of_the_set_is_caught(
    proved: Proved,
) -> None:
    data = altered(
        proved, "ground_truth.json.gz", '"category_id": 1', '"category_id": 2'
    )
    assert "ground-truth" in failed(by_main(data))
