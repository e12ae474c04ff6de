"""One SQLite file per contest: the only package that speaks SQL.

WAL with `synchronous=FULL`: what a method has returned from is on disk. One connection per process, guarded by a
lock, since the web server answers from several threads. Start with `Store`: its parts own the tables.
"""

from referee.store.contest_store import Store
from referee.store.database import DATABASE_NAME
from referee.store.event_chain import Event, LoggedEvent
from referee.store.post_table import NewPost

__all__ = [
    "DATABASE_NAME",
    "Event",
    "LoggedEvent",
    "NewPost",
    "Store",
]
