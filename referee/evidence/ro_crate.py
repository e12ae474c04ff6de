"""RO-Crate 1.1 metadata of a bundle: what is what, for programs that know nothing of contests."""

from __future__ import annotations

from collections.abc import Sequence

from referee.store.records import Run

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
PROFILE = "https://w3id.org/ro/crate/1.1"

DESCRIPTIONS = {
    "run.json": "The contest's rules, the run, its meter and how that was set up.",
    "testset.json": "The test set: images with size and SHA-256, categories, digests.",
    "image_order.json": "The test-set numbers of the run's images in the order in which the team knows them.",
    "ground_truth.json.gz": "The ground truth of the test set, in COCO form.",
    "posts.jsonl.gz": "Each accepted body: when it came, its SHA-256, its rows, its link in the run's chain.",
    "bodies.gz": "The accepted bodies as they were received, one after the other.",
    "served.csv.gz": "Every image as it was served.",
    "readings.csv.gz": "Every reading of the power meter.",
    "events.jsonl.gz": "The contest's chained log from the run's first event on; other runs' events as digests.",
    "checks.json": "The checks of the judgement.",
    "result.json": "The judgement: mAP, energy, score and its interval.",
}
_TYPES = {"json": "application/json", "jsonl": "application/jsonl", "csv": "text/csv"}


def metadata(contest: str, run: Run, parts: Sequence[str]) -> dict[str, object]:
    """The metadata document of a bundle with these parts."""
    files = [_file(name) for name in parts]
    root: dict[str, object] = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Run {run.id} of {run.team} in {contest}",
        "description": "Everything that the score of a low-power vision run rests on: docs/bundle.md of lpirc-referee.",
        "datePublished": run.closed_utc or run.armed_utc,
        "license": "As the organizers of the contest say.",
        "hasPart": [{"@id": name} for name in parts],
    }
    about = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": {"@id": PROFILE},
        "about": {"@id": "./"},
    }
    return {"@context": CONTEXT, "@graph": [about, root, *files]}


def _file(name: str) -> dict[str, object]:
    kind = _TYPES.get(name.removesuffix(".gz").rpartition(".")[2], "application/octet-stream")
    formats = [kind, "application/gzip"] if name.endswith(".gz") else kind
    return {"@id": name, "@type": "File", "description": DESCRIPTIONS[name], "encodingFormat": formats}
