"""A contest's database as it lies there: it is read, and nothing is written, not even beside it."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

from referee.errors import RefereeError
from referee.presence import is_there
from referee.store import Store
from referee.store.database import fail, find_columns, form_of, require_content
from referee.store.schema import COLUMNS, VERSION

_ABOUT = "SELECT (SELECT coalesce(first_id, id) FROM contest), (SELECT coalesce(max(id), 0) FROM events)"


class ReadOnlyStore(Store):
    """What its methods read is there, None where an earlier form has nothing. It may be served meanwhile.

    Raises RefereeError `database-missing`, `database-foreign`, `database-version`, `database-cut`, `half-copied`,
    `not-accessible`, StorageFailed.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._folder, self._reading = path, path.parent, threading.Lock()
        require_content(path)
        has_log, has_index = (
            is_there(Path(f"{path}{end}")) for end in ("-wal", "-shm")
        )
        if has_log != has_index:
            sentence = f"{path} has only one of its -wal and -shm beside it; copy the whole folder again."
            raise RefereeError("half-copied", sentence)
        # Else SQLite would make these two, or change the index.
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
            self.require_complete()
            opened.pop_all()

    def close(self) -> None:
        """Close the connection."""
        self._reader.close()

    def about(self) -> tuple[str | None, int]:
        """The id that the contest had first, if it has one, and how many events its log has."""
        return tuple(self._rows(_ABOUT)[0])

    def _complete(self, found: set[tuple[str, str]]) -> None:
        """Let the tables of an earlier form look like today's, by views of this connection alone."""
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
