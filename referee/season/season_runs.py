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
from referee.errors import RefereeError
from referee.judging.freeze import Freeze
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
            found.append(
                (
                    path,
                    *(
                        _bundle(path, pins)
                        if is_file(path)
                        else _folder(path, now, pins)
                    ),
                )
            )
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
    for path, contest, _, its_runs, frozen_utc in sorted(
        found,
        key=lambda one: (one[0].is_file(), -one[2]),
    ):
        what = (contest, its_runs[0].run.id) if path.is_file() and its_runs else contest
        first = taken.get(contest) or taken.setdefault(what, path)
        if first is not path:
            problems.append(
                f"{path} is left out: {first} is of the same contest and has a log that is at least as long."
            )
        elif frozen_utc is not None:
            problems.append(f"{path}: {frozen_sentence(frozen_utc)}")
            runs += its_runs
        elif not its_runs:
            problems.append(f"{path} is left out: none of its runs has ended.")
        else:
            runs += its_runs
    return runs, problems


def frozen_sentence(frozen_utc: str) -> str:
    """Return the sentence about a contest whose board is frozen."""
    return f"its board has been frozen since {frozen_utc[:19]} UTC; its runs are shown as on that board."


def _folder(
    folder: Path,
    now: datetime,
    pins: Pins,
) -> tuple[str, int, list[SeasonRun], str | None]:
    """Return the contest's id, the length of its log, its runs, and since when its board is frozen (or None)."""
    config = folder / CONFIG_NAME
    # Parsing contest.toml takes longer than reading the database, and few have these keys.
    is_parsed = not config.is_file() or any(
        key in config.read_bytes() for key in (b"least_map", b"freeze_at")
    )
    keys = read_config(folder) if is_parsed else None
    least, freeze_at = (
        (None, None) if keys is None else (keys.least_map, keys.freeze_at)
    )
    with closing(Store.read_only(folder / DATABASE_NAME)) as store:
        runs = store.runs.find()
        judged = store.scores.latest_by_run()
        reviews = store.reviews.latest()
        contest, events = store.identity.about()
        board = store.published.get()
        identity = contest or str(folder.resolve())
        record = read_record(store.log.after(0), pins.events_of(identity))
        closed = record.closed.keys() & {one.id for one in runs}
        heads = {run: _head_of(store, run) for run in closed}
        doubts = pins.doubts(identity, store.identity.public_key(), record)
        doubts += doubts_of_log(record, store.database.form, runs)
    if frozen_utc := Freeze(board, freeze_at).since_utc(now):
        as_shown = _as_shown(folder, runs, board, frozen_utc)
        return identity, events, _verified(as_shown, record, heads, doubts), frozen_utc
    over = [
        (run, *judged.get(run.id, (None, None))) for run in runs if run.state in OVER
    ]
    found = [
        SeasonRun(folder, run, score, maps, reviews.get(run.id), _least_map(run, least))
        for run, score, maps in over
    ]
    return identity, events, _verified(found, record, heads, doubts), None


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


def _bundle(path: Path, pins: Pins) -> tuple[str, int, list[SeasonRun], str | None]:
    from referee.evidence.bundle_verification import read_signed

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
    return (
        contest,
        len(bundle.events),
        [found] if bundle.run.state in OVER else [],
        None,
    )


def _review(act: dict[str, Any]) -> Review:
    operator = doer(act["operator"], act.get("user"))
    return Review(operator, act["note"], act["utc"], tuple(act["codes"]))
