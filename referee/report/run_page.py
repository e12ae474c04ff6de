"""The page of one run: what its sections show, taken from the records and the judgement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lpirc_score.files.atomic_write import write_atomically
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.words import words_of
from lpirc_testsets import TestSetError
from lpirc_testsets.truth_marks import NO_TRUTH_SENTENCE
from referee.clock import Clock
from referee.contest import Contest, require_scorer
from referee.errors import RefereeError
from referee.judging.client_timeline import ClientTimeline
from referee.judging.jury_decisions import NOT_PUBLISHED, is_published
from referee.judging.run_course import Course, course_of
from referee.judging.run_figures import (
    Figures,
    current_judgement,
    figures_of,
)
from referee.judging.score_explanation import explain
from referee.judging.stop_regret import LEAST_IMAGES
from referee.judging.time_limit import limited_plugin
from referee.pages import STATIC, template_environment
from referee.report.energy_section import energy_section
from referee.report.errors_section import errors_section
from referee.report.judged_section import judged_section, record_section, team_section
from referee.report.replay_section import replay_section
from referee.report.task_section import task_section
from referee.report.win_section import board_section, lever_section
from referee.store.records import OVER, Run, RunState, Score

FOR_TEAM = (
    "This report leaves out what tells of the ground truth: errors, images, each category's figure, and the best "
    "moment to log out. The whole report is there once no team runs on these images any more."
)
STYLES = (STATIC / "style.css", Path(__file__).with_name("report.css"))


def write_report(
    contest: Contest,
    number: int,
    folder: Path,
    name: str | None = None,
    *,
    with_replay: bool = False,
    timeline: ClientTimeline | None = None,
    for_team: bool = False,
) -> Path:
    """Write the report of a finished run as one HTML file in `folder`, by default `run-<number>.html`.

    With its replay it is `run-<number>-replay.html`. With `for_team` it leaves out what tells of the ground truth, and
    is `run-<number>-team.html`.

    Raises RefereeError `run-unknown`, `run-state` (not over yet), `no-matplotlib`, `other-timeline`; OSError.
    """
    run = contest.store.runs.get(number)
    page = report_page(
        contest, run, with_replay=with_replay, timeline=timeline, for_team=for_team
    )
    folder.mkdir(parents=True, exist_ok=True)
    ending = ".html"
    if for_team:
        ending = "-team.html"
    elif with_replay:
        ending = "-replay.html"
    path = folder / (name or f"run-{number}{ending}")
    write_atomically(path, page.encode())
    return path


def report_page(
    contest: Contest,
    run: Run,
    *,
    with_replay: bool = False,
    timeline: ClientTimeline | None = None,
    for_team: bool = False,
) -> str:
    """Return a run's report as HTML; a sentence replaces a part that cannot be shown. Raises as `write_report`.

    With `for_team` it has no replay, whatever `with_replay` says.
    """
    if run.state not in OVER:
        sentence = f"Run {run.id} of {run.team} is {run.state}; a report can be made only after it is closed."
        raise RefereeError("run-state", sentence, run=run.id)
    judged = current_judgement(contest, run)
    now = Clock().utc()
    figures = figures_of(contest, run, now)
    course = course_of(contest, run)
    notices = [*_notices(run, figures)]
    if judged is not None and judged.map is None:
        notices.append(f"{NO_TRUTH_SENTENCE} There is no mAP and no score.")
    if for_team:
        notices.append(FOR_TEAM)
    if judged is not None and not is_published(contest, run.id):
        notices.append(
            f"For operators only: {NOT_PUBLISHED}, so do not hand out this report."
        )
    shown: dict[str, Any] = {
        "style": Markup("\n".join(path.read_text() for path in STYLES)),  # noqa: S704 - our own files
        "contest": contest.config.name,
        "run": run,
        "affiliation": contest.store.teams.affiliations()[run.team],
        "notices": notices,
        "judged": judged,
        "course": course,
        "costs": None,
        "worst": (),
        "of_categories": (),
        "regret": None,
        "lever_costs": (),
        "replay": None,
        "least_images": LEAST_IMAGES,
        "for_team": for_team,
    }
    shown |= record_section(contest, run)
    if judged is not None and for_team:
        shown |= team_section(run, judged, figures)
    elif judged is not None:
        shown |= judged_section(run, judged, figures)
        shown |= board_section(contest, run, figures, now)
        shown |= _explained(contest, run, judged, course, shown)
    regret = shown["regret"]
    shown |= energy_section(contest, run, course, regret, timeline)
    if with_replay and not for_team:
        shown["replay"] = replay_section(contest, run, now, regret)
    return _with_size(shown)


def _with_size(shown: Mapping[str, Any]) -> str:
    """Render the page, which states the size of its own file."""
    words = words_of(shown["run"].task)
    environment = template_environment("referee.report", words=words)
    template = environment.get_template("report.html")
    mark = "<!-- size -->"  # no text from people has it: theirs is escaped
    page = template.render(shown, file_size=Markup(mark))  # noqa: S704 - our own text
    size_mb = len(page.encode()) / 1e6
    return page.replace(mark, f"{size_mb:.1f} MB", 1)


def _explained(
    contest: Contest,
    run: Run,
    judged: Score,
    course: Course,
    shown: dict[str, Any],
) -> dict[str, Any]:
    """Return what the errors cost and what would have won; a sentence is added to the notices if that is not known."""
    found: dict[str, Any] = {}
    if run.task != BOXES:
        try:
            require_scorer(contest, run)
            with limited_plugin(run):
                found = task_section(contest, run, judged)
        except (RefereeError, TestSetError) as failure:
            shown["notices"].append(failure.sentence)
        return found | lever_section(contest, run, judged, course, shown)
    if judged.map is None:
        return lever_section(contest, run, judged, course, shown)
    try:
        found = errors_section(explain(contest, run, judged), contest, run, judged)
    except (RefereeError, TestSetError) as failure:
        shown["notices"].append(failure.sentence)
    return found | lever_section(contest, run, judged, course, shown | found)


def _notices(run: Run, figures: Figures) -> Iterator[str]:
    if run.state is RunState.VOID:
        yield f"This run is void and is not ranked: {run.void_reason}"
    if run.opened_utc is None:
        yield "This run was never opened: nothing was served, received or measured."
    elif run.energy_wh is None:
        yield "This run has no energy, so it has no score."
    if not run.official and run.meter_identity:
        yield "The meter is unofficial, and leaderboards mark this energy as unofficial."
    if run.extra_s:
        yield f"This run's window had {run.extra_s:g} s of extra time."
    if not figures.judged:
        yield f"This run has no current judgement, so it has no result; see: referee judge {run.id}"
    if figures.needs_review:
        yield (
            "This run is in review: a check failed, see below. It has no rank until an operator reviews and accepts "
            "it."
        )
    if figures.reviewed is not None:
        yield "A check failed, see below; an operator has reviewed and accepted this run."
    if figures.images_seen:
        yield f"{figures.images_seen} of its images were served to earlier runs of this team, see below."
