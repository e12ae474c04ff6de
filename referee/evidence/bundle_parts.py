"""Collects the parts of a run's bundle from its contest; docs/bundle.md describes each part."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from lpirc_power.meter import Identity
from lpirc_score.files.atomic_write import write_atomically
from lpirc_score.metrics.evaluation_result import DIGEST_LENGTH, signature_parts
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import TASK_RULES_VERSION
from lpirc_testsets import TestSet
from lpirc_testsets.file_bytes import file_bytes
from referee.contest import Contest, require_same_images
from referee.errors import RefereeError, TestSetChanged
from referee.evidence.bundle_container import (
    BEGIN,
    ENVELOPE,
    FORMAT_OF_BUDGETS,
    FORMAT_OF_RULES,
    GROUND_TRUTH,
    JUDGEMENTS,
    LARGEST_PART_BYTES,
    MANIFEST,
    json_text,
    pack,
)
from referee.evidence.limits_in_bundle import stated_limits
from referee.evidence.signed_statement import manifest_of, sign
from referee.judging.bound_rules import as_judged
from referee.judging.run_figures import current_judgement
from referee.judging.run_limits import limits_of_run
from referee.presence import is_there
from referee.store.event_chain import LoggedEvent
from referee.store.records import OVER, Run, Score
from referee.store.score_table import Judgement

CRATE = "ro-crate-metadata.json"
DESCRIPTIONS = {
    "run.json": "The contest's rules, the run, its meter and the meter's setup.",
    "testset.json": "The test set: images with size and SHA-256, categories, digests.",
    "image_order.json": "The run's images in the team's numbering: for each image, its number in the test set.",
    "ground_truth.json.gz": "The ground truth of the test set, in COCO format.",
    "posts.jsonl.gz": "Each accepted body: arrival time, SHA-256, counts of rows, digest in the run's hash chain.",
    "bodies.gz": "The accepted bodies as they were received, one after the other.",
    "served.csv.gz": "Every image as it was served.",
    "readings.csv.gz": "Every reading of the power meter.",
    "events.jsonl.gz": "The contest's chained log from the run's first event on; other runs' events as digests.",
    "checks.json": "The checks of the published judgement.",
    JUDGEMENTS: "Every judgement of the run, with the rules that it applied.",
    "result.json": "The published judgement: mAP, energy, score and its interval.",
}
_TYPES = {"json": "application/json", "jsonl": "application/jsonl", "csv": "text/csv"}


def export_bundle(contest: Contest, number: int, path: Path, now: datetime) -> Path:
    """Write the bundle of a finished run atomically. `now` decides whether the ground truth is still secret.

    Raises RefereeError `bundle-target`, `run-unknown`, `run-state`, `testset-changed`, `judged-otherwise`,
    `bundle-too-large`; OSError.
    """
    _require_place(path)
    run = contest.store.runs.get(number)
    if run.state not in OVER or run.start_s is None:
        sentence = f"Run {run.id} is {run.state}; a bundle can be exported only after the run is closed."
        raise RefereeError("run-state", sentence, run=run.id)
    require_same_images(contest, run)
    judged = current_judgement(contest, run)
    contest = as_judged(
        contest, run, judged.rules.metric if judged and judged.rules else None
    )
    _require_same_rules(contest, run, judged)
    write_atomically(path, pack(_bundle(contest, run, judged, now)))
    return path


def _require_place(path: Path) -> None:
    """Raise RefereeError `bundle-target` if `path` is a file other than a bundle, `not-accessible` if unreachable."""
    if not is_there(path):
        return
    with path.open("rb") as there:
        begin = there.read(len(BEGIN))
    if begin not in (b"", BEGIN):
        raise RefereeError(
            "bundle-target",
            f"{path} exists and is not a bundle; choose another name.",
        )


def _require_same_rules(contest: Contest, run: Run, judged: Score | None) -> None:
    """Raise RefereeError `judged-otherwise` if the run was judged by other rules than the bundle would state."""
    was = signature_parts(judged.signature) if judged else {}
    counts = "unserved-too" if contest.config.count_unserved else "served"
    now = {
        "metric": contest.config.scored_by,
        "gt": contest.test_set.digest[:DIGEST_LENGTH],
        "counts": counts,
    }
    other = [name for name, value in now.items() if was.get(name, value) != value]
    if other:
        changes = ", ".join(
            f"{name} was {was[name]} and is {now[name]} now" for name in other
        )
        sentence = f"Run {run.id} was judged by other rules: {changes}; see: referee rejudge --help"
        raise RefereeError("judged-otherwise", sentence, run=run.id)


def _bundle(
    contest: Contest, run: Run, judged: Score | None, now: datetime
) -> dict[str, bytes]:
    before, previous, log = contest.store.log.since(run.id)
    has_budget = judged is not None and judged.energy_budget is not None
    contents = {
        "run.json": json_text(_run(contest, run, has_budget=has_budget)),
        "testset.json": json_text(_test_set(contest)),
        "image_order.json": json_text(contest.store.runs.image_order(run.id).tolist()),
    }
    until = contest.config.ground_truth_secret_until
    is_secret = until is not None and now < until
    if not is_secret:
        contents[GROUND_TRUTH] = _ground_truth(contest.test_set)
    contents |= _posts(contest, run)
    contents["served.csv.gz"] = contest.store.served.csv(run.id)
    contents["readings.csv.gz"] = contest.store.readings.csv(run.id)
    events = [
        {"previous": previous.hex(), "before": before},
        *(_event(event, run) for event in log),
    ]
    contents["events.jsonl.gz"] = b"".join(map(json_text, events))
    contents["checks.json"] = json_text(
        [asdict(check) for check in judged.checks] if judged else []
    )
    contents[JUDGEMENTS] = json_text(
        [_judgement(one) for one in contest.store.scores.judgements(run.id)]
    )
    contents["result.json"] = json_text(_result(judged))
    about: dict[str, object] = {
        "contest": contest.store.identity.first_id(),
        "run": run.id,
        "public_key": contest.key.public,
        "log_head": (log[-1].link if log else previous).hex(),
        "ground_truth": "secret" if is_secret else "included",
    }
    if run.task != BOXES:
        about |= {"format": FORMAT_OF_RULES, "metric_version": TASK_RULES_VERSION}
        about["task"] = run.task
    if run.rules is not None and run.rules.rule is not None:
        # An earlier verifier would call its score wrong.
        about["format"] = FORMAT_OF_RULES
    if has_budget:
        # An earlier verifier would call its interval wrong.
        about["format"] = FORMAT_OF_BUDGETS
    contents = {
        CRATE: json_text(_metadata(contest.config.name, run, [*contents]))
    } | contents
    return _signed(contest, contents, about)


def _signed(
    contest: Contest, contents: Mapping[str, bytes], about: Mapping[str, object]
) -> dict[str, bytes]:
    largest, size = max(
        ((name, len(content)) for name, content in contents.items()),
        key=lambda one: one[1],
    )
    if size > LARGEST_PART_BYTES:
        sentence = f"Part {largest} has {size} bytes; a bundle holds parts of at most {LARGEST_PART_BYTES}."
        raise RefereeError("bundle-too-large", sentence)
    zipped = {
        name: _gzip(one) for name, one in contents.items() if name.endswith(".gz")
    }
    parts = {**contents, **zipped}
    sizes = {name: len(content) for name, content in contents.items()}
    manifest = manifest_of(parts, sizes, about)
    return {MANIFEST: manifest, ENVELOPE: sign(manifest, contest.key), **parts}


def _run(contest: Contest, run: Run, *, has_budget: bool) -> dict[str, object]:
    config = contest.config
    model = Identity.parse(run.meter_identity or "").model
    limits = limits_of_run(run)
    until = config.ground_truth_secret_until
    return {
        "contest": {
            "id": contest.store.identity.first_id(),
            "name": config.name,
            "metric": config.scored_by,
            "count_unserved": config.count_unserved,
            "ground_truth_secret_until": until.isoformat() if until else None,
        },
        "run": asdict(run) | _stated(run),
        "meter": {
            "model": model,
            "official": run.official,
            "limits": stated_limits(limits, has_budget=has_budget),
        },
    }


def _stated(run: Run) -> dict[str, object]:
    """Return setup and rules in the form that is hashed into the run's chain."""
    rules = None if run.rules is None else run.rules.stated
    return {"setup": run.setup.stated, "rules": rules}


