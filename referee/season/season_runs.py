"""The runs of a season, read from contest folders and bundles, which are never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from lpirc_score.analysis.interval import Halved
from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_testsets.file_bytes import file_bytes
from referee.auth.operator_names import doer
from referee.config import CONFIG_NAME, read_config
from referee.errors import ContestMissing, RefereeError
from referee.judging.freeze import Freeze
from referee.judging.jury_decisions import NOT_PUBLISHED, awaited
from referee.judging.ranking import Standing
from referee.judging.score_uncertainty import Floats, halved_of
from referee.presence import is_file
from referee.season.log_claims import Record, read_record
from referee.season.season_doubts import Doubt, doubts_of_log, doubts_of_run
from referee.season.season_pins import Pins
from referee.store import DATABASE_NAME, Store
from referee.store.records import (
    JUDGED,
    Published,
    Review,
    Run,
    RunState,
    Score,
)

LARGEST_FILE_BYTES = 2**32
OVER = (RunState.CLOSED, RunState.JUDGED)


@dataclass(frozen=True, eq=False)
class SeasonRun:
    """A run that has ended and is not void, of the contest or bundle at `path`; `judged` is None before it is judged.

    `maps` (R,) are the judgement's mAPs on halves of the images. A run below `least_map` is left off the board. If the
    contest's board has been frozen since `frozen_utc`, `shown` is the run as that board shows it, without newer data.
    `doubts` are the contradictions found in the run or its contest.
    """

    path: Path
    run: Run
    judged: Score | None
    maps: Floats | None
    review: Review | None
    least_map: float | None = None
    shown: Standing | None = None
    frozen_utc: str | None = None
    doubts: tuple[Doubt, ...] = ()

    @property
    def utc(self) -> str:
        """The time at which the run was over."""
        return self.run.closed_utc or self.run.armed_utc

    @property
    def halved(self) -> Halved | None:
        """The values for comparing the run with other runs on the same images, also of other contests."""
        if self.judged is None:
            return None
        images = (
            self.run.images_digest,
            signature_parts(self.judged.signature).get("images"),
        )
        return halved_of(
            self.run,
            self.judged,
            self.maps,
            None if None in images else images,
        )


@dataclass(frozen=True, eq=False)
class _Found:
    """What a contest folder or a bundle says: the contest's id, the length of its log, its runs that may be shown.

    `frozen_utc` is since when its board is frozen, or None. The jury has not published the runs `waiting`.
    """

    path: Path
    contest: str
    events: int
    runs: list[SeasonRun]
    frozen_utc: str | None = None
    waiting: tuple[int, ...] = ()

    def remarks(self) -> list[str]:
        """Return the sentences about what of it is not shown."""
        if self.frozen_utc is not None:
            return [f"{self.path}: {frozen_sentence(self.frozen_utc)}"]
        told = [
            f"{self.path}: run {run} is left out: {NOT_PUBLISHED}."
            for run in self.waiting
        ]
        if not self.runs and not told:
            told.append(f"{self.path} is left out: none of its runs has ended.")
        return told


def read_season(
    paths: Sequence[Path],
    now: datetime,
    pins: Pins,
) -> tuple[list[SeasonRun], list[str]]:
    """Return the runs, each once, as they may be shown at `now`, and a sentence for each path left out or frozen.

    Each contest is compared with its pin, and the pin is updated.
    """
    found = []
    problems = []
    for path in paths:
        try:
            one = _bundle(path, pins) if is_file(path) else _folder(path, now, pins)
            found.append(one)
        except ContestMissing as error:
            problems.append(f"{path} is left out: {error.what}")
        except RefereeError as error:
            problems.append(f"{path} is left out: {error.sentence}")
        except OSError as error:
            problems.append(f"{path} is left out: {error.strerror or error}.")
        except (LookupError, TypeError, ValueError) as error:
            problems.append(
                f"{path} is left out: it is damaged ({error}); replace it with a copy."
            )
    runs: list[SeasonRun] = []
    taken: dict[object, Path] = {}
    # The folder with the longest log of a contest is used: it knows which runs are void now.
    for one in sorted(found, key=lambda one: (one.path.is_file(), -one.events)):
        path = one.path
        what: object = one.contest
        if path.is_file() and one.runs:
            what = (one.contest, one.runs[0].run.id)
        first = taken.get(one.contest) or taken.setdefault(what, path)
        if first is not path:
            problems.append(
                f"{path} is left out: {first} is of the same contest and has a log that is at least as long."
            )
            continue
        problems += one.remarks()
        runs += one.runs
    return runs, problems


def frozen_sentence(frozen_utc: str) -> str:
    """Return the sentence about a contest whose board is frozen."""
    return f"its board has been frozen since {frozen_utc[:19]} UTC; its runs are shown as on that board."


def _folder(
    folder: Path,
    now: datetime,
    pins: Pins,
) -> _Found:
    """Read a contest folder."""
    config = folder / CONFIG_NAME
    # Parsing contest.toml takes longer than reading the database, and few have these keys.
    is_parsed = not config.is_file() or any(
        key in config.read_bytes()
        for key in (b"least_map", b"freeze_at", b"publish_by")
    )
    keys = read_config(folder) if is_parsed else None
    least = None if keys is None else keys.least_map
    freeze_at = None if keys is None else keys.freeze_at
    asks_jury = keys is not None and keys.publish_by > 0
    with closing(Store.read_only(folder / DATABASE_NAME)) as store:
        runs = store.runs.find()
        judged = store.scores.latest_by_run()
        reviews = store.reviews.latest()
        contest, events = store.identity.about()
        board = store.published.get()
        decisions = store.decisions.latest() if asks_jury else {}
        identity = contest or str(folder.resolve())
        record = read_record(store.log.after(0), pins.events_of(identity))
        closed = record.closed.keys() & {one.id for one in runs}
        heads = {run: _head_of(store, run) for run in closed}
        doubts = pins.doubts(identity, store.identity.public_key(), record)
        doubts += doubts_of_log(record, store.database.form, runs)
    if frozen_utc := Freeze(board, freeze_at).since_utc(now):
        as_shown = _as_shown(folder, runs, board, frozen_utc)
        verified = _verified(as_shown, record, heads, doubts)
        return _Found(folder, identity, events, verified, frozen_utc)
    waiting = [
        run.id
        for run in runs
        if asks_jury
        and run.state is RunState.JUDGED
        and awaited(decisions.get(run.id, ()))
    ]
    over = [
        (run, *judged.get(run.id, (None, None)))
        for run in runs
        if run.state in OVER and run.id not in waiting
    ]
    found = [
        SeasonRun(folder, run, score, maps, reviews.get(run.id), _least_map(run, least))
        for run, score, maps in over
    ]
    verified = _verified(found, record, heads, doubts)
    return _Found(folder, identity, events, verified, waiting=tuple(waiting))


def _head_of(store: Store, run: int) -> tuple[int, str]:
    bodies, head = store.posts.stored_bodies(run)
    return bodies, head.hex()


def _verified(
    runs: Sequence[SeasonRun],
    record: Record,
    heads: Mapping[int, tuple[int, str]],
    of_contest: tuple[Doubt, ...],
) -> list[SeasonRun]:
    """Return the runs with all doubts about them: those about the contest, and those about each run."""
    found = []
    for one in runs:
        figures = one.judged if one.shown is None else one.shown
        own: tuple[Doubt, ...] = ()
        if figures is not None:
            is_shown = one.shown is not None
            own = doubts_of_run(
                one.run,
                figures,
                record,
                heads.get(one.run.id),
                is_shown=is_shown,
            )
        found.append(replace(one, doubts=of_contest + own))
    return found


def _least_map(run: Run, otherwise: float | None) -> float | None:
    """Return the least mAP of a run's rules; for a run without rules, that of contest.toml."""
    return otherwise if run.rules is None else run.rules.least_map


