"""Public files: the formats that are read and written, the keys of contest.toml, the tables of the database."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path

from lpirc_client.harness.bench import RESULT_VERSION
from lpirc_power.record import document as recording
from lpirc_score.metrics.evaluation_result import RULES_VERSION
from lpirc_testsets import folder as test_set
from referee.backup import backup_file
from referee.config import SINGLE_TABLES, ContestConfig, ModelTrack, Prize, Station
from referee.evidence import bundle_container
from referee.store import schema

ROWS = {"stations": Station, "tracks": ModelTrack, "prizes": Prize}
RECORDS = (recording.Record, recording.SeriesRecord, recording.GroupRecord)


def lines(root: Path) -> list[str]:
    """Return a line for each format, key and column."""
    formats = {
        "backup": f"{backup_file.FORMAT} {backup_file.VERSION}",
        "database": f"{schema.VERSION}",
        "harness result": f"{RESULT_VERSION}",
        "recording": f"{recording.FORMAT}",
        "rules of the metrics": f"{RULES_VERSION}",
        "test set": f"{test_set.FORMAT} {test_set.VERSION}",
    }
    found = [f"format of {what}: {written}" for what, written in formats.items()]
    found += [f"format of bundle: {one}" for one in _kept_bundles(root)]
    found += [f"contest.toml {one}" for one in _keys()]
    for table in schema.tables():
        found += [f"database {table}.{one}" for one in schema.columns_of(table)]
    for record in RECORDS:
        found += [f"recording {record.__name__}.{one.name}" for one in fields(record)]
    return sorted(found)


def _kept_bundles(root: Path) -> list[str]:
    """The formats of which a bundle of an earlier version is kept, and today's."""
    kept = (root / "tests/referee/evidence").glob("format-*.zip")
    read = {one.stem.split("-")[1] for one in kept}
    return sorted({*read, str(bundle_container.FORMAT)})


def _keys() -> list[str]:
    inner = {**ROWS, **SINGLE_TABLES}
    found = [
        f"[{name}] {one.name}"
        for name, kind in inner.items()
        if is_dataclass(kind)
        for one in fields(kind)
    ]
    return [*found, *(f"{one.name}" for one in fields(ContestConfig) if one.init)]
