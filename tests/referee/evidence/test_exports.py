"""Bundles of runs in every state and of contests that were moved, upgraded or judged again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from lpirc_power.meter import Setup
from lpirc_testsets import synthesize
from referee.contest import Contest, contest_id, create_contest, open_contest
from tests.contest_day import called
from tests.referee.evidence.closed_runs import judged_run
from tests.referee.evidence.proved import by_main, by_second, failed, opened
from tests.referee.factories import START, TEAM, config_text
from tests.referee.judging.test_rejudge import correct


def exported(folder: Path, run: int, out: Path) -> bytes:
    done = called(
        "bundle", "export", str(run), "-o", str(out), "--contest", str(folder)
    )
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


def test_runs_from_before_a_restore_without_keys_go_on_to_verify_and_those_after_it(
    contest: Contest,
    tmp_path: Path,
) -> None:
    file = tmp_path / "no-keys.zip"
    copy = tmp_path / "copy"
    again = tmp_path / "again"
    before = judged_run(contest).id
    assert called("backup", str(contest.folder), "-o", str(file)).returncode == 0
    assert called("restore", str(file), str(copy)).returncode == 0
    assert contest_id(copy) != contest_id(contest.folder)
    with open_contest(copy) as restored:
        after = judged_run(restored).id
    assert called("backup", str(copy), "-o", str(tmp_path / "2.zip")).returncode == 0
    assert called("restore", str(tmp_path / "2.zip"), str(again)).returncode == 0
    for folder in (copy, again):
        for run in (before, after):
            data = exported(folder, run, tmp_path / "run.zip")
            assert failed(by_main(data)) == failed(by_second(data)) == [], (folder, run)


def test_an_export_replaces_a_bundle_but_nothing_else(
    contest: Contest,
    tmp_path: Path,
) -> None:
    run = judged_run(contest).id
    database = contest.folder / "contest.db"
    assert exported(contest.folder, run, tmp_path / "run.zip") == exported(
        contest.folder,
        run,
        tmp_path / "run.zip",
    )
    for path in (
        database,
        contest.folder / "signing-key",
        contest.test_set.folder / "manifest.json",
    ):
        before = path.read_bytes()
        done = called(
            "bundle",
            "export",
            str(run),
            "-o",
            str(path),
            "--contest",
            str(contest.folder),
        )
        assert done.returncode == 2
        assert f"{path} is " in done.stderr
        assert done.stderr.endswith("; name another place.\n")
        assert path.read_bytes() == before
    other = tmp_path / "notes.zip"
    other.write_text("mine")
    done = called(
        "bundle",
        "export",
        str(run),
        "-o",
        str(other),
        "--contest",
        str(contest.folder),
    )
    assert done.returncode == 1
    assert (
        done.stderr
        == f"referee: {other} exists and is not a bundle; choose another name.\n"
    )
    assert other.read_text() == "mine"


def test_a_run_judged_again_by_a_corrected_ground_truth_has_a_bundle_and_a_half_changed_set_has_none(
    tmp_path: Path,
) -> None:
    test_set = synthesize(
        tmp_path / "set",
        images=5,
        categories=3,
        seed=2,
        size=(96, 64),
    )
    folder = tmp_path / "contest"
    out = tmp_path / "run.zip"
    create_contest(folder, config_text(test_set))
    with open_contest(folder) as contest:
        contest.store.teams.add(TEAM, "no hash", START)
        run = judged_run(contest).id
    truth = test_set.ground_truth_path.read_bytes()
    test_set.ground_truth_path.write_bytes(truth + b" ")
    done = called(
        "bundle", "export", str(run), "-o", str(out), "--contest", str(folder)
    )
    assert done.returncode == 1
    assert "ground_truth.json changed since its manifest was made" in done.stderr
    test_set.ground_truth_path.write_bytes(truth)
    assert correct(test_set, test_set.folder).digest != test_set.digest
    done = called(
        "rejudge", "--all", "--reason", "a wrong box", "--contest", str(folder)
    )
    assert done.returncode == 0, done.stderr
    data = exported(folder, run, out)
    assert failed(by_main(data)) == failed(by_second(data)) == []
    verified = called("bundle", "verify", str(out)).stdout
    assert "The log states that a corrected ground truth was used" in verified


def test_a_bundle_states_for_which_change_of_temperature_its_limit_holds_and_the_close_binds_it(
    contest: Contest,
    tmp_path: Path,
) -> None:
    usual = Setup(150.0, 0.5, 0.1, 600)
    runs = [
        judged_run(contest, setup=setup).id
        for setup in (usual, replace(usual, ambient_change_c=8.0))
    ]
    bundles = [exported(contest.folder, run, tmp_path / f"{run}.zip") for run in runs]
    assert [failed(by_main(data)) or failed(by_second(data)) for data in bundles] == [
        [],
        [],
    ]
    setups = [json.loads(opened(data)["run.json"])["run"]["setup"] for data in bundles]
    # Runs of earlier versions, whose setups had no such key, keep the hash of their terms.
    assert [setup.get("ambient_change_c") for setup in setups] == [None, 8.0]
    result = json.loads(opened(bundles[0])["result.json"])
    assert (result["energy_limit"] is None) is False
    assert result["energy_known_by"] == "IM WT310-02EN, pages 7-7 and 7-8"
