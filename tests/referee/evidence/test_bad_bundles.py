"""Bundles of every format go on to verify; what is no bundle, damaged, or of something else is told in one sentence."""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet, synthesize
from referee.auth.signing import ContestKey, new_key
from referee.contest import Contest, create_contest, open_contest
from referee.errors import RefereeError
from referee.evidence.bundle_container import (
    ENVELOPE,
    GROUND_TRUTH,
    MANIFEST,
    BadBundle,
    json_text,
    pack,
    unpack,
)
from referee.evidence.bundle_parts import export_bundle
from referee.evidence.bundle_verification import CHECKS, read_signed, verify
from referee.evidence.given_facts import Given
from referee.evidence.recomputed_run import Recomputed
from referee.evidence.signed_statement import sign, subject_of
from referee.evidence.verification_items import Failure, Item
from referee.store.records import Run
from tests.contest_day import called
from tests.referee.evidence.closed_runs import (
    as_json,
    closed_with_bodies,
    found_boxes,
    judged_run,
)
from tests.referee.evidence.proved import by_second
from tests.referee.evidence.proved import failed as names_of_failed
from tests.referee.factories import START, TEAM, config_text

FORMAT_1 = Path(__file__).with_name("format-1.zip")


def failed(items: list[Item]) -> list[tuple[str, str | None]]:
    return [(item.name, item.part) for item in items if item.outcome == "failed"]


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> ContestKey:
    path = tmp_path_factory.mktemp("key") / "signing-key"
    path.touch(0o600)
    path.write_bytes(new_key())
    return ContestKey(path, None)


Forge = Callable[..., bytes]


@pytest.fixture(scope="module")
def forge(key: ContestKey) -> Forge:
    """The bundle of format 1 with other parts, all digests and the signature made again by another organiser's key."""

    def made(
        changed: dict[str, bytes],
        sizes: dict[str, int] | None = None,
        **predicate: object,
    ) -> bytes:
        parts = unpack(FORMAT_1.read_bytes()) | changed
        statement = json.loads(parts[MANIFEST])
        listed = {
            name: part
            for name, part in parts.items()
            if name not in (MANIFEST, ENVELOPE)
        }
        statement["subject"] = subject_of(listed)
        statement["predicate"] |= {"public_key": key.public, **predicate}
        plain = {
            name: len(part) for name, part in listed.items() if not name.endswith(".gz")
        }
        statement["predicate"]["sizes"] |= plain | (sizes or {})
        parts[MANIFEST] = json_text(statement)
        parts[ENVELOPE] = sign(parts[MANIFEST], key)
        return b"".join(pack(parts))

    return made


@pytest.mark.parametrize("number", [1, 2])
def test_a_bundle_of_an_earlier_format_verifies_for_ever(number: int) -> None:
    data = FORMAT_1.with_name(f"format-{number}.zip").read_bytes()
    items = {item.name: item for item in verify(data, Given(interval=True))}
    assert len(items) == 22
    others = {
        name: item.outcome for name, item in items.items() if item.outcome != "ok"
    }
    later = ("meter-chain", "judgements", "rules")
    assert others == dict.fromkeys(
        (*later, "interval", "links", "receipts"), "not checked"
    )
    assert {items[name].sentence for name in later} == {
        "An earlier version armed the run and did not record its rules in its chain."
    }
    if number == 1:
        assert "a bootstrap by an earlier version" in items["interval"].sentence


def test_the_container_is_a_zip_that_others_read() -> None:
    with zipfile.ZipFile(FORMAT_1) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == unpack(
            FORMAT_1.read_bytes()
        )


def test_two_exports_are_the_same_to_the_byte_and_of_a_run_that_is_not_over_there_is_none(
    contest: Contest,
    tmp_path: Path,
) -> None:
    run = judged_run(contest)
    files = [
        export_bundle(contest, run.id, tmp_path / name, START).read_bytes()
        for name in ("1.zip", "2.zip")
    ]
    assert files[0] == files[1]
    assert failed(verify(files[0], Given())) == []
    with pytest.raises(RefereeError, match="There is no run 9"):
        export_bundle(contest, 9, tmp_path / "3.zip", START)


def test_a_run_that_is_not_judged_has_a_bundle_that_says_so(
    contest: Contest,
    tmp_path: Path,
) -> None:
    run = closed_with_bodies(contest, [as_json(found_boxes(contest))])
    items = verify(
        export_bundle(contest, run.id, tmp_path / "1.zip", START).read_bytes(),
        Given(),
    )
    assert failed(items) == []
    assert "map" in [item.name for item in items if item.outcome == "not checked"]


