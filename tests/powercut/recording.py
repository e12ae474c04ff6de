"""Records what the program writes and syncs below a folder: SQLite by a VFS, plain files by `open` and `os`."""

from __future__ import annotations

import builtins
import io
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

import apsw

from tests.powercut.disk import ROOT, Cut, Disk, Entry, Step, Sync, Write

JOURNAL = ".log"
PAGES_OF_LOG = 30
"""After which SQLite moves the write-ahead log into the database by itself: a day of a few posts sees it often."""


class Journal:
    """Every step below `root` since it began, and what lay there before."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        self.steps: list[Step] = []
        self.before = Disk()
        self._nodes = {self._identity(self.root): ROOT}
        for path in sorted(self.root.rglob("*")):
            self.make(path)
            if path.is_file():
                self.wrote(path, 0, path.read_bytes())
        for step in [*self.steps, Sync(None)]:
            self.before.take(step)
        self.steps.clear()

    def disks(self) -> Iterator[tuple[int, Disk]]:
        """The disk before each step, and after the last one."""
        disk = Disk(
            dict(self.before.files),
            {n: dict(names) for n, names in self.before.folders.items()},
        )
        for number, step in enumerate(self.steps):
            yield number, disk
            disk.take(step)
        yield len(self.steps), disk

    def holds(self, path: Any) -> bool:
        if not isinstance(path, str | os.PathLike):
            return False
        return self._place(path).is_relative_to(self.root)

    def make(self, path: Any) -> None:
        """A file or folder that was not there."""
        place = self._place(path)
        node = max(self._nodes.values()) + 1
        self._nodes[self._identity(place)] = node
        if place.is_dir():
            self.before.folders[node] = {}
        self.steps.append(Entry(self.node(place.parent), place.name, node))

    def wrote(
        self,
        file: Any,
        offset: int,
        data: bytes,
    ) -> None:
        self.steps.append(Write(self.node(file), offset, data))

    def cut(self, file: Any, size: int) -> None:
        self.steps.append(Cut(self.node(file), size))

    def synced(self, file: Any) -> None:
        with suppress(KeyError):  # not below the root
            self.steps.append(Sync(self.node(file)))

    def gone(self, path: Any) -> None:
        place = self._place(path)
        self.steps.append(Entry(self.node(place.parent), place.name, None))

    def renamed(self, old: Any, new: Any) -> None:
        source = self._place(old)
        target = self._place(new)
        was = (self.node(source.parent), source.name)
        self.steps.append(
            Entry(self.node(target.parent), target.name, self.node(target), was)
        )

    def node(self, file: Any) -> int:
        return self._nodes[self._identity(file)]

    def _place(self, path: Any) -> Path:
        return Path(os.path.realpath(os.path.dirname(path)), os.path.basename(path))  # noqa: PTH119, PTH120

    def _identity(self, file: Any) -> int:
        return os.stat(file).st_ino  # noqa: PTH116 - also of a descriptor


class RecordingVfs(apsw.VFS):
    """The system's own one, with a journal. `forgets` names files whose syncs the disk answers and does not do."""

    def __init__(
        self,
        journal: Journal,
        forgets: str | None = None,
    ) -> None:
        self.journal = journal
        self.forgets = forgets
        super().__init__("recording", "")

    def xOpen(  # noqa: N802
        self,
        name: Any,
        flags: list[int],
    ) -> apsw.VFSFile:
        return RecordedFile(self, name, flags)

    def xDelete(  # noqa: N802
        self,
        name: str,
        sync_folder: bool,
    ) -> None:
        super().xDelete(name, sync_folder)
        self.journal.gone(name)
        if sync_folder:
            self.journal.synced(Path(name).parent)