def _judgement(one: Judgement) -> dict[str, object]:
    rules = None if one.rules is None else one.rules.stated
    return asdict(one) | {"rules": rules}


def _test_set(contest: Contest) -> dict[str, object]:
    test_set = contest.test_set
    return {
        "name": test_set.name,
        "digest": test_set.digest,
        "ground_truth_sha256": test_set.ground_truth_sha256,
        "images": [
            [one.file, one.width, one.height, one.sha256] for one in test_set.images
        ],
        "categories": [[one.id, one.name] for one in test_set.categories],
    }


def _ground_truth(test_set: TestSet) -> bytes:
    content = file_bytes(test_set.ground_truth_path)
    if hashlib.sha256(content).hexdigest() != test_set.ground_truth_sha256:
        path = test_set.ground_truth_path
        raise TestSetChanged(
            f"{path} changed since its manifest was made; put the former file back."
        )
    return content


def _posts(contest: Contest, run: Run) -> dict[str, bytes]:
    refused: dict[int, list[list[object]]] = {}
    for row in contest.store.posts.refused_rows(run.id):
        refused.setdefault(row["post"], []).append([row["line"], row["reason"]])
    lines = []
    bodies = []
    for post, receipt in contest.store.posts.bodies(run.id):
        is_whole = post["body"] is not None
        content = post["body"] if is_whole else post["rows"]
        bodies.append(content)
        line = {
            "number": receipt.number,
            "previous": receipt.previous.hex() if receipt.previous else None,
            "link": receipt.link.hex() if receipt.previous else None,
            "received_utc": receipt.received_utc,
            "elapsed_s": post["elapsed_s"],
            "content_type": post["content_type"],
            "kind": "body" if is_whole else "rows",
            "bytes": len(content),
            "sha256": receipt.sha256,
            "accepted": receipt.row_count,
            "received_total": receipt.received_total,
            "readings": receipt.readings,
            "meter": None if receipt.meter is None else receipt.meter.hex(),
            "refused": post["refused"] or 0,
            "refused_rows": [] if is_whole else refused.get(post["id"], []),
        }
        lines.append(json_text(line))
    return {"posts.jsonl.gz": b"".join(lines), "bodies.gz": b"".join(bodies)}


