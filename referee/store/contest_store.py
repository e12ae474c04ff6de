"""The store of a contest: one database, and the parts that own its tables."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from referee.store.announcement_table import AnnouncementTable
from referee.store.answer_table import AnswerTable
from referee.store.calibration_table import CalibrationTable
from referee.store.closing_evidence import Closings
from referee.store.contest_table import ContestTable
from referee.store.database import Database
from referee.store.decision_table import DecisionTable
from referee.store.device_table import DeviceTable
from referee.store.entry_withdrawal import EntryWithdrawals
from referee.store.event_table import EventTable
from referee.store.heat_table import HeatTable
from referee.store.integrity import Integrity
from referee.store.job_table import JobTable
from referee.store.note_table import NoteTable
from referee.store.operator_table import OperatorTable
from referee.store.post_table import PostTable
from referee.store.provisional_table import ProvisionalTable
from referee.store.publication_table import PublicationTable
from referee.store.published_board_table import PublishedTable
from referee.store.question_table import QuestionTable
from referee.store.queue_table import QueueTable
from referee.store.read_only import ReadOnlyDatabase
from referee.store.reading_table import ReadingTable
from referee.store.refusal_table import RefusalTable
from referee.store.replay_table import ReplayTable
from referee.store.review_table import ReviewTable
from referee.store.run_table import RunTable
from referee.store.score_table import ScoreTable
from referee.store.served_table import ServedTable
from referee.store.submission_table import SubmissionTable
from referee.store.team_table import TeamTable
from referee.store.upload_table import UploadTable


@dataclass(frozen=True)
class Store:
    """The contest's database, divided into parts by content. Open it with a path, and close it after use."""

    database: Database
    identity: ContestTable
    integrity: Integrity
    teams: TeamTable
    runs: RunTable
    posts: PostTable
    answers: AnswerTable
    readings: ReadingTable
    served: ServedTable
    log: EventTable
    closings: Closings
    scores: ScoreTable
    provisional: ProvisionalTable
    submissions: SubmissionTable
    uploads: UploadTable
    entries: EntryWithdrawals
    publications: PublicationTable
    jobs: JobTable
    devices: DeviceTable
    calibrations: CalibrationTable
    operators: OperatorTable
    announcements: AnnouncementTable
    queue: QueueTable
    reviews: ReviewTable
    notes: NoteTable
    decisions: DecisionTable
    heats: HeatTable
    questions: QuestionTable
    refusals: RefusalTable
    published: PublishedTable
    replays: ReplayTable

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        create: bool = False,
        journaled: bool = True,
        only_looks: bool = False,
    ) -> Self:
        """Open a database file: see `Database`."""
        database = Database(
            path, create=create, journaled=journaled, only_looks=only_looks
        )
        return cls.of(database)

    @classmethod
    def read_only(cls, path: Path) -> Self:
        """Open a database file for reading: see `ReadOnlyDatabase`."""
        return cls.of(ReadOnlyDatabase(path))

    @classmethod
    def of(cls, database: Database) -> Self:
        """Return the store of an open database."""
        integrity = Integrity(database)
        readings = ReadingTable(database)
        answers = AnswerTable(database)
        posts = PostTable(database, readings.chains, answers)
        served = ServedTable(database)
        return cls(
            database=database,
            identity=ContestTable(database, integrity),
            integrity=integrity,
            teams=TeamTable(database),
            runs=RunTable(database),
            posts=posts,
            answers=answers,
            readings=readings,
            served=served,
            log=EventTable(database),
            closings=Closings(database, posts, readings, served),
            scores=ScoreTable(database),
            provisional=ProvisionalTable(database),
            submissions=SubmissionTable(database),
            uploads=UploadTable(database),
            entries=EntryWithdrawals(database),
            publications=PublicationTable(database),
            jobs=JobTable(database),
            devices=DeviceTable(database),
            calibrations=CalibrationTable(database),
            operators=OperatorTable(database),
            announcements=AnnouncementTable(database),
            queue=QueueTable(database),
            reviews=ReviewTable(database),
            notes=NoteTable(database),
            decisions=DecisionTable(database),
            heats=HeatTable(database),
            questions=QuestionTable(database),
            refusals=RefusalTable(database),
            published=PublishedTable(database),
            replays=ReplayTable(database),
        )

    def close(self) -> None:
        """Close the connections; the store cannot be used afterwards."""
        self.database.close()

    def forgo_durability(self) -> None:
        """Stop waiting for the disk when this store commits: see `Database.forgo_durability`."""
        self.database.forgo_durability()

    def durable(self) -> AbstractContextManager[Self]:
        """Open a second store of this database.

        Its commits wait for the disk even if the commits of this store do not.
        """
        return closing(self.open(self.database.path))
