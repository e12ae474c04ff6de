"""An open contest folder: configuration, secret, database, test set."""

from __future__ import annotations

import hmac
import os
import secrets
import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lpirc_score.files.atomic_write import sync_folder, write_atomically
from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_score.metrics.offered import METRICS, metric_named, metric_names
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import task_named, task_names
from lpirc_score.tasks.truth_reading import truth_of
from lpirc_testsets import TestSet, TestSetError, load_test_set, verify
from lpirc_testsets.close_names import did_you_mean
from lpirc_testsets.truth_records import kind_of
from referee.auth.signing import SIGNING_KEY_NAME, ContestKey, new_key
from referee.clock import Clock
from referee.config import (
    CONFIG_NAME,
    ContestConfig,
    Station,
    config_of,
    place_of_key,
    read_config,
)
from referee.errors import RefereeError, TestSetChanged
from referee.journal.epochs import FIRST, own_claim
from referee.journal.place import JOURNAL_NAME
from referee.presence import is_there
from referee.served import (
    OPERATOR_KEY_NAME,
    SECRET_BYTES,
    SECRET_NAME,
    is_served,
    read_secret,
    server_url,
)
from referee.store import DATABASE_NAME, Store
from referee.store.records import Run, RunState


@dataclass(frozen=True)
class Contest:
    """An open contest folder. Its database is open until `open_contest` ends."""

    folder: Path
    config: ContestConfig
    secret: bytes
    operator_key: str
    store: Store
    test_set: TestSet
    key: ContestKey

    @property
    def id(self) -> str:
        """The contest's id: 12 hexadecimal digits."""
        return _id(self.secret, bytes.fromhex(self.operator_key))

    @cached_property
    def epoch(self) -> int:
        """The journal epoch that this folder owns; 1 unless hosts share the journal."""
        claim = own_claim(self.folder) if self.config.journal.path else None
        return FIRST if claim is None else claim.epoch

    @property
    def server_url(self) -> str | None:
        """The URL at which the contest was last served, or None."""
        return server_url(self.folder)

    def station(self, name: str) -> Station:
        """Return the station with that name. Raises RefereeError `station-unknown`."""
        for station in self.config.stations:
            if station.name == name:
                return station
        names = [station.name for station in self.config.stations]
        raise RefereeError(
            "station-unknown",
            f"There is no station {name!r}; the stations are {', '.join(names)}.{did_you_mean(name, names)}",
        )


@contextmanager
def open_contest(
    folder: Path, *, only_looks: bool = False, as_served: bool = False
) -> Iterator[Contest]:
    """Open the contest in `folder` and close its database at the end.

    With `only_looks`, for commands that only read, it works even while a server hangs; see `Database`. With `as_served`
    it has the settings that a running server was started with, although contest.toml may have others by now.

    The task need not be installed: what is stored can be read without it. `require_scorer` is for all else.

    Raises RefereeError `contest-missing`, `bad-config`, `secret-missing`, `secret-readable`, `contest-mixed`,
    `database-cut`, and what opening the database raises; TestSetError for a bad test set.
    """
    in_use = served_config(folder) if as_served else None
    config = in_use or read_config(folder)
    require_metric(config.metric, folder / CONFIG_NAME)
    secret, operator_key = read_secrets(folder)
    test_set = load_own_test_set(folder, config)
    with closing(Store.open(folder / DATABASE_NAME, only_looks=only_looks)) as store:
        _require_one_contest(folder, config, store)
        store.integrity.require_complete()
        store.runs.complete_setups(config.setup)
        store.runs.complete_images_digests(
            test_set.digest, lambda: test_set.images_digest
        )
        key = _own_key(folder, store)
        yield Contest(folder, config, secret, operator_key.hex(), store, test_set, key)
        with suppress(RefereeError):
            store.integrity.note_count()


def load_own_test_set(folder: Path, config: ContestConfig) -> TestSet:
    """Load the test set of the contest in `folder`. Raises TestSetError, which names the key of contest.toml."""
    try:
        return load_test_set(folder / config.testset)
    except TestSetError as error:
        where = f"{folder / CONFIG_NAME} has testset = {config.testset!r}"
        sentence = f"{error.sentence}; {where}"
        raise TestSetError(error.code, sentence, error.problems) from error


def served_config(folder: Path) -> ContestConfig | None:
    """Return the settings that the running server of a contest was started with; None if that is not known."""
    if not is_served(folder):
        return None
    with closing(Store.open(folder / DATABASE_NAME, only_looks=True)) as store:
        settings = store.log.last_settings() or {}
    text = settings.get("text")
    return None if text is None else config_of(folder / CONFIG_NAME, text)