def test_bodies_of_an_earlier_version_are_taken_as_they_are_stored(
    contest: Contest,
    tmp_path: Path,
) -> None:
    run = judged_run(contest)
    with closing(sqlite3.connect(contest.folder / "contest.db")) as database, database:
        database.execute(
            "UPDATE posts SET body = NULL, content_type = NULL, number = NULL, previous = NULL"
        )
        database.execute("DELETE FROM events WHERE kind = 'closed'")
        older = json.dumps(
            {
                "by": "logout",
                "energy_wh": run.energy_wh,
                "start_stop_s": 0.1,
            }
        )
        sql = "UPDATE events SET kind = 'closed', detail = ? WHERE kind = 'opened'"
        database.execute(sql, (older,))
    items = {
        item.name: item for item in verify(exported(contest, run, tmp_path), Given())
    }
    assert (
        "An earlier version kept only the rows of 2 of these bodies"
        in items["bodies"].sentence
    )
    assert items["closing"].outcome == "not checked"
    # The links are those of the events before.
    assert failed([*items.values()]) == [("log-chain", MANIFEST)]
    assert names_of_failed(by_second((tmp_path / "run.zip").read_bytes())) == [
        "log-chain"
    ]


def test_stored_rows_of_no_image_of_the_run_are_named_by_both(
    contest: Contest,
    tmp_path: Path,
) -> None:
    run = judged_run(contest)
    with closing(sqlite3.connect(contest.folder / "contest.db")) as database, database:
        database.execute(
            "UPDATE posts SET body = NULL, content_type = NULL, number = NULL, previous = NULL"
        )
        first = database.execute("SELECT rows FROM posts WHERE id = 1").fetchone()[0]
        # Image 0.
        database.execute(
            "UPDATE posts SET rows = ? WHERE id = 1",
            (bytes(8) + first[8:],),
        )
    data = exported(contest, run, tmp_path)
    assert ("bodies", "bodies.gz") in failed(verify(data, Given()))
    assert "bodies" in names_of_failed(by_second(data))


def exported(contest: Contest, run: Run, folder: Path) -> bytes:
    return export_bundle(contest, run.id, folder / "run.zip", START).read_bytes()


