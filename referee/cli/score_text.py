"""The terminal output for a judged run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from lpirc_score.cli.framed_tables import facts_table, print_framed
from lpirc_score.cli.terminal_tables import Column, print_table
from lpirc_score.metrics.contest_score import format_score
from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_score.metrics.ilsvrc_det import PUBLISHED
from lpirc_score.tasks.words import Words, words_of_scorer
from referee.contest_rules import DEFAULT
from referee.judging.bound_rules import judged_otherwise, rule_of
from referee.judging.budget_shown import budget_shown
from referee.judging.run_figures import Figures, energy_above_idle_wh
from referee.judging.score_uncertainty import described
from referee.store.records import Run, Score

OF_MANY = (
    Column("run", is_figure=True),
    Column("team"),
    Column("accuracy", is_figure=True),
    Column("energy", is_figure=True),
    Column("score", is_figure=True),
)


def print_score(run: Run, score: Score) -> None:
    """Print the figures and every check on stdout."""
    # Names, reasons and identities are input of users, so they are not parsed as markup.
    table = facts_table(f"Run {run.id} of {run.team}")
    table.add_row("images", f"{score.images}")
    metric = signature_parts(score.signature)["metric"]
    words = words_of_scorer(metric)
    table.add_row(words.answers, f"{score.detections}")
    of_boxes = words.is_boxes
    reached = "none" if score.map is None else f"{score.map:.5f}"
    table.add_row(f"mAP {metric}" if of_boxes else words.accuracy, reached)
    for name, figures in described(score.interval):
        table.add_row(f"  {name}", figures)
    for name, value in (score.others or {}).items():
        table.add_row(name, f"{value:.5f}")
    if of_boxes and metric != PUBLISHED and score.map is not None:
        old = "not computed; judge the run again"
        published = (
            old if score.map_ilsvrc_det is None else f"{score.map_ilsvrc_det:.5f}"
        )
        table.add_row(
            f"mAP {PUBLISHED}", f"{published}  (to compare with published champions)"
        )
    for name, figures in _energy_rows(run, score):
        table.add_row(name, figures)
    table.add_row("mean power", _with_unit(score.mean_power_w, "W", 3))
    table.add_row(
        "elapsed", f"{_with_unit(run.elapsed_s, 's', 3)} (closed by {run.closed_by})"
    )
    rule = rule_of(run)
    if rule != DEFAULT:
        table.add_row("ranked by", rule.name)
    table.add_row(
        "score", _score_text(score, rule.unit_of(_accuracy(score))), is_bold=True
    )
    print_framed(table)
    _print_checks(score)
    if score.detections == 0:
        click.echo(_nothing_scored(run, words))
    if score.needs_review:
        marked = click.style("This run needs review:", fg="red", bold=True)
        click.echo(f"{marked} a check failed.")
    click.echo(f"signature {score.signature}")
    click.echo(f"rules {rules_text(run)}")
    for one in judged_otherwise(run, score):
        marked = click.style(
            "Judged by rules other than the run's own:", fg="red", bold=True
        )
        click.echo(f"{marked} {one}.")


def _nothing_scored(run: Run, words: Words) -> str:
    return (
        f"No {words.answers} are scored: the team posted none that count; "
        f"its POSTs and refusals: referee run show {run.id}"
    )


def print_judged(judged: Sequence[tuple[Run, Score, Figures]]) -> None:
    """Print a line for each of several judged runs, and below the table what is wrong with them."""
    rows = [_row(run, score) for run, score, _ in judged]
    print_table(OF_MANY, rows, "Judged")
    for run, score, figures in judged:
        for check in score.checks:
            if not check.ok:
                mark = click.style(check.severity, fg="red")
                click.echo(f"run {run.id}: {mark} {check.code}: {check.sentence}")
        if score.detections == 0:
            words = words_of_scorer(signature_parts(score.signature)["metric"])
            click.echo(f"run {run.id}: {_nothing_scored(run, words)}")
        if figures.not_ranked is not None:
            click.echo(f"run {run.id}: Not ranked: {figures.not_ranked}.")
    click.echo("All figures and checks of a run: referee run show RUN")


def _row(run: Run, score: Score) -> tuple[str, ...]:
    return (
        f"{run.id}",
        run.team,
        "none" if score.map is None else f"{score.map:.5f}",
        _with_unit(score.energy_wh, "Wh", 6),
        "none" if score.score is None else format_score(score.score),
    )


def _print_checks(score: Score) -> None:
    for check in score.checks:
        mark = click.style("ok", fg="green")
        if not check.ok:
            mark = click.style(check.severity, fg="red")
        click.echo(f"{mark} {check.code}: {check.sentence}")


def rules_text(run: Run) -> str:
    """Return the SHA-256 of a run's rules as a text, or a text saying that no rules are recorded."""
    if run.rules is None:
        return "none recorded (armed by an earlier version)"
    rule = rule_of(run)
    ranked = "" if rule == DEFAULT else f"; ranked by {rule.signed}"
    return f"bound, {run.rules.sha256}{ranked}"


def print_standing(figures: Figures) -> None:
    """Print what a run's checks do not show: that a review accepted it, or why it is not ranked."""
    if figures.reviewed is not None:
        click.echo(f"Reviewed, it stands: {figures.reviewed}")
    if figures.not_ranked is not None:
        click.echo(f"Not ranked: {figures.not_ranked}.")


def _energy_rows(run: Run, score: Score) -> Iterator[tuple[str, str]]:
    """Yield name and text of the energy, of its uncertainty, and of the energy above idle."""
    unofficial = "" if run.official else "  (unofficial meter)"
    yield "energy", _with_unit(score.energy_wh, "Wh", 6) + unofficial
    shown = budget_shown(score)
    if shown is not None:
        for name, figures in shown.figures:
            yield f"  {name}", figures
    if run.idle_power_w is not None:
        above = _with_unit(energy_above_idle_wh(run, score), "Wh", 6)
        yield "above idle", f"{above} (idle {run.idle_power_w:.3f} W)"


def _accuracy(score: Score) -> str:
    """Return the name of the accuracy of a judgement."""
    return words_of_scorer(signature_parts(score.signature)["metric"]).accuracy


def _score_text(score: Score, unit: str) -> str:
    if score.score is None:
        return "none"
    words = f"{format_score(score.score)} {unit}"
    interval = score.interval
    if interval is None or interval.score_low is None or interval.score_high is None:
        return words
    return words + _between(interval.score_low, interval.score_high, interval.level, 4)


def _between(low: float, high: float, level: float, digits: int) -> str:
    return f"  ({low:.{digits}f} to {high:.{digits}f} at {level:.0%})"


def _with_unit(value: float | None, unit: str, digits: int) -> str:
    return "none" if value is None else f"{value:.{digits}f} {unit}"
