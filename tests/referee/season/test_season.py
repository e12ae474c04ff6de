from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet, read_ground_truth
from lpirc_testsets.writing import ObjectRecord, write_records
from referee.contest import open_contest
from referee.evidence.bundle_container import MANIFEST, pack, unpack
from referee.judging.board_publisher import Publisher
from referee.judging.freeze import public_view
from referee.judging.judge import Again
from referee.judging.judge_many import judge_with_interval
from referee.judging.public_documents import empty_board, public_board
from referee.judging.ranking import SURE
from referee.judging.rejudge import rejudge
from referee.judging.run_figures import let_stand
from referee.judging.scoring_job import Scored, ScoringInput, score_whole
from referee.judging.standings import standings
from referee.store import DATABASE_NAME, Store
from referee.store.records import Review, RunState
from tests.contest_day import called
from tests.forbidden import LOOP, loop_at
from tests.referee.judging.sent_runs import closed_run, guesses
from tests.referee.season.conftest import CLOCK
from tests.referee.season.written_again import write_log_again

Copy = Callable[..., Path]


def documents(*arguments: str | Path) -> list[dict[str, Any]]:
    """All runs of a season, its teams best first."""
    told = called("season", *map(str, arguments), "--json")
    assert told.returncode == 0, told.stderr
    found: list[dict[str, Any]] = json.loads(told.stdout)
    return found


def best(*arguments: str | Path) -> dict[str, dict[str, Any]]:
    return {one["team"]: one for one in documents(*arguments) if one["rank"]}


