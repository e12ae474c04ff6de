"""A contest's database opened for reading only. No file is written, not even beside it."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

from referee.errors import RefereeError
from referee.presence import is_there
from referee.store.database import Database, fail
from referee.store.database_file import find_columns, form_of, require_content
from referee.store.integrity import Integrity
from referee.store.schema import COLUMNS, VERSION
from referee.store.waiting_rows import WaitingRows


class ReadOnlyDatabase(Database):
    """A database that is only read, even while a server uses it.

    Values that an earlier version lacks are None. Raises RefereeError `database-missing`, `database-foreign`,
    `database-version`, `database-cut`, `half-copied`, `not-accessible`, StorageFailed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path.parent
        self._reading = threading.Lock()
        self._along = WaitingRows("none ()")
        require_content(path)
        has_log, has_index = (
            is_there(Path(f"{path}{end}")) for end in ("-wal", "-shm")
        )
        if has_log != has_index:
            sentence = f"{path} has only one of its -wal and -shm beside it; copy the whole folder again."
            raise RefereeError("half-copied", sentence)
        # Otherwise SQLite would create these two files, or change the index.
        how = "readonly_shm=1" if has_log else "immutable=1"
        uri = f"file:{quote(str(path))}?mode=ro&{how}"
        with ExitStack() as opened:
            try:
                self._reader = sqlite3.connect(uri, uri=True, check_same_thread=False)
                opened.callback(self.close)
                self._reader.row_factory = sqlite3.Row
                self.form = form_of(self._reader, path)
                if self.form < VERSION:
                    self._complete(find_columns(self._reader, path))
            except sqlite3.Error as error:
                fail("opened", error)
            Integrity(self).require_complete()
            opened.pop_all()

    def close(self) -> None:
        """Close the connection."""
        self._reader.close()

    def _complete(self, found: set[tuple[str, str]]) -> None:
        """Make the tables of an earlier version look like today's, with views that exist only on this connection."""
        tables = {table for table, _ in found}
        for table in {table for table, _ in COLUMNS - found}:
            nulls = ", ".join(
                f"NULL AS {column}" for one, column in COLUMNS - found if one == table
            )
            rest = (
                f"*, {nulls} FROM main.{table}"
                if table in tables
                else f"{nulls} WHERE 0"
            )
            self._reader.execute(f"CREATE TEMP VIEW {table} AS SELECT {rest}")
