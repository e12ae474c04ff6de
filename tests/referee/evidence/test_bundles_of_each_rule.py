"""A bundle by each rule holds by both verifiers, and a rule that was put in its place afterwards does not."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet
from referee.auth.signing import ContestKey
from referee.contest import create_contest, open_contest
from referee.contest_rules import RULES
from referee.evidence.bundle_parts import export_bundle
from referee.runs.arming import rules_now
from tests.referee.evidence.closed_runs import judged_run
from tests.referee.evidence.proved import (
    SECOND,
    Proved,
    by_main,
    by_second,
    failed,
    opened,
    sentences,
)
from tests.referee.evidence.test_bundles_of_each_metric import SETUP
from tests.referee.factories import START, TEAM, config_text

# A run of a minute at 1 W, with an idle board of 0.4 W: 1/60 Wh, of them 0.01 above idle.
IDLE_W = 0.4
SETTINGS: dict[str, dict[str, float]] = {
    "accuracy-per-wh": {},
    "accuracy-within-limit": {"power_limit_w": 1.1, "image_limit_s": 60.0},
    "least-energy": {"least_accuracy": 0.001},
    "accuracy-per-excess-wh": {},
    "floors-then-energy": {"least_accuracy": 0.001, "least_images_per_s": 0.01},
}


def bundle_by(
    folder: Path,
    test_set: TestSet,
    name: str,
    idle_power_w: float | None = IDLE_W,
    **different: Any,
) -> Proved:
    home = folder / name
    rule: dict[str, object] = {"name": name, **SETTINGS[name]}
    create_contest(
        home,
        config_text(test_set, rule=rule, idle_baseline_s=10),
    )
    out = folder / f"{name}.zip"
    with open_contest(home) as contest:
        contest.store.teams.add(
            TEAM,
            "no hash",
            START,
        )
        rules = rules_now(
            contest.config,
            contest.test_set,
            SETUP,
            0,
        )
        run = judged_run(
            contest,
            setup=SETUP,
            rules=rules,
            idle_power_w=idle_power_w,
            **different,
        )
        export_bundle(
            contest,
            run.id,
            out,
            START,
        )
    key = ContestKey(
        home / "signing-key",
        None,
    )
    return Proved(out.read_bytes(), b"", key, key, test_set.folder)


def part(one: Proved, name: str) -> Any:
    return json.loads(opened(one.data)[name])


def floors_score(one: Proved, reached: float, energy_wh: float) -> float | None:
    """Return the published score of a bundle by that rule; its speed is above the floor."""
    figures = [check["figures"] for check in part(one, "checks.json")]
    answered = [one["images_answered"] for one in figures if "images_answered" in one]
    if not answered:
        return None
    images = part(one, "run.json")["run"]["images"]
    energy_j = energy_wh * 3600
    if answered[0] < images:
        energy_j = energy_j * images / answered[0]
    assert reached >= 0.001
    return 100 / math.log2(energy_j)


@pytest.mark.parametrize("name", RULES)
def test_both_verifiers_compute_the_score_of_each_rule(
    tmp_path: Path, small_set: TestSet, name: str
) -> None:
    one = bundle_by(
        tmp_path,
        small_set,
        name,
    )
    assert failed(by_main(one.data)) == failed(by_second(one.data)) == []
    result = part(
        one,
        "result.json",
    )
    energy_wh = result["energy_wh"]
    expected = {
        "accuracy-per-wh": result["map"] / energy_wh,
        "accuracy-within-limit": result["map"],
        "accuracy-per-excess-wh": result["map"] / (energy_wh - IDLE_W * 60 / 3600),
        "floors-then-energy": floors_score(one, result["map"], energy_wh),
    }
    assert result["score"] == expected.get(name, energy_wh)
    codes = [check["code"] for check in part(one, "checks.json")]
    assert ("contest-rule" in codes) == (name != "accuracy-per-wh")
    assert ("below-idle" in codes) == (name == "accuracy-per-excess-wh")


def test_a_score_that_forgets_the_images_without_an_answer_is_found_by_both_verifiers(
    tmp_path: Path, small_set: TestSet
) -> None:
    """The organiser whose favourite answered a part, with the contest's own key."""
    one = bundle_by(tmp_path, small_set, "floors-then-energy", unserved=2)
    (answered,) = (
        check["figures"]["images_answered"]
        for check in part(one, "checks.json")
        if check["code"] == "contest-rule"
    )
    assert answered < part(one, "run.json")["run"]["images"], "a part"
    texts = opened(one.data)
    result = json.loads(texts["result.json"])
    better = 100 / math.log2(result["energy_wh"] * 3600)
    assert better > result["score"]
    result["score"] = better
    texts["result.json"] = f"{json.dumps(result)}\n".encode()
    forged = one.sealed(texts)
    for verifier in (by_main, by_second):
        assert "score" in failed(verifier(forged))


def test_a_run_without_a_score_by_its_rule_holds_by_both_verifiers(
    tmp_path: Path, small_set: TestSet
) -> None:
    one = bundle_by(
        tmp_path,
        small_set,
        "accuracy-per-excess-wh",
        1.0,
    )
    assert part(one, "result.json")["score"] is None
    assert failed(by_main(one.data)) == failed(by_second(one.data)) == []
    assert "no energy above idle is left" in sentences(one.data)["score"]


def test_the_usual_rule_leaves_no_trace_in_a_bundle(
    tmp_path: Path, small_set: TestSet
) -> None:
    """Runs of earlier versions, and all who set no rule, keep their digests."""
    one = bundle_by(
        tmp_path,
        small_set,
        "accuracy-per-wh",
    )
    assert "rule" not in part(one, "run.json")["run"]["rules"]
    assert part(one, "manifest.json")["predicate"]["format"] == 6
    assert "|rule:" not in part(one, "result.json")["signature"]


def test_a_rule_put_in_its_place_afterwards_is_found_by_both_verifiers(
    tmp_path: Path, small_set: TestSet
) -> None:
    """The organiser whose favourite has the least energy, with the contest's own key."""
    one = bundle_by(
        tmp_path,
        small_set,
        "accuracy-within-limit",
    )
    texts = opened(one.data)
    other = {"name": "least-energy", "least_accuracy": 0.001}
    run = json.loads(texts["run.json"])
    run["run"]["rules"]["rule"] = other
    result = json.loads(texts["result.json"])
    was = part(one, "result.json")["signature"].partition("|rule:")[2].partition("|")[0]
    result["score"] = result["energy_wh"]
    result["signature"] = result["signature"].replace(
        was, "least-energy,least_accuracy=0.001"
    )
    for name, value in (("run.json", run), ("result.json", result)):
        texts[name] = f"{json.dumps(value)}\n".encode()
    forged = one.sealed(texts)
    for verifier in (by_main, by_second):
        assert {"run-chain", "rules"} <= {*failed(verifier(forged))}


def test_a_rule_that_no_verifier_knows_is_not_called_wrong(
    tmp_path: Path, small_set: TestSet
) -> None:
    one = bundle_by(
        tmp_path,
        small_set,
        "accuracy-within-limit",
    )
    texts = opened(one.data)
    run = json.loads(texts["run.json"])
    run["run"]["rules"]["rule"] = {"name": "fewest-joules-per-bee"}
    texts["run.json"] = f"{json.dumps(run)}\n".encode()
    forged = one.sealed(texts)
    assert "score" not in by_main(forged)
    assert "fewest-joules-per-bee" in sentences(forged)["score"]
    found = SECOND.verify(forged)
    assert "does not know the rule" in found.unchecked["score"]
