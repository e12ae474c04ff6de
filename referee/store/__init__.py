"""One SQLite file per contest: the only package that speaks SQL.

WAL with `synchronous=FULL`: what a method has returned from is on disk. One connection per process, guarded by a
lock, since the web server answers from several threads.
"""

from referee.store.database import DATABASE_NAME
from referee.store.day import DayTables
from referee.store.devices import DeviceTables
from referee.store.evidence import EvidenceTables
from referee.store.group_commit import Combining, Job
from referee.store.identity import IdentityTables
from referee.store.jobs import JobTables
from referee.store.log import Event, LoggedEvent
from referee.store.posts import NewPost
from referee.store.publications import PublicationTables
from referee.store.published import PublishedTable
from referee.store.runs import RunTables
from referee.store.scores import ScoreTables
from referee.store.submissions import SubmissionTables
from referee.store.uploads import UploadTables
from referee.store.withdrawal import WithdrawalTables

__all__ = [
    "DATABASE_NAME",
    "Combining",
    "Event",
    "Job",
    "LoggedEvent",
    "NewPost",
    "Store",
]


class Store(
    IdentityTables,
    RunTables,
    EvidenceTables,
    ScoreTables,
    SubmissionTables,
    UploadTables,
    WithdrawalTables,
    PublicationTables,
    JobTables,
    DeviceTables,
    DayTables,
    PublishedTable,
):
    """The contest's database. Open it with a path, close it when done."""