def _event(event: LoggedEvent, run: Run) -> dict[str, object]:
    """Return an event of the run in full, or the digest of any other event."""
    if event.run == run.id:
        return {
            "utc": event.utc,
            "run": event.run,
            "kind": event.kind,
            "detail": event.detail,
        }
    return {"digest": event.digest.hex()}


def _result(judged: Score | None) -> dict[str, object] | None:
    if judged is None:
        return None
    left_out = ("run", "checks", "rules")
    result = {
        name: value for name, value in asdict(judged).items() if name not in left_out
    }
    for name in ("others", "energy_budget"):  # as in the formats before these
        if result[name] is None:
            del result[name]
    if "energy_budget" in result:
        # Judged before a budget stated its version.
        result["energy_budget"] = {"version": 1} | result["energy_budget"]
    interval: object = result.pop("interval")
    result["ap"] = {str(category): ap for category, ap in judged.ap.items()}
    return result | {"interval": interval}


def _gzip(content: bytes) -> bytes:
    packer = zlib.compressobj(
        1, zlib.DEFLATED, 31
    )  # a gzip member without a name and a time
    return packer.compress(content) + packer.flush()


def _metadata(contest: str, run: Run, parts: Sequence[str]) -> dict[str, object]:
    """Return RO-Crate 1.1 metadata of a bundle with these parts, for programs that know nothing of contests."""
    files = [_file(name) for name in parts]
    root: dict[str, object] = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Run {run.id} of {run.team} in {contest}",
        "description": "All records from which the score of a low-power vision run is computed. Their format is "
        "described in docs/bundle.md of lpirc-referee.",
        "datePublished": run.closed_utc or run.armed_utc,
        "license": "The organizers of the contest decide on the license.",
        "hasPart": [{"@id": name} for name in parts],
    }
    about = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    return {
        "@context": "https://w3id.org/ro/crate/1.1/context",
        "@graph": [about, root, *files],
    }


def _file(name: str) -> dict[str, object]:
    kind = _TYPES.get(
        name.removesuffix(".gz").rpartition(".")[2], "application/octet-stream"
    )
    formats = [kind, "application/gzip"] if name.endswith(".gz") else kind
    return {
        "@id": name,
        "@type": "File",
        "description": DESCRIPTIONS[name],
        "encodingFormat": formats,
    }