def _as_shown(
    folder: Path,
    runs: Sequence[Run],
    board: Published | None,
    frozen_utc: str,
) -> list[SeasonRun]:
    """Return the runs that a frozen board shows, as it shows them; none before anything was published."""
    known = {run.id: run for run in runs}
    standings = Freeze(board).public_standings()
    return [
        SeasonRun(
            folder,
            known[one.run],
            None,
            None,
            None,
            shown=one,
            frozen_utc=frozen_utc,
        )
        for one in standings
        if one.run in known
    ]


def _bundle(path: Path, pins: Pins) -> _Found:
    from referee.backup.backup_file import refuse_backup
    from referee.evidence.bundle_verification import read_signed

    refuse_backup(path)
    bundle = read_signed(file_bytes(path, LARGEST_FILE_BYTES))
    acts = [one for one in bundle.own_events() if "note" in one and "codes" in one]
    reviews = [_review(one) for one in acts]
    review = reviews[-1] if reviews else None
    least = _least_map(bundle.run, None)
    found = SeasonRun(path, bundle.run, bundle.judged, None, review, least)
    contest = bundle.contest["id"]
    doubts = pins.doubts(contest, bundle.manifest["public_key"], None)
    if bundle.judged is not None:
        judged = [event for event in bundle.own_events() if event["kind"] == JUDGED]
        doubts += doubts_of_run(
            bundle.run,
            bundle.judged,
            Record(judged={bundle.run.id: judged}),
            None,
        )
    found = replace(found, doubts=doubts)
    runs = [found] if bundle.run.state in OVER else []
    return _Found(path, contest, len(bundle.events), runs)


def _review(act: dict[str, Any]) -> Review:
    operator = doer(act["operator"], act.get("user"))
    return Review(operator, act["note"], act["utc"], tuple(act["codes"]))