def require_metric(metric: str, where: str | Path) -> None:
    """Raise RefereeError `bad-config` unless this metric, set in `where`, is installed and can be used."""
    if metric in METRICS:
        return
    if metric not in metric_names():
        known = ", ".join(metric_names())
        meant = did_you_mean(metric, metric_names())
        sentence = f"{place_of_key(where, 'metric')}: metric = {metric!r} is unknown; the metrics are {known}.{meant}"
        raise RefereeError("bad-config", sentence)
    try:
        metric_named(metric)
    except RefereeError as error:
        place = place_of_key(where, "metric")
        sentence = f"{place}: metric = {metric!r}: {error.sentence}"
        raise RefereeError("bad-config", sentence) from error


def require_task(task: str, where: str | Path, store: Store | None = None) -> None:
    """Raise RefereeError `bad-config` unless this task, set in `where` (nowhere: ""), is installed and can be used.

    For one that is missing, the sentence names the package and version that the `store` knows to have scored by it.
    """
    if task == BOXES:
        return
    try:
        task_named(task)
    except RefereeError as error:
        package = None
        if store is not None and task not in task_names():
            package = task_package(store, task)
        sentence = error.sentence if package is None else not_here(task, package)
        prefix = f"{place_of_key(where, 'task')}: task = {task!r}: " if where else ""
        raise RefereeError("bad-config", prefix + sentence) from error


def task_package(store: Store, task: str) -> str | None:
    """Return the package and version by which the contest used a task last, as `my-tasks 1.2`; None if unknown."""
    signature = store.scores.newest_signature(task)
    if signature is None:
        return store.log.task_package(task)
    engine = signature_parts(signature).get("engine")
    return None if engine is None else " ".join(engine.rsplit("-", 1))


def not_here(task: str, package: str) -> str:
    """Return the sentence on a task of a package, `my-tasks 1.2`, that is not installed."""
    name, _, version = package.partition(" ")
    return (
        f"The task {task} is part of {package}, which is not installed here: pip install {name}=={version}; "
        "stored results can be read without it."
    )


def require_scorer(contest: Contest, run: Run | None = None) -> None:
    """Raise RefereeError `bad-config` unless the task of the contest, or of a run, is installed and can be used."""
    where = contest.folder / CONFIG_NAME if run is None else ""
    task = contest.config.task if run is None else run.task
    require_task(task, where, contest.store)


def read_secrets(folder: Path) -> tuple[bytes, bytes]:
    """Read the contest's secret and its operator key. Raises RefereeError `secret-missing`, `secret-readable`."""
    return read_secret(folder / SECRET_NAME), read_secret(folder / OPERATOR_KEY_NAME)


def contest_id(folder: Path) -> str:
    """Return the contest's id. It is computed from the secrets, which therefore need not contain it."""
    return _id(*read_secrets(folder))


def _id(secret: bytes, operator_key: bytes) -> str:
    return hmac.digest(secret, operator_key, "sha256")[:6].hex()


def _own_key(folder: Path, store: Store) -> ContestKey:
    """Return the contest's signing key; a contest of an earlier version, which has none, gets one now."""
    path = folder / SIGNING_KEY_NAME

    def made() -> str:
        if not is_there(path):
            write_atomically(path, new_key(), mode=0o600)
        return ContestKey(path, None).public

    if store.identity.public_key() is None:
        store.identity.set_public_key(made, Clock().utc())
    elif not is_there(path):
        sentence = (
            f"The contest's key {path} is missing; restore it from your backup. If it is lost, make a new key: "
            f"referee doctor {shlex.quote(str(folder))} --accept"
        )
        raise RefereeError("secret-missing", sentence)
    return ContestKey(path, store.identity.public_key())


def require_own_key(folder: Path, public_key: str | None) -> None:
    """Raise RefereeError unless the folder's signing key has this public key; see `ContestKey`."""
    ContestKey(folder / SIGNING_KEY_NAME, public_key).require()


def _require_one_contest(folder: Path, config: ContestConfig, store: Store) -> None:
    ours = contest_id(folder)
    ids = {CONFIG_NAME: config.id, DATABASE_NAME: store.identity.contest_id(ours)}
    ids |= {f"{SECRET_NAME} or {OPERATOR_KEY_NAME}": ours}
    odd = [name for name, one in ids.items() if one and [*ids.values()].count(one) == 1]
    if odd:
        raise RefereeError(
            "contest-mixed",
            f"{folder} mixes files of two contests; {' or '.join(odd)} does not belong. Put the file of this "
            "contest back; "
            f'or, to make them one contest, write id = "{ours}" into {CONFIG_NAME} and run: '
            f"referee doctor {shlex.quote(str(folder))} --accept",
        )


def require_unchanged(test_set: TestSet) -> None:
    """Raise RefereeError `testset-changed` unless every file matches its manifest."""
    problems = verify(test_set)
    if problems:
        raise TestSetChanged(
            f"The test set in {test_set.folder} changed since its manifest was made: {problems[0]}"
            + (f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""),
            problems=list(problems),
        )


