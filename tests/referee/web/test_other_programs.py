"""Other programs may look into the database of a contest that is being served."""

from __future__ import annotations

from collections.abc import Callable

from tests.contest_day import ROWS, Day, refers


def test_a_program_that_opens_and_closes_the_database_takes_nothing_from_it(
    day: Callable[..., Day],
) -> None:
    # Closing any descriptor of a file takes all its POSIX locks from the process, and SQLite deletes the write-ahead
    # log with its last user: whatever the server does with descriptors, it must leave those of the database alone.
    made = day(served=False)
    config = made.folder / "contest.toml"
    # One user less.
    config.write_text(
        config.read_text().replace("live_score = true", "live_score = false")
    )
    made.serve()
    token = made.login()["token"]
    for number in range(1, 4):
        assert made.post(token).json()["received_total"] == number * len(ROWS)
        assert refers("run", "list", "--contest", str(made.folder)).returncode == 0
        with made.store() as store:
            assert store.posts.count_detections(1) == number * len(ROWS)
