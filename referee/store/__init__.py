"""The store: one SQLite file per contest. No other package uses SQL.

When a method that writes returns, its writes are on disk: the database is in WAL mode with `synchronous=FULL`, or the
journal has them. Each process has one connection that writes and one that reads, each behind a lock, because
the web server answers from several threads. Start with `Store`: its parts own the tables.
"""

from referee.store.contest_store import Store
from referee.store.database import DATABASE_NAME
from referee.store.event_chain import Event, LoggedEvent
from referee.store.new_post import NewPost

__all__ = [
    "DATABASE_NAME",
    "Event",
    "LoggedEvent",
    "NewPost",
    "Store",
]