def require_truth(test_set: TestSet, task: str = BOXES) -> None:
    """Raise RefereeError `testset-unfit` for a test set without ground truth for the task, which allows no score."""
    if task != BOXES:
        _require_truth_of(test_set, task)
    elif not test_set.categories:
        raise RefereeError(
            "testset-unfit",
            f"The test set in {test_set.folder} has no categories, so it cannot be used for detection; in "
            "contest.toml name a test set with boxes. (For classification, where models are measured: referee model.)",
        )
    else:
        _require_boxes(test_set)


def _require_boxes(test_set: TestSet) -> None:
    """Raise RefereeError `testset-unfit` for ground truth of another kind; a set of photographs alone has none."""
    try:
        kind = kind_of(test_set)
    except TestSetError as error:
        raise RefereeError("testset-unfit", error.sentence) from error
    if kind not in ("boxes", "nothing"):
        raise RefereeError(
            "testset-unfit",
            f"The test set in {test_set.folder} has {kind} and no boxes; in contest.toml name a test set with boxes, "
            "or the task of this one.",
        )


def _require_truth_of(test_set: TestSet, task: str) -> None:
    try:
        truth_of(task, test_set)
    except TestSetError as error:
        raise RefereeError(
            "testset-unfit",
            f"The test set in {test_set.folder} has no ground truth for the task {task}: {error.sentence}",
        ) from error


def place_of(testset: Path, folder: Path) -> str:
    """Return a test set's path for contest.toml: relative if it lies in the contest folder or beside that."""
    real = Path(os.path.realpath(testset))
    contest = Path(os.path.realpath(folder))
    is_near = contest in real.parents or real.parent == contest.parent
    return os.path.relpath(real, contest) if is_near else str(real)


def require_closed(run: Run) -> None:
    """Raise RefereeError `run-state` unless the run is closed or judged, and so can be judged."""
    if run.state not in (RunState.CLOSED, RunState.JUDGED):
        sentence = f"Run {run.id} is {run.state}; only a closed run can be judged."
        raise RefereeError("run-state", sentence, run=run.id)


def require_same_test_set(contest: Contest, run: Run) -> None:
    """Raise RefereeError `testset-changed` unless the contest still has the test set that the run was armed with."""
    if run.testset_digest != contest.test_set.digest:
        raise TestSetChanged(
            f"Run {run.id} used the test set {run.testset_digest[:12]}, but {contest.test_set.folder} holds "
            f"{contest.test_set.digest[:12]}; put the run's test set back. If only its ground truth was corrected: "
            "referee rejudge --help",
        )


def require_same_images(contest: Contest, run: Run) -> None:
    """Raise RefereeError `testset-changed` unless the contest has the run's images; the ground truth may differ."""
    if not has_same_images(contest, run):
        raise TestSetChanged(
            f"Run {run.id} used images other than those in {contest.test_set.folder}, or was armed by an earlier "
            "version that did not record its images; put the run's test set back.",
        )


def has_same_images(contest: Contest, run: Run) -> bool:
    """Return True if the run had these images: the same names and SHA-256 in this order, and the same categories."""
    same_set = run.testset_digest == contest.test_set.digest
    return same_set or run.images_digest == contest.test_set.images_digest


def require_no_contest(folder: Path) -> None:
    """Raise RefereeError `contest-exists` if the folder already has a contest."""
    for name in (CONFIG_NAME, DATABASE_NAME):
        if is_there(folder / name):
            sentence = f"{folder} is a contest folder already: it has {name}; choose another one."
            raise RefereeError("contest-exists", sentence)


def create_contest(folder: Path, config_text: str) -> None:
    """Make a contest folder with its configuration, a new secret and an empty database.

    Raises RefereeError `contest-exists` if the folder already has a contest.
    """
    new = [one for one in (folder, *folder.parents) if not is_there(one)]
    folder.mkdir(parents=True, exist_ok=True)
    for one in new:
        sync_folder(one.parent)
    require_no_contest(folder)
    if is_there(folder / JOURNAL_NAME):  # of a contest whose other files are gone
        (folder / JOURNAL_NAME).rename(
            folder / f"{JOURNAL_NAME}-former-{secrets.token_hex(4)}"
        )
    for name in (SECRET_NAME, OPERATOR_KEY_NAME):
        write_atomically(
            folder / name, f"{secrets.token_hex(SECRET_BYTES)}\n".encode(), mode=0o600
        )
    write_atomically(folder / SIGNING_KEY_NAME, new_key(), mode=0o600)
    made = contest_id(folder)
    with closing(Store.open(folder / DATABASE_NAME, create=True)) as store:
        store.identity.accept(made)
        _own_key(folder, store)
    own = f'id = "{made}"   # the same as in the database and the secrets; do not copy it to another contest\n'
    write_atomically(folder / CONFIG_NAME, (own + config_text).encode())
