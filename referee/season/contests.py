"""The runs of a season, from contest folders and bundles, which are only read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from lpirc_testsets.file_bytes import file_bytes
from referee.config import CONFIG_NAME, read_config
from referee.errors import RefereeError
from referee.judging.uncertainty import Floats, resampled_of
from referee.presence import is_file
from referee.scoring.interval import Resampled
from referee.scoring.result import signature_parts
from referee.store.database import DATABASE_NAME
from referee.store.read_only import ReadOnlyStore
from referee.store.records import Review, Run, RunState, Score

LARGEST_FILE_BYTES = 2**32
OVER = (RunState.CLOSED, RunState.JUDGED)


@dataclass(frozen=True, eq=False)
class SeasonRun:
    """A run that is over and not void, of the contest or bundle at `path`; `judged` is None before it is judged.

    `maps` (R,) are the judgement's mAPs of resampled images. Below `least_map` it does not count.
    """

    path: Path
    run: Run
    judged: Score | None
    maps: Floats | None
    review: Review | None
    least_map: float | None = None

    @property
    def utc(self) -> str:
        """When it was over."""
        return self.run.closed_utc or self.run.armed_utc

    @property
    def resampled(self) -> Resampled | None:
        """What its order with others depends on: runs of several contests may be on the same images."""
        if self.judged is None:
            return None
        images = self.run.images_digest, signature_parts(self.judged.signature).get("images")
        return resampled_of(self.run, self.judged, self.maps, None if None in images else images)


def read_season(paths: Sequence[Path]) -> tuple[list[SeasonRun], list[str]]:
    """The runs, each once, and a sentence for each path that is left out."""
    found, problems = [], []
    for path in paths:
        try:
            found.append((path, *(_bundle(path) if is_file(path) else _folder(path))))
        except RefereeError as error:
            problems.append(f"{path} is left out: {error.sentence}")
        except OSError as error:
            problems.append(f"{path} is left out: {error.strerror or error}.")
        except (LookupError, TypeError, ValueError) as error:
            problems.append(f"{path} is left out: it is damaged ({error}); put a copy in its place.")
    runs: list[SeasonRun] = []
    taken: dict[object, Path] = {}
    # Of a contest the longest log counts: its folder knows which runs are void now.
    for path, contest, _, its_runs in sorted(found, key=lambda one: (one[0].is_file(), -one[2])):
        what = (contest, its_runs[0].run.id) if path.is_file() and its_runs else contest
        first = taken.get(contest) or taken.setdefault(what, path)
        if first is not path:
            problems.append(f"{path} is left out: {first} is of the same contest, and its log is no shorter.")
        elif not its_runs:
            problems.append(f"{path} is left out: no run of it is over.")
        else:
            runs += its_runs
    return runs, problems


def _folder(folder: Path) -> tuple[str, int, list[SeasonRun]]:
    """The contest's id, the length of its log, its runs."""
    config = folder / CONFIG_NAME
    # Parsing it takes longer than reading the database, and few have this key.
    is_parsed = not config.is_file() or b"least_map" in config.read_bytes()
    least = read_config(folder).least_map if is_parsed else None
    with closing(ReadOnlyStore(folder / DATABASE_NAME)) as store:
        runs, judged, reviews = store.runs(), store.latest_scores(), store.latest_reviews()
        contest, events = store.about()
    over = [(run, *judged.get(run.id, (None, None))) for run in runs if run.state in OVER]
    found = [
        SeasonRun(folder, run, score, maps, reviews.get(run.id), _least_map(run, least))
        for run, score, maps in over
    ]
    return contest or str(folder.resolve()), events, found


def _least_map(run: Run, otherwise: float | None) -> float | None:
    """The one that is bound to a run; where none is, that of contest.toml."""
    return otherwise if run.rules is None else run.rules.least_map


def _bundle(path: Path) -> tuple[str, int, list[SeasonRun]]:
    from referee.evidence.verify import read_signed  # most seasons have none

    bundle = read_signed(file_bytes(path, LARGEST_FILE_BYTES))
    acts = [one for one in bundle.own_events() if "note" in one and "codes" in one]
    reviews = [Review(one["operator"], one["note"], one["utc"], tuple(one["codes"])) for one in acts]
    review, least = reviews[-1] if reviews else None, _least_map(bundle.run, None)
    found = SeasonRun(path, bundle.run, bundle.judged, None, review, least)
    return bundle.contest["id"], len(bundle.events), [found] if bundle.run.state in OVER else []