def content(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file of a folder, with its SHA-256 and when it was changed."""
    files = sorted(one for one in folder.rglob("*") if one.is_file())
    return {
        str(one.relative_to(folder)): (
            hashlib.sha256(one.read_bytes()).hexdigest(),
            one.stat().st_mtime_ns,
        )
        for one in files
    }


def change(folder: Path, *statements: str) -> None:
    with closing(
        sqlite3.connect(folder / DATABASE_NAME, isolation_level=None)
    ) as database:
        for one in statements:
            database.execute(one)


def test_the_best_run_of_each_team_counts_and_its_others_are_its_history(
    made: Path,
) -> None:
    spring = made / "spring"
    autumn = made / "autumn"
    every = documents(spring, autumn)
    assert [(one["team"], one["rank"]) for one in every if one["rank"]] == [
        ("ant", 1),
        ("cat", 2),
        ("bee", 3),
    ]
    history = {
        team: [one for one in every if one["team"] == team]
        for team in ("ant", "bee", "cat")
    }
    assert [(one["contest"], one["run"]) for one in history["ant"]] == [
        (str(spring), 1),
        (str(autumn), 2),
    ]
    assert [bool(one["rank"]) for one in history["bee"]] == [False, True]
    assert [one["latest"] for one in history["ant"]] == [False, True]
    with open_contest(spring) as contest:
        shown = {
            place.standing.team: place.standing for place in standings(contest).places
        }
    for one in every:
        if one["contest"] == str(spring):
            figures = json.loads(json.dumps(vars(shown[one["team"]])))
            assert figures.pop("others") is None  # boxes have none
            assert {name: one[name] for name in figures} == figures


def test_neighbours_whose_order_is_not_sure_are_level_with_each_other_alone(
    made: Path,
) -> None:
    found = best(made / "spring", made / "autumn")
    level = {
        team: {other["team"]: other["chance"] for other in one["level_with"]}
        for team, one in found.items()
    }
    assert level["ant"].keys() == {"cat"}  # bee is no neighbour of it
    assert level["ant"]["cat"] == level["cat"]["ant"] < SURE
    with open_contest(made / "spring") as contest:
        (first, *_) = standings(contest).places
    assert {one.team: one.chance for one in first.level_with}["cat"] == level["ant"][
        "cat"
    ]


def test_a_run_unlike_most_is_marked_with_what_differs(copy: Copy) -> None:
    spring = copy("spring")
    autumn = copy("autumn")
    change(
        autumn,
        "UPDATE scores SET signature = replace(signature, 'window:600s', 'window:300s') WHERE run = 2",
    )
    every = documents(spring, autumn)
    marked = [
        (one["team"], one["contest"], one["differs"]) for one in every if one["differs"]
    ]
    assert marked == [("ant", str(autumn), ["window 300s instead of 600s"])]


def test_a_run_that_its_contest_does_not_rank_is_left_out_with_the_reason(
    copy: Copy,
) -> None:
    folder = copy("spring")
    (folder / "contest.toml").write_text(
        "least_map = 0.6\n" + (folder / "contest.toml").read_text()
    )
    change(folder, "UPDATE runs SET state = 'closed' WHERE id = 3")
    told = called("season", str(folder), "--json")
    assert [one["team"] for one in json.loads(told.stdout)] == ["ant"]
    low, unjudged = sorted(told.stderr.splitlines())
    assert low.startswith(f"Run 2 of bee in {folder} is not on the board: its mAP 0.")
    assert low.endswith("is below least_map 0.6.")
    assert (
        unjudged == f"Run 3 of cat in {folder} is not on the board: it is not judged."
    )


def test_the_files_have_every_team_with_its_best_latest_and_all_runs(
    made: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    folders = [str(made / "spring"), str(made / "autumn")]
    told = called("season", *folders, "--out", str(out))
    every = documents(*folders)
    assert json.loads((out / "season.json").read_text()) == every
    rows = list(csv.DictReader((out / "season.csv").read_text().splitlines()))
    assert [(one["team"], one["contest"], float(one["score"])) for one in rows] == [
        (one["team"], one["contest"], one["score"]) for one in every
    ]
    page = (out / "season.html").read_text()
    for one in every:
        assert f"{one['score']:.4f}" in page
        assert f"{one['score']:.4f}" in told.stdout or not (
            one["rank"] or one["latest"]
        )
    of_team = called("season", *folders, "--team", "bee").stdout
    assert [line.split()[0] for line in of_team.splitlines()[1:3]] == ["-", "3"]
    unknown = called("season", *folders, "--team", "dog")
    assert unknown.returncode == 1
    assert "The teams with one are " in unknown.stderr
    assert "bee" in unknown.stderr


SERVED = """
import sqlite3, sys
served = sqlite3.connect(sys.argv[1], isolation_level=None)
served.execute("PRAGMA journal_mode=WAL")
served.execute("UPDATE scores SET score = 100 WHERE run = 2")
print(flush=True)
sys.stdin.read()
"""


def score_of_bee(folder: Path) -> float:
    (found,) = [one["score"] for one in documents(folder) if one["team"] == "bee"]
    return float(found)


def test_reading_changes_no_file_and_makes_none(copy: Copy) -> None:
    folder = copy("spring")
    before = content(folder)
    spring = best(folder)
    assert content(folder) == before
    command = [sys.executable, "-c", SERVED, str(folder / DATABASE_NAME)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as served:
        assert served.stdout is not None
        served.stdout.readline()
        live = content(folder)
        assert live.keys() - before.keys() == {
            f"{DATABASE_NAME}-wal",
            f"{DATABASE_NAME}-shm",
        }
        assert score_of_bee(folder) == 100 != spring["bee"]["score"]
        assert content(folder) == live
        served.kill()
    assert score_of_bee(folder) == 100  # it is only in the log that the server left
    assert content(folder) == live


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(
    copy: Copy,
    made: Path,
    tmp_path: Path,
) -> None:
    database = DATABASE_NAME
    (bad := tmp_path / "bad").mkdir()

    def broken(name: str, harm: Callable[[Path], object]) -> Path:
        harm(folder := copy(to=f"bad/{name}"))
        return folder

    def cut(folder: Path) -> None:
        with (folder / database).open("r+b") as file:
            file.truncate(file.seek(0, 2) // 2)

    bads = {
        broken(
            "garbage",
            lambda folder: (folder / database).write_bytes(b"no database" * 1000),
        ): "not a database",
        broken("cut", cut): "malformed",
        broken(
            "older",
            lambda folder: (folder / f"{database}-count").write_text("9999"),
        ): "of 9999 records",
        broken(
            "newer",
            lambda folder: change(folder, "PRAGMA user_version = 99"),
        ): "database version 99",
        broken(
            "half",
            lambda folder: (folder / f"{database}-wal").write_bytes(b"x"),
        ): "copy the whole folder",
        broken(
            "damaged",
            lambda folder: change(folder, """UPDATE runs SET setup = '{"odd": 1}'"""),
        ): "it is damaged",
        broken(
            "unnamed",
            lambda folder: (folder / "contest.toml").unlink(),
        ): "contest.toml",
        broken("foreign", _foreign): "not a contest's database",
        tmp_path / "absent": "There is no folder",
        tmp_path / "2026*": "Nothing matches",
        bad: "is not a contest folder",
        _file(tmp_path / "run.zip"): "not a bundle",
    }
    told = called("season", *map(str, bads), str(made / "spring"), "--json")
    assert told.returncode == 0
    lines = told.stderr.splitlines()
    assert len(lines) == len(bads)
    for line, (path, words) in zip(lines, bads.items(), strict=True):
        assert line.startswith(f"{path} is left out: ")
        assert words in line, line
    assert json.loads(told.stdout) == documents(made / "spring")
    alone = called("season", *map(str, bads))
    assert alone.returncode == 1
    assert alone.stderr.splitlines()[:-1] == lines


def _foreign(folder: Path) -> None:
    (folder / DATABASE_NAME).unlink()
    change(folder, "CREATE TABLE birds (name)", "INSERT INTO birds VALUES ('heron')")


def _file(path: Path) -> Path:
    path.write_bytes(b"nothing")
    return path


def test_a_contest_of_an_earlier_form_is_read_as_far_as_it_goes(copy: Copy) -> None:
    folder = copy("spring")
    now = best(folder)
    change(
        folder,
        "ALTER TABLE runs DROP COLUMN extra_s",
        "ALTER TABLE runs DROP COLUMN images_digest",
        "ALTER TABLE intervals DROP COLUMN maps",
        "DROP TABLE reviews",
        "DROP TABLE scorings",
        "ALTER TABLE contest DROP COLUMN first_id",
        "PRAGMA user_version = 9",
    )
    before = content(folder)
    earlier = best(folder)
    assert content(folder) == before
    assert {team: one | {"level_with": []} for team, one in now.items()} == earlier
    change(folder, "DROP TABLE contest")
    (link := folder.parent / "link").symlink_to(folder)
    assert len(documents(folder, link)) == len(now)


def test_of_a_contest_given_twice_the_longer_log_counts(copy: Copy) -> None:
    spring = copy("spring")
    longer = copy("spring", "longer")
    with open_contest(longer) as contest:
        contest.store.runs.change(
            2,
            [contest.store.runs.get(2).state],
            state="void",
            void_reason="wrong board",
        )
        contest.store.log.append(CLOCK.utc(), 2, "void")
    for folders in ((spring, longer), (longer, spring)):
        told = called("season", *map(str, folders), "--json")
        assert {one["contest"] for one in json.loads(told.stdout)} == {str(longer)}
        assert f"{spring} is left out: {longer} is of the same contest" in told.stderr


def test_a_bundle_counts_where_its_contest_is_not_there(
    copy: Copy,
    made: Path,
    tmp_path: Path,
) -> None:
    file = tmp_path / "run-1.zip"
    folder = copy("spring")
    returncode = called(
        "bundle", "export", "1", "-o", str(file), "--contest", str(folder)
    ).returncode
    assert returncode == 0
    (one,) = documents(file, made / "autumn")[:1]
    (own,) = documents(folder)[:1]
    apart = {"contest", "rank", "level_with", "latest"}
    assert {name: value for name, value in one.items() if name not in apart} == {
        name: value for name, value in own.items() if name not in apart
    }
    beside = called("season", str(file), str(folder), "--json")
    assert json.loads(beside.stdout) == documents(folder)
    assert f"{file} is left out: {folder} is of the same contest" in beside.stderr
    parts = unpack(file.read_bytes())
    better = {"result.json": parts["result.json"].replace(b'"score": ', b'"score": 9')}
    another = {MANIFEST: parts[MANIFEST].replace(b'"log_head": "', b'"log_head": "0')}
    for forged, words in (
        (better, "Part result.json does not have the SHA-256"),
        (another, "envelope does not contain this"),
    ):
        file.write_bytes(b"".join(pack(parts | forged)))
        told = called("season", str(file), str(made / "autumn"), "--json")
        assert told.stderr.startswith(f"{file} is left out: ")
        assert words in told.stderr
        assert json.loads(told.stdout) == documents(made / "autumn")


@pytest.fixture
def corrected_set(season_set: TestSet, tmp_path: Path) -> Path:
    """The same images, with fewer objects of one category."""
    folder = shutil.copytree(season_set.folder, tmp_path / "corrected")
    truth = read_ground_truth(folder)
    kept = (truth.category != 1) | (truth.image % 2 == 0)
    columns = (truth.image[kept], truth.category[kept], truth.coco_boxes[kept].tolist())
    objects = [
        ObjectRecord(int(image), int(category), tuple(box), float(box[2] * box[3]))
        for image, category, box in zip(*columns, strict=True)
    ]
    write_records(
        folder,
        "corrected",
        season_set.images,
        season_set.categories,
        objects,
    )
    return folder


def test_a_corrected_ground_truth_gives_what_judging_each_contest_again_gives(
    copy: Copy,
    corrected_set: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folders = [copy("spring"), copy("autumn")]
    again = [
        copy("spring", "one"),
        copy("autumn", "two"),
    ]
    before = [content(folder) for folder in folders]
    out = tmp_path / "out"
    how = ["--testset", corrected_set, "--out", out]
    was = {(one["contest"], one["run"]): one for one in documents(*folders)}
    known = []

    def watched(given: ScoringInput, former: Scored | None) -> Scored:
        known.append(former is not None)
        return score_whole(given, former)

    with monkeypatch.context() as patched:
        patched.setattr("referee.judging.judge_many.score_whole", watched)
        dry = called("season", *map(str, (*folders, *how)), "--dry-run")
    # What the correction does not touch is not computed again.
    assert known == [True] * len(was)
    assert (
        sorted(one.name for one in out.iterdir())
        == ["season.db", "season.db-count"][:1]
    )
    with monkeypatch.context() as patched:
        # All is known now.
        patched.setattr(
            "referee.judging.judge_many.score_whole",
            None,
        )
        found = documents(*folders, *how)
    elsewhere = documents(
        *folders,
        "--testset",
        corrected_set,
        "--out",
        tmp_path / "elsewhere",
        "--workers",
        "1",
    )
    assert elsewhere == found
    assert [content(folder) for folder in folders] == before
    for folder in again:
        text = (folder / "contest.toml").read_text()
        (folder / "contest.toml").write_text(
            re.sub(r"testset = '.*'", f"testset = '{corrected_set}'", text)
        )
        with open_contest(folder) as contest:
            rejudge(contest, None, CLOCK, Again("ann"))
    renamed = dict(zip(map(str, again), map(str, folders), strict=True))
    assert found == [
        one | {"contest": renamed[one["contest"]]} for one in documents(*again)
    ]
    for one in found:
        former = was[one["contest"], one["run"]]
        assert one["map"] != former["map"]
        assert f"{former['map']:.5f} -> {one['map']:.5f}" in dry.stdout
    assert dry.stderr == "No board was written.\n"


def test_a_contest_of_an_earlier_form_is_corrected_unless_its_bodies_lie_in_parts(
    copy: Copy,
    corrected_set: Path,
    tmp_path: Path,
) -> None:
    folder = copy("spring")
    how = ["--testset", corrected_set, "--out", tmp_path / "out"]
    now = documents(folder, *how)
    change(
        folder,
        "ALTER TABLE runs DROP COLUMN extra_s",
        "DROP TABLE scorings",
        "PRAGMA user_version = 9",
    )
    assert documents(folder, *how) == now
    was = documents(folder)
    change(folder, "PRAGMA user_version = 7")
    told = called("season", str(folder), *map(str, how), "--json")
    assert json.loads(told.stdout) == was
    assert (was == now) is False
    assert told.stderr.startswith(
        f"{folder} was not scored again: its database has the old format 7; "
    )


def test_runs_on_other_images_stay_as_they_are(
    made: Path,
    small_set: TestSet,
    tmp_path: Path,
) -> None:
    how = ["--testset", str(small_set.folder), "--out", str(tmp_path / "out")]
    told = called("season", str(made / "spring"), *how, "--json")
    assert json.loads(told.stdout) == documents(made / "spring")
    assert (
        told.stderr
        == "Every run on these images was judged by this ground truth already.\n"
    )
    dry = called("season", str(made / "spring"), *how, "--dry-run")
    assert dry.stdout == ""
    assert dry.stderr == f"{told.stderr}No board was written.\n"


def test_many_contests_give_one_board(copy: Copy) -> None:
    folders = [copy("spring", f"c{number}") for number in range(40)]
    for number, folder in enumerate(folders):
        with closing(sqlite3.connect(folder / DATABASE_NAME)) as database, database:
            database.execute("UPDATE contest SET id = ?", (f"contest-{number}",))
            database.execute("UPDATE runs SET team = team || ?", (number % 10,))
            better = 1 + number / 100
            database.execute(
                "UPDATE scores SET map = map * ?, score = score * ?",
                (better, better),
            )
        write_log_again(folder)
    found = best(*folders)
    assert len(found) == 30
    assert {one["contest"] for one in found.values()} == {
        str(folder) for folder in folders[30:]
    }
    assert {len(one["level_with"]) for one in found.values()} <= {0, 1, 2}


def test_a_store_that_is_only_read_cannot_be_written(made: Path) -> None:
    with (
        closing(Store.read_only(made / "spring" / DATABASE_NAME)) as store,
        pytest.raises(AttributeError),
    ):
        store.log.append(CLOCK.utc(), None, "no")


def test_a_path_that_cannot_be_looked_at_is_left_out_by_that_reason(
    tmp_path: Path,
) -> None:
    loop = loop_at(tmp_path / "loop")
    told = called("season", str(loop))
    assert f"{loop} is left out: {loop} cannot be accessed: {LOOP}." in told.stderr


# Runs in review


FAIL = (
    "INSERT INTO checks (run, score, code, ok, severity, sentence, figures)"
    " SELECT run, id, 'peak-clipping', 0, 'error', 'Clipped.', '{}' FROM scores WHERE run = 1"
)


def test_a_run_in_review_leads_no_season_and_is_shown_with_its_reason(
    copy: Copy,
    tmp_path: Path,
) -> None:
    spring = copy("spring")
    autumn = copy("autumn")
    out = tmp_path / "out"
    change(spring, FAIL)
    every = documents(spring, autumn, "--out", out)
    assert [
        (one["team"], one["contest"], one["rank"]) for one in every if one["rank"]
    ] == [
        ("cat", str(spring), 1),
        ("bee", str(autumn), 2),
        ("ant", str(autumn), 3),
    ]
    (shown,) = [one for one in every if one["not_ranked"]]
    assert shown["team"] == "ant"
    assert shown["run"] == 1
    assert shown["rank"] is None
    assert shown["not_ranked_code"] == "in-review"
    assert shown["failed_checks"] == [{"code": "peak-clipping", "sentence": "Clipped."}]
    why = "Run 1 of ant is not ranked: it is in review until an operator decides: peak-clipping failed (Clipped)."
    assert why in (out / "season.html").read_text()
    table = called("season", str(spring), str(autumn)).stdout.splitlines()
    assert [line.split()[:2] for line in table if line.endswith("!")] == [["-", "ant"]]
    with open_contest(spring) as contest:
        let_stand(contest, 1, "jo", "a spike", CLOCK.utc())
    assert best(spring, autumn)["ant"]["contest"] == str(spring), (
        "it counts from now on"
    )


def test_a_team_whose_only_run_is_in_review_is_in_the_files_without_a_rank(
    copy: Copy,
) -> None:
    spring = copy("spring")
    change(spring, FAIL)
    assert [(one["team"], one["rank"]) for one in documents(spring)] == [
        ("cat", 1),
        ("bee", 2),
        ("ant", None),
    ]


def test_images_seen_before_are_a_mark_of_the_season_too(copy: Copy) -> None:
    spring = copy("spring")
    change(
        spring,
        FAIL.replace(
            "peak-clipping', 0, 'error', 'Clipped.', '{}'",
            "images-seen', 1, 'warning', 'S', '{\"images\": 7}'",
        ),
    )
    assert {one["team"]: one["images_seen"] for one in documents(spring)} == {
        "ant": 7,
        "cat": 0,
        "bee": 0,
    }
    table = called("season", str(spring)).stdout
    rows = [line.split() for line in table.splitlines()[1:4]]
    assert [row[1] for row in rows if "i" in row[-1]] == ["ant"]
    assert "i images seen before" in table


# Frozen boards


def frozen(folder: Path) -> dict[str, Any]:
    """Freeze the contest's board; then its last team gets the best run of all, and its first one loses its own."""
    with open_contest(folder) as contest:
        Publisher(contest, CLOCK).tick()
        contest.store.published.freeze(CLOCK.utc(), empty_board(contest))
        run = closed_run(
            contest,
            guesses(contest, 1.0, seed=1),
            team="bee",
            energy_wh=0.1,
        )
        judge_with_interval(contest, run.id, CLOCK)
        contest.store.runs.change(
            1,
            [RunState.JUDGED],
            state="void",
            void_reason="a loose cable",
        )
        found = contest.store.published.get()
        assert found is not None
        return public_view(found)


def test_a_frozen_contest_is_in_a_season_as_its_public_board_shows_it(
    copy: Copy,
    tmp_path: Path,
) -> None:
    spring = copy("spring")
    autumn = copy("autumn")
    out = tmp_path / "out"
    board = frozen(spring)
    told = called("season", str(spring), str(autumn), "--out", str(out), "--json")
    every = json.loads(told.stdout)
    of_spring = {one["team"]: one for one in every if one["contest"] == str(spring)}
    assert {
        team: (one["run"], one["score"], one["map"]) for team, one in of_spring.items()
    } == {
        one["team"]: (one["run"], one["score"], one["map"]) for one in board["ranking"]
    }
    assert {one["contest"]: one["frozen_utc"] for one in every} == {
        str(spring): board["frozen_utc"],
        str(autumn): None,
    }
    since = board["frozen_utc"][:19]
    sentence = f"{spring}: its board has been frozen since {since} UTC; its runs are shown as on that"
    assert told.stderr.startswith(sentence)
    assert sentence in (out / "season.html").read_text()
    assert json.loads((out / "season.json").read_text()) == every


def test_nothing_after_the_freeze_changes_a_season(copy: Copy, tmp_path: Path) -> None:
    spring = copy("spring")
    autumn = copy("autumn")
    board = frozen(spring)

    def answers() -> list[str]:
        found = []
        for form in (
            (),
            ("--json",),
            ("--csv",),
            ("--team", "bee"),
            ("--team", "ant", "--json"),
        ):
            told = called("season", str(spring), str(autumn), *form)
            found += [told.stdout, told.stderr]
        return found

    before = answers()
    with open_contest(spring) as contest:
        for part, team in ((1.0, "cat"), (0.9, "newts")):
            run = closed_run(
                contest,
                guesses(contest, part, seed=1),
                team=team,
                energy_wh=0.1,
            )
            judge_with_interval(contest, run.id, CLOCK)
        contest.store.reviews.add(
            2,
            Review("jo", "It stands.", CLOCK.utc().isoformat(), ()),
        )
        contest.store.runs.change(
            3,
            [RunState.JUDGED],
            state="void",
            void_reason="a test",
        )
    assert answers() == before
    with open_contest(spring) as contest:
        final = public_board(contest, CLOCK.utc())
        places = len(json.loads(final)["ranking"])
        assert contest.store.published.unveil(CLOCK.utc(), final, 0, places)
        # One more press shows the prizes, and ends the freeze.
        assert contest.store.published.unveil(CLOCK.utc(), final, places, 1)
    every = documents(spring, autumn)
    assert {one["frozen_utc"] for one in every} == {None}
    assert (every[0]["team"], every[0]["run"]) != ("ant", 1), "unveiled"
    assert board["ranking"][0]["team"] == "ant"


def test_a_bundle_of_a_frozen_contest_does_not_get_round_its_freeze(
    copy: Copy,
    tmp_path: Path,
) -> None:
    spring = copy("spring")
    file = tmp_path / "run-4.zip"
    frozen(spring)
    returncode = called(
        "bundle", "export", "4", "-o", str(file), "--contest", str(spring)
    ).returncode
    assert returncode == 0
    assert documents(spring, file) == documents(spring)


def test_a_season_respects_a_freeze_that_no_server_has_carried_out(copy: Copy) -> None:
    spring = copy("spring")
    autumn = copy("autumn")
    config = spring / "contest.toml"
    config.write_text(f"freeze_at = 2026-01-01T12:00:00+02:00\n{config.read_text()}")
    told = called("season", str(spring), str(autumn), "--json")
    assert (
        f"{spring}: its board has been frozen since 2026-01-01T10:00:00 UTC"
        in told.stderr
    )
    assert {one["contest"] for one in json.loads(told.stdout)} == {str(autumn)}


def test_a_corrected_ground_truth_leaves_a_frozen_contest_as_its_board_shows_it(
    copy: Copy,
    corrected_set: Path,
    tmp_path: Path,
) -> None:
    spring = copy("spring")
    autumn = copy("autumn")
    frozen(spring)
    before = {one["team"]: one["score"] for one in documents(spring)}
    how = ["--testset", corrected_set, "--out", tmp_path / "out"]
    after = documents(spring, autumn, *how)
    assert {
        one["team"]: one["score"] for one in after if one["contest"] == str(spring)
    } == before