class RecordedFile(apsw.VFSFile):
    """A database, its write-ahead log, or its rollback journal."""

    def __init__(
        self,
        vfs: RecordingVfs,
        name: Any,
        flags: list[int],
    ) -> None:
        self.journal = vfs.journal
        self.path = name if isinstance(name, str) else name.filename()
        was_there = Path(self.path).exists()
        super().__init__("", name, flags)
        if not was_there:
            self.journal.make(self.path)
        # Its first sync is one of the folder too: `UNIXFILE_DIRSYNC` in SQLite's os_unix.c.
        logs = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL
        self.syncs_folder = bool(flags[0] & logs and flags[0] & apsw.SQLITE_OPEN_CREATE)
        self.forgets = vfs.forgets is not None and self.path.endswith(vfs.forgets)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        self.journal.wrote(self.path, offset, bytes(data))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        super().xTruncate(size)
        self.journal.cut(self.path, size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        if not self.forgets:
            self.journal.synced(self.path)
        if self.syncs_folder:
            self.journal.synced(Path(self.path).parent)
            self.syncs_folder = False


class Row(tuple[Any, ...]):
    """As sqlite3.Row: by position and by name."""

    names: tuple[str, ...]

    def keys(self) -> tuple[str, ...]:
        return self.names

    def __getitem__(self, which: Any) -> Any:
        return super().__getitem__(
            self.names.index(which) if isinstance(which, str) else which
        )


class Found:
    """As a sqlite3 cursor, all of whose rows were fetched."""

    def __init__(
        self,
        rows: list[Row],
        lastrowid: int,
        rowcount: int,
    ) -> None:
        self._rows = iter(rows)
        self.lastrowid = lastrowid
        self.rowcount = rowcount

    def __iter__(self) -> Iterator[Row]:
        return self._rows

    def fetchone(self) -> Row | None:
        return next(self._rows, None)

    def fetchmany(self, size: int) -> list[Row]:
        return list(islice(self._rows, size))

    def fetchall(self) -> list[Row]:
        return list(self._rows)

    def close(self) -> None:
        pass


class Connection:
    """An APSW connection, as far as the store takes it for one of sqlite3."""

    def __init__(
        self,
        path: Any,
        committed: Callable[[Connection], None],
    ) -> None:
        self._committed = committed
        self._own = apsw.Connection(str(path), vfs="recording")
        self._own.set_busy_timeout(30_000)
        self._own.pragma("wal_autocheckpoint", PAGES_OF_LOG)

    @property
    def in_transaction(self) -> bool:
        return self._own.in_transaction

    def execute(self, sql: str, values: Any = ()) -> Found:
        with _errors_of_sqlite3():
            before = self._own.total_changes()
            cursor = self._own.cursor()
            cursor.execute(sql, values)
            names: tuple[str, ...] = ()
            with suppress(apsw.ExecutionCompleteError):
                names = tuple(column[0] for column in cursor.description)
            rows = [Row(row) for row in cursor]
            for row in rows:
                row.names = names
            return Found(
                rows,
                self._own.last_insert_rowid(),
                self._own.total_changes() - before,
            )

    def executemany(self, sql: str, several: Iterable[Any]) -> Found:
        with _errors_of_sqlite3():
            self._own.cursor().executemany(sql, several)
        return Found([], 0, 0)

    def create_function(
        self,
        name: str,
        count: int,
        function: Callable[..., Any],
    ) -> None:
        self._own.create_scalar_function(name, function, count)

    def commit(self) -> None:
        if self.in_transaction:
            self.execute("COMMIT")
            self._committed(self)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.commit()
        elif self.in_transaction:
            self.execute("ROLLBACK")

    def close(self) -> None:
        self._own.close()


@contextmanager
def _errors_of_sqlite3() -> Iterator[None]:
    try:
        yield
    except apsw.ConstraintError as error:
        raise sqlite3.IntegrityError(str(error)) from error
    except apsw.Error as error:
        raise sqlite3.OperationalError(str(error)) from error


def _ignore(_: Connection) -> None:
    pass


@contextmanager
def recorded(
    root: Path,
    committed: Callable[[Connection], None] = _ignore,
    connection: type[Connection] = Connection,
    forgets: str | None = None,
) -> Iterator[Journal]:
    """Record what this process writes below `root`; `committed` is called after each commit of a database."""
    journal = Journal(root)
    vfs = RecordingVfs(journal, forgets)
    with ExitStack() as stack:
        stack.callback(vfs.unregister)
        stack.enter_context(
            mock.patch("sqlite3.connect", lambda path, **_: connection(path, committed))
        )
        files = PlainFiles(journal, forgets)
        stack.enter_context(mock.patch.object(io, "open", files.open_file))
        stack.enter_context(mock.patch.object(builtins, "open", files.open_file))
        for name, made in files.calls().items():
            stack.enter_context(mock.patch.object(os, name, made))
        yield journal


REAL = {
    name: getattr(os, name)
    for name in ("open", "mkdir", "unlink", "replace", "fsync", "pwrite", "ftruncate")
}
REAL_OPEN = io.open


class PlainFile(io.FileIO):
    """A file that is written."""

    journal: Journal

    def write(self, data: Any) -> int:
        at = os.fstat(self.fileno()).st_size if "a" in self.mode else self.tell()
        size = super().write(data)
        self.journal.wrote(self.fileno(), at, bytes(data)[:size])
        return size

    def truncate(self, size: int | None = None) -> int:
        left = super().truncate(size)
        self.journal.cut(self.fileno(), left)
        return left


class PlainFiles:
    """The calls by which the program writes whole files, and its journal."""

    def __init__(
        self,
        journal: Journal,
        forgets: str | None = None,
    ) -> None:
        self.journal = journal
        self.forgets = forgets

    def calls(self) -> dict[str, Callable[..., Any]]:
        gone = self.unlink
        moved = self.replace
        return {
            "open": self.open,
            "mkdir": self.mkdir,
            "unlink": gone,
            "remove": gone,
            "replace": moved,
            "rename": moved,
            "fsync": self.fsync,
            "fdatasync": self.fdatasync,
            "pwrite": self.pwrite,
            "ftruncate": self.ftruncate,
        }

    def open_file(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        *args: Any,
        **named: Any,
    ) -> Any:
        if not set(mode) & set("wax+") or not self.journal.holds(file):
            return REAL_OPEN(file, mode, buffering, *args, **named)
        was_there = Path(file).exists()
        raw = PlainFile(file, mode.replace("b", "").replace("t", ""))
        raw.journal = self.journal
        if not was_there:
            self.journal.make(file)
        elif "w" in mode:
            self.journal.cut(raw.fileno(), 0)
        if not buffering:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *args, **named)

    def open(
        self,
        path: Any,
        flags: int,
        mode: int = 0o777,
        *,
        dir_fd: int | None = None,
    ) -> int:
        makes = (
            bool(flags & os.O_CREAT)
            and self.journal.holds(path)
            and not os.path.lexists(path)
        )
        descriptor: int = REAL["open"](path, flags, mode, dir_fd=dir_fd)
        if makes:
            self.journal.make(path)
        return descriptor

    def mkdir(self, path: Any, mode: int = 0o777) -> None:
        REAL["mkdir"](path, mode)
        if self.journal.holds(path):
            self.journal.make(path)

    def unlink(self, path: Any, **named: Any) -> None:
        REAL["unlink"](path, **named)
        if self.journal.holds(path):
            self.journal.gone(path)

    def replace(self, old: Any, new: Any) -> None:
        REAL["replace"](old, new)
        if self.journal.holds(new):
            self.journal.renamed(old, new)

    def fsync(self, file: Any) -> None:
        REAL["fsync"](file)
        self.journal.synced(file if isinstance(file, int) else file.fileno())

    def fdatasync(self, descriptor: int) -> None:
        """Only the journal does that."""
        if self.forgets != JOURNAL:
            self.fsync(descriptor)

    def pwrite(
        self,
        descriptor: int,
        data: bytes,
        offset: int,
    ) -> int:
        size: int = REAL["pwrite"](descriptor, data, offset)
        self.journal.wrote(descriptor, offset, bytes(data)[:size])
        return size

    def ftruncate(self, descriptor: int, size: int) -> None:
        REAL["ftruncate"](descriptor, size)
        self.journal.cut(descriptor, size)