def test_a_secret_ground_truth_is_left_out_until_its_time_and_asked_for(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    until = START + timedelta(days=1)
    text = f"ground_truth_secret_until = {until.isoformat()}\n{config_text(small_set)}"
    create_contest(tmp_path / "contest", text)
    with open_contest(tmp_path / "contest") as contest:
        contest.store.teams.add(TEAM, "no hash", START)
        run = judged_run(contest)
        data = exported(contest, run, tmp_path)
        later = export_bundle(
            contest,
            run.id,
            tmp_path / "later.zip",
            until,
        ).read_bytes()
    assert GROUND_TRUTH not in unpack(data)
    assert GROUND_TRUTH in unpack(later)
    outcomes = {item.name: item.outcome for item in verify(data, Given())}
    assert {outcomes[name] for name in ("ground-truth", "map", "score", "checks")} == {
        "not checked"
    }
    done = called(
        "bundle",
        "verify",
        str(tmp_path / "run.zip"),
        "--testset",
        str(small_set.folder),
    )
    assert done.returncode == 0
    assert "ok           map:" in done.stdout
    other = synthesize(
        tmp_path / "other",
        images=5,
        categories=3,
        seed=2,
        size=(96, 64),
    )
    done = called(
        "bundle", "verify", str(tmp_path / "run.zip"), "--testset", str(other.folder)
    )
    assert (done.returncode, done.stdout) == (1, "")
    ids = f"this test set is {other.digest[:12]}, and run 1 was armed with {small_set.digest[:12]}"
    assert f"--testset: {ids}; give that one, or leave --testset out." in done.stderr


def named(data: bytes) -> tuple[str, str]:
    with pytest.raises(BadBundle) as bad:
        verify(data, Given())
    assert bad.value.sentence.endswith(".")
    return bad.value.part, bad.value.sentence


def test_no_bundle_at_all_is_told_in_a_sentence(tmp_path: Path) -> None:
    for content in (b"", b"PK", b"run,map\n1,0.5\n", FORMAT_1.read_bytes()[1:]):
        assert "is not a bundle" in named(content)[1]
    (tmp_path / "a.zip").write_bytes(b"no")
    done = called("bundle", "verify", str(tmp_path / "a.zip"))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1


def test_a_bundle_that_is_cut_short_says_so_wherever_it_ends() -> None:
    whole = FORMAT_1.read_bytes()
    for end in (40, 3000, len(whole) // 2, len(whole) - 700, len(whole) - 1):
        assert "cut short" in named(whole[:end])[1], end


def test_a_zip_that_was_packed_again_is_not_taken() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in unpack(FORMAT_1.read_bytes()).items():
            archive.writestr(name, content)
    part, sentence = named(packed.getvalue())
    assert part == MANIFEST
    assert "perhaps another program packed it again" in sentence


def test_a_part_that_climbs_out_or_is_unknown_or_missing_is_named() -> None:
    parts = unpack(FORMAT_1.read_bytes())
    assert (
        "unknown part '../../etc/passwd'"
        in named(b"".join(pack(parts | {"../../etc/passwd": b"x"})))[1]
    )
    assert (
        named(
            b"".join(
                pack(
                    {name: part for name, part in parts.items() if name != "bodies.gz"}
                )
            )
        )[0]
        == "bodies.gz"
    )
    turned = dict(reversed(parts.items()))
    assert named(b"".join(pack(turned)))[0] == "result.json"


def test_a_bomb_is_not_unpacked(forge: Forge) -> None:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(bytes(2**20)) for _ in range(32)) + packer.flush()
    assert "does not unpack to exactly the" in named(forge({"served.csv.gz": bomb}))[1]
    assert (
        "at most 1073741824 are unpacked"
        in named(forge({"served.csv.gz": bomb}, {"served.csv.gz": 2**40}))[1]
    )


@pytest.mark.parametrize(("what", "known"), [("format", 6), ("metric_version", 1)])
def test_a_newer_format_or_metric_is_told_with_both_numbers(
    forge: Forge,
    what: str,
    known: int,
) -> None:
    part, sentence = named(forge({}, **{what: known + 1}))
    assert part == MANIFEST
    assert f"up to {known}: verify it with a newer version" in sentence


def test_another_signer_is_seen_by_the_key_alone(forge: Forge, key: ContestKey) -> None:
    data = forge({})
    assert failed(verify(data, Given())) == []
    own = json.loads(unpack(FORMAT_1.read_bytes())[MANIFEST])["predicate"]["public_key"]
    assert failed(verify(data, Given(key=own))) == [("signature", ENVELOPE)]
    assert failed(verify(data, Given(key=key.public))) == []


@pytest.mark.parametrize(
    ("part", "old", "new", "item"),
    [
        ("result.json", b'"detections": 144', b'"detections": 145', "map"),
        ("result.json", b'"energy_wh": 0.00', b'"energy_wh": 0.01', "score"),
        ("run.json", b'"energy_wh": 0.00', b'"energy_wh": 0.01', "energy"),
        ("run.json", b'"crest_factor": 3', b'"crest_factor": 6', "closing"),
        ("run.json", b'"count_unserved": false', b'"count_unserved": true', "result-signature"),
        ("run.json", b'"team": "', b'"team": "x', "run-chain"),
        ("testset.json", b'"width": 1', b'"width": 2', "testset"),
        ("checks.json", b'"ok": false', b'"ok": true', "checks"),
        ("image_order.json", b"[", b"[", "closing"),
    ],
)  # fmt: skip
def test_what_an_organiser_changes_and_signs_again_contradicts_the_rest(
    forge: Forge,
    part: str,
    old: bytes,
    new: bytes,
    item: str,
) -> None:
    content = unpack(FORMAT_1.read_bytes())[part]
    if part == "image_order.json":
        changed = json_text([*reversed(json.loads(content))])
    elif part == "testset.json":
        test_set = json.loads(content)
        test_set["images"][0][1] += 1
        test_set["images"][0][3] = "0" * 64
        changed = json_text(test_set)
    else:
        assert old in content
        changed = content.replace(old, new, 1)
    assert item in dict(failed(verify(forge({part: changed}), Given())))


def test_bodies_that_are_exchanged_and_signed_again_are_named(forge: Forge) -> None:
    parts = unpack(FORMAT_1.read_bytes())
    lines = zlib.decompress(parts["posts.jsonl.gz"], 31).splitlines(keepends=True)
    bodies = zlib.decompress(parts["bodies.gz"], 31)
    first = json.loads(lines[0])
    other = bytes([bodies[0] ^ 1]) + bodies[1:]
    assert ("bodies", "bodies.gz") in failed(
        verify(forge({"bodies.gz": gzip(other)}), Given())
    )
    first["sha256"] = hashlib.sha256(bodies[: first["bytes"]] + b"x").hexdigest()
    changed = {"posts.jsonl.gz": gzip(b"".join([json_text(first), *lines[1:]]))}
    assert ("run-chain", "posts.jsonl.gz") in failed(verify(forge(changed), Given()))


def test_a_check_that_comes_out_otherwise_is_told_by_the_figure_that_differs(
    forge: Forge,
) -> None:
    checks = json.loads(unpack(FORMAT_1.read_bytes())["checks.json"])
    check = next(one for one in checks if one["code"] == "integrator-trapezoid")
    check["figures"]["trapezoid_wh"] = 0.5
    items = verify(forge({"checks.json": json_text(checks)}), Given())
    sentence = next(item.sentence for item in items if item.name == "checks")
    assert "trapezoid_wh is stated as 0.5, but it is 0.0" in sentence
    assert "{" not in sentence


def gzip(content: bytes) -> bytes:
    packer: Any = zlib.compressobj(1, zlib.DEFLATED, 31)
    return bytes(packer.compress(content) + packer.flush())


def test_a_run_without_bound_rules_that_an_earlier_version_judged_lacks_its_meters_own_limit() -> (
    None
):
    data = Path(__file__).with_name("format-2.zip").read_bytes()
    found = Recomputed(read_signed(data), None)
    assert found.bundle.result is not None
    score = CHECKS["score"]
    # As format 3 has what is NULL up to form 15.
    stated = found.bundle.result | {"energy_own_limit": None}
    found.bundle = replace(found.bundle, result=stated)
    assert score(found, Given()).startswith(f"{found.judged.map} / ")
    found.bundle = replace(found.bundle, result=stated | {"energy_own_limit": 0.5})
    with pytest.raises(Failure, match="energy_own_limit"):
        score(found, Given())
