"""Bundles of runs in every state and of contests that were moved, upgraded or judged again."""

from __future__ import annotations

from pathlib import Path

from referee.contest import Contest, contest_id, open_contest
from tests.contest_day import called
from tests.referee.evidence.closed_runs import judged_run
from tests.referee.evidence.proved import by_main, by_second, failed


def exported(folder: Path, run: int, out: Path) -> bytes:
    done = called("bundle", "export", str(run), "-o", str(out), "--contest", str(folder))
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


def test_runs_from_before_a_restore_without_keys_go_on_to_verify_and_those_after_it(
    contest: Contest, tmp_path: Path
) -> None:
    file, copy, again = tmp_path / "no-keys.zip", tmp_path / "copy", tmp_path / "again"
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


def test_an_export_replaces_a_bundle_but_nothing_else(contest: Contest, tmp_path: Path) -> None:
    run, database = judged_run(contest).id, contest.folder / "contest.db"
    assert exported(contest.folder, run, tmp_path / "run.zip") == exported(
        contest.folder, run, tmp_path / "run.zip"
    )
    for path in (database, contest.folder / "signing-key", contest.test_set.folder / "manifest.json"):
        before = path.read_bytes()
        done = called("bundle", "export", str(run), "-o", str(path), "--contest", str(contest.folder))
        assert done.returncode == 1
        assert done.stderr == f"referee: {path} is there and is not a bundle; choose another name.\n"
        assert path.read_bytes() == before
