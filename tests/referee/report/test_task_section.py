"""The worst images of a `WholeTask` in a report, and the table of its categories."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lpirc_testsets import TestSet
from referee.contest import Contest, create_contest, open_contest
from referee.judging.judge_many import judge_with_interval
from referee.report.run_page import report_page
from tests.plugins_installed import plugins_in
from tests.referee.factories import DrivenClock, config_text
from tests.referee.judging.tallied_runs import PACKAGE, SAMPLE, tallied_run

WHOLE = """

from lpirc_score.tasks.task_kinds import WholeTask


def evaluate(truth, answers, images):
    given = dict(answers)
    right = [given.get(one) == truth.by_image[one] for one in images.tolist()]
    share = sum(right) / len(right)
    return Figures(share, {truth.categories[0].id: share})


WHOLE = WholeTask(
    **{
        name: getattr(COUNTING, name)
        for name in (
            *("title", "accuracy", "answer", "answers"),
            *("content_types", "read", "read_truth", "show"),
        )
    },
    name="tally",
    category_accuracy="exactness",
    evaluate=evaluate,
    has_figure_of_image=%s,
)
"""


@contextmanager
def contest_of(
    folder: Path, test_set: TestSet, *, has_figure: bool
) -> Iterator[Contest]:
    (folder / "plugins").mkdir()
    with plugins_in(folder / "plugins") as installer:
        entry = "tally = lpirc_tally:WHOLE"
        source = SAMPLE.read_text() + WHOLE % has_figure
        installer.install(PACKAGE, "lpirc.tasks", entry, source)
        create_contest(folder / "contest", config_text(test_set, task="tally"))
        with open_contest(folder / "contest") as opened:
            yield opened


@pytest.mark.parametrize("has_figure", [True, False])
def test_worst_images_are_listed_where_an_image_has_a_figure(
    tmp_path: Path,
    small_set: TestSet,
    has_figure: bool,
) -> None:
    with contest_of(tmp_path, small_set, has_figure=has_figure) as contest:
        run = tallied_run(contest, [77] * len(small_set.images))
        judge_with_interval(contest, run.id, DrivenClock())
        page = report_page(contest, contest.store.runs.get(run.id))
    assert ("Worst images" in page) is has_figure
    assert ("77 counted" in page) is has_figure
    assert "Each category" in page
    assert "<th>exactness</th>" in page
