"""A real run over HTTP with every kind of body, its bundle, and its team's receipts."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from lpirc_testsets import synthesize
from referee.store.hash_links import receipt_link
from referee.store.run_rules import rules_of
from tests.contest_day import Day, called, contest_day
from tests.referee.evidence.proved import opened

NAMES = ("image_name", "CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax")
ROW = [1, 1, 0.5, 3, 3, 40.25, 40]
BAD = [1, 9, 0.5, 3, 3, 40, 40]


def lists(*rows: list[float]) -> list[tuple[str, str]]:
    return [(name, f"{row[place]}") for row in rows for place, name in enumerate(NAMES)]


def multipart(fields: list[tuple[str, str]]) -> tuple[bytes, str]:
    parts = "".join(
        f'--xYz\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n'
        for n, v in fields
    )
    return f"{parts}--xYz--\r\n".encode(), 'multipart/form-data; boundary="xYz"'


def posted(day: Day, token: str) -> list[dict[str, Any]]:
    """One body of each kind, and the receipts of those of version 1."""
    assert day.server is not None
    line = " ".join(map(str, ROW))
    bodies = {
        "application/json": json.dumps([ROW, [2, *ROW[1:]]]).encode(),
        "text/plain": f"{line}\r\n\r\n{line.replace(' ', ', ')}\n".encode(),
        "text/csv; charset=utf-8": line.replace(" ", ",").encode(),
        "application/octet-stream": struct.pack("<7f", *ROW),
        "application/x-www-form-urlencoded": urlencode(lists(ROW)).encode(),
    }
    kept = []
    for number, (content_type, body) in enumerate(bodies.items(), start=1):
        answer = day.server.ask(
            "POST",
            "/v1/detections",
            token,
            {"Content-Type": content_type},
            data=body,
        )
        assert answer.status_code == 202, answer.text
        told = answer.json()
        assert told["receipt"]["number"] == number
        kept.append({"run": 1, **told.pop("receipt"), **told})
    form = [("token", token), *lists(ROW, BAD)]
    for body, content_type in (
        (urlencode(form).encode(), "application/x-www-form-urlencoded"),
        multipart(form),
    ):
        status_code = day.server.ask(
            "POST",
            "/result",
            None,
            {"Content-Type": content_type},
            data=body,
        ).status_code
        assert status_code == 200
    return kept


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """(the bundle, the lines of its receipts, the contest's public key)."""
    folder = tmp_path_factory.mktemp("bundle")
    testset = synthesize(
        folder / "set",
        images=6,
        categories=3,
        seed=4,
        size=(96, 64),
    ).folder
    with contest_day(folder / "contest", testset) as day:
        server = day.serve()
        token = day.fetched(str(day.login()["token"]))
        kept = posted(day, token)
        closing = server.ask("DELETE", "/v1/session", token).json()["receipt"]
        server.end()
        for command in (
            ("judge", "1"),
            ("bundle", "export", "1", "-o", str(folder / "run.zip")),
        ):
            done = day.refers(*command)
            assert done.returncode == 0, done.stderr
        lines = [json.dumps(one) for one in (*kept, {"closing": closing})]
        yield folder / "run.zip", lines, closing["public_key"]


def told(bundle: Path, *options: str) -> tuple[int, str]:
    done = called("bundle", "verify", str(bundle), *options)
    return done.returncode, done.stdout + done.stderr


def with_receipts(
    bundle: Path,
    folder: Path,
    lines: list[str],
) -> tuple[int, str]:
    (folder / "receipts.jsonl").write_text("\n".join(lines))
    return told(bundle, "--receipts", str(folder / "receipts.jsonl"))


def test_every_kind_of_body_gives_the_rows_that_were_acknowledged(
    run: Any,
    tmp_path: Path,
) -> None:
    bundle, lines, key = run
    (tmp_path / "receipts.jsonl").write_text("\n".join(lines))
    receipts = "--receipts", str(tmp_path / "receipts.jsonl")
    done = called(
        "bundle", "verify", str(bundle), *receipts, "--key", key, "--interval", "--json"
    )
    items = {item["name"]: item for item in json.loads(done.stdout)["items"]}
    # The links beside the receipts lie on the log, too.
    assert {item["outcome"] for item in items.values()} == {"ok"}
    assert "7 bodies give the 9 rows" in items["bodies"]["sentence"]
    assert "rows-refused" in items["checks"]["sentence"]
    assert done.returncode == 0


def test_another_key_is_named(run: Any) -> None:
    bundle = run[0]
    assert told(bundle, "--key", "ab" * 32)[0] == 1
    assert "signed by the key" in told(bundle, "--key", "ab" * 32)[1]
    assert "is not 64 hexadecimal digits" in told(bundle, "--key", "key")[1]


def test_a_head_from_outside_the_bundle_is_not_checked_and_one_that_never_was_fails_by_its_events(
    run: Any,
) -> None:
    bundle = run[0]
    first, *events = map(
        json.loads,
        opened(bundle.read_bytes())["events.jsonl.gz"].splitlines(),
    )
    before = first["before"]
    link = first["previous"]
    end = before + len(events)
    for head in (link, f"{before}:{link}", f"{before}:{link[:12]}"):
        code, text = told(bundle, "--head", head)
        assert (code, "ok           log-chain" in text) == (0, True), text
    for head, words in (
        ("ab" * 32, "if the board showed it earlier or later, nothing is proved"),
        (
            f"{before - 1}:{'ab' * 32}",
            f"is of event {before - 1}, but this bundle covers events {before} to {end}",
        ),
        (
            f"{end + 1}:{'ab' * 32}",
            f"is of event {end + 1}, but this bundle covers events {before} to {end}",
        ),
    ):
        code, text = told(bundle, "--head", head)
        assert (code, "not checked  log-chain" in text) == (0, True), text
        assert words in text
    code, text = told(bundle, "--head", f"{end}:{'ab' * 32}")
    assert code == 1
    assert "log-chain (events.jsonl.gz)" in text
    assert f"The given head of event {end} is abab" in text
    assert "'x' is not a number of events" in told(bundle, "--head", f"x:{link}")[1]


def test_receipts_of_another_form_of_the_protocol_are_told_in_one_sentence(
    run: Any,
    tmp_path: Path,
) -> None:
    bundle, lines, _ = run
    newer = json.dumps(json.loads(lines[0]) | {"form": 3})
    code, text = with_receipts(bundle, tmp_path, [newer])
    assert code == 1
    assert (
        "this receipt has the protocol version (`form`) 3, but this program knows only 1 and 2; use a newer version"
        in text
    )
    older = [json.loads(line) for line in lines[:-1]]
    for one in older:
        del one["form"], one["readings"], one["meter"]
    code, text = with_receipts(bundle, tmp_path, [*map(json.dumps, older)])
    assert code == 1
    assert text.count("protocol version 1 and do not cover rules and readings") == 1
    assert "contradicts itself" not in text
    assert "receipts (posts.jsonl.gz)" in text


def test_rules_that_the_team_was_told_and_that_are_not_those_bound_are_named(
    run: Any,
    tmp_path: Path,
) -> None:
    bundle, lines, _ = run
    rules = json.loads(opened(bundle.read_bytes())["run.json"])["run"]["rules"]
    of_login = {
        "run": 1,
        "rules": rules,
        "rules_sha256": rules_of(rules).sha256,
    }
    assert with_receipts(bundle, tmp_path, [json.dumps(of_login), *lines])[0] == 0
    others = rules | {"metric": "coco"}
    of_login = {
        "run": 1,
        "rules": others,
        "rules_sha256": rules_of(others).sha256,
    }
    code, text = with_receipts(bundle, tmp_path, [json.dumps(of_login), *lines])
    assert code == 1
    assert (
        "the team's rules at its login are not those in the bundle: metric coco instead of the run's lpirc"
        in text
    )


def test_receipts_show_what_is_missing_altered_added_or_of_another_run(
    run: Any,
    tmp_path: Path,
) -> None:
    bundle, lines, _ = run
    third = json.loads(lines[2])
    altered = json.dumps(third | {"accepted": 7})
    code, text = with_receipts(bundle, tmp_path, [*lines, altered])
    assert code == 1
    assert "body 3: the receipt contradicts itself" in text
    assert "The receipts file failed" in text
    assert "run.zip does not hold" not in text
    log = json.dumps({"closing": json.loads(lines[-1])["closing"] | {"log": "0" * 64}})
    assert (
        "does not hold: receipts (events.jsonl.gz)"
        in with_receipts(bundle, tmp_path, [log])[1]
    )
    code, text = with_receipts(bundle, tmp_path, ["\ufeff" + lines[-1]])
    assert code == 0
    assert ("No receipt of a body was given; the run was closed with 7" in text) is True
    assert text.endswith("Every check passed; not checked: links, interval.\n")
    closing = json.loads(lines[-1])["closing"]
    code, text = with_receipts(
        bundle,
        tmp_path,
        [json.dumps({"closing": closing | {"posts": 6}})],
    )
    assert code == 1
    assert "was closed with 6 bodies, the bundle has 7" in text
    assert "signature of the closing receipt does not match its content" in text
    code, text = with_receipts(
        bundle,
        tmp_path,
        [line.replace('"run": 1', '"run": 2') for line in lines],
    )
    assert code == 1
    assert text == "referee: The bundle is of run 1, these receipts are of run 2.\n"
    assert with_receipts(bundle, tmp_path, lines[:-1])[0] == 0
    assert "holds no receipts" in with_receipts(bundle, tmp_path, [""])[1]
    assert "line 1: this is not a receipt" in with_receipts(bundle, tmp_path, ["[]"])[1]
    odd = json.dumps(third | {"received_utc": "\ud800"})  # which has no bytes
    assert "line 1: this is not a receipt" in with_receipts(bundle, tmp_path, [odd])[1]


def test_receipts_that_anybody_can_make_do_not_accuse_an_honest_organizer(
    run: Any,
    tmp_path: Path,
) -> None:
    bundle, lines, _ = run
    last = json.loads(lines[-2])
    closing = json.loads(lines[-1])["closing"]
    more = last | {
        "previous": closing["head"],
        "number": 8,
        "received_total": 10,
    }
    fields = [
        more[name]
        for name in ("number", "sha256", "received_utc", "accepted", "received_total")
    ]
    of_meter = more["readings"], bytes.fromhex(more["meter"])
    more["link"] = receipt_link(
        bytes.fromhex(closing["head"]),
        *fields,
        *of_meter,
    ).hex()
    code, text = with_receipts(bundle, tmp_path, [*lines[:-1], json.dumps(more)])
    assert code == 1
    assert (
        "body 8 is missing. No closing receipt signed by the contest's key was given"
        in text
    )
    text = with_receipts(bundle, tmp_path, [*lines, json.dumps(more)])[1]
    assert "matches the bundle, so the other receipts are not those of the run" in text
    assert "the run was closed with something else" not in text
    forged = json.dumps({"closing": closing | {"posts": 8, "head": more["link"]}})
    text = with_receipts(bundle, tmp_path, [*lines[:-1], json.dumps(more), forged])[1]
    assert "unknown whether the receipts or the bundle were altered" in text
