"""`referee leaderboard`: ranks the teams by their best judged runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from lpirc_score.cli.terminal_tables import Column
from lpirc_score.metrics.evaluation_result import (
    DIGEST_LENGTH,
    signature_parts,
)
from lpirc_score.metrics.ilsvrc_det import PUBLISHED
from lpirc_score.tasks.words import Words, words_of_scorer
from referee.cli.listing import in_form, print_listing
from referee.cli.report_command import warn_of_unpublished, warn_while_frozen
from referee.cli.run_marks import RARE_MARKS, marks_caption
from referee.cli.shared_options import contest_folder
from referee.config import read_config
from referee.contest import Contest, open_contest
from referee.contest_rules import DEFAULT
from referee.errors import RefereeError
from referee.judging.bound_rules import rules_version, signed_rule
from referee.judging.prizes import Award
from referee.judging.ranking import NotRanked, Place, Standing
from referee.judging.standings import Standings, place_document, standings
from referee.web.config_watch import differences

MARKS = {
    "!": "in review",
    "u": "unofficial meter",
    "d": "differs from the leader",
} | RARE_MARKS
MOST_FURTHER = 2
"""Further figures of a task that have a column; JSON and CSV have all."""

SHOWN_WH = 0.1
"""Below this energy, four decimal places are fewer than four digits."""
WHILE_FROZEN = "The board is frozen, but this page shows the present ranking: hand it out after the unveiling."


@click.command()
@contest_folder
@in_form
def leaderboard(folder: Path, form: str | None) -> None:
    """Rank the best judged run of each team by its score; runs in review are listed below, without a rank.

    Teams whose order is less than 95 % certain are listed. Intervals are for the mean score over test sets of this
    size.
    """
    with open_contest(folder, only_looks=True, as_served=True) as contest:
        warn_of_other_settings(contest)
        found = standings(contest)
        metric = contest.config.scored_by
        name = contest.config.name
        if form == "html":
            warn_while_frozen(contest, WHILE_FROZEN)
            warn_of_unpublished(contest)
    for run in found.left_out:
        why = run.why
        if run.judged_by is not None:
            why = _otherwise(run.judged_by, contest)
        click.echo(f"Run {run.run} of {run.team} is left out: {why}.", err=True)
    if any(run.judged_by is not None for run in found.left_out):
        command = f"referee rejudge --all --dry-run --metric {metric}"
        click.echo(
            f"To see how a judgement by {metric} would change them: {command}", err=True
        )
    for one in (
        place.standing for place in found.places if not place.standing.complete
    ):
        why = f"was judged by an earlier version, or not completely; run: referee judge {one.run}"
        click.echo(f"Run {one.run} of {one.team} {why}", err=True)
    words = words_of_scorer(metric)
    shown = [*found.places, *found.unranked]
    others = others_of(shown)
    fields = [
        name for name in Standing.__dataclass_fields__ if others or name != "others"
    ]
    rows = [cells_of(place, metric, others) for place in shown]
    print_listing(
        form,
        [place_document(place) | {"prizes": _prizes(found, place)} for place in shown],
        ["rank", *fields, "level_with", "differs", "prizes"],
        columns_of(metric, others),
        rows,
        title=f"{name}: leaderboard",
        about=f"The best run of each team{_by(found, words.accuracy)}. {scored_by(metric)}",
        notes=[
            *_rule_note(found),
            marks_caption(MARKS, rows),
            *(_award(one, words) for one in found.awards),
            *_without_spread(found.places),
            *filter(None, map(note_on, shown)),
        ],
        empty="No run has a score. To judge closed runs: referee judge --all. A run without energy has no score.",
    )


def scored_by(metric: str) -> str:
    """Return a sentence naming what made the accuracies of a board: a metric of boxes, or a task."""
    if words_of_scorer(metric).is_boxes:
        return f"The metric of the mAP is {metric}."
    return f"The task is {metric}."


def _by(found: Standings, accuracy: str) -> str:
    """Return what runs are ranked by, as the end of a sentence."""
    if found.rule == DEFAULT:
        return f" by its score, {accuracy} / Wh"
    rule = found.rule
    return f" by its score in {rule.unit_of(accuracy)}, {rule.order}. {rule.sentence.rstrip('.')}"


def _rule_note(found: Standings) -> list[str]:
    """Return a sentence about the rule of the contest, or an empty list for the usual one."""
    rule = found.rule
    if rule == DEFAULT:
        return []
    return [f"Ranked by {rule.name}. {rule.sentence}"]


def warn_of_other_settings(contest: Contest) -> None:
    """Print a warning on stderr if contest.toml has other settings than those that the output is made with."""
    try:
        found = differences(contest.config, read_config(contest.folder))
    except RefereeError as error:
        found = [error.sentence.rstrip(".")]
    if found:
        sentence = (
            f"contest.toml differs from the settings that the server runs with: {'; '.join(found)}. This ranks by the "
            "settings in use; apply or discard the changes in the console, under Settings."
        )
        click.echo(sentence, err=True)


def _otherwise(judged_by: str, contest: Contest) -> str:
    config = contest.config
    was = signature_parts(judged_by)
    now = {
        "metric": config.scored_by,
        "window": f"{config.window_s}s",
        "rules": str(rules_version(config)),
    }
    if signed_rule(judged_by) != config.contest_rule.signed:
        was["rule"] = signed_rule(judged_by)
        now["rule"] = config.contest_rule.signed
    now["gt"] = contest.test_set.digest[:DIGEST_LENGTH]
    differ = [name for name, value in now.items() if was.get(name, value) != value]
    others = "; ".join(f"{name} {was[name]}, now {now[name]}" for name in differ)
    return f"it was judged by other rules ({others or judged_by})"


def _prizes(found: Standings, place: Place) -> list[str]:
    return [
        one.name
        for one in found.awards
        if place.rank and place.standing.team in one.teams
    ]


def note_on(place: Place) -> str:
    """Return the remarks about a place as one text."""
    one = place.standing
    remarks = ", ".join(_remarks(place))
    if one.not_ranked is not None:
        return f"Run {one.run} of {one.team} is not ranked: {remarks}."
    return f"{one.team}: {remarks}." if remarks else ""


def _remarks(place: Place) -> Iterator[str]:
    one = place.standing
    if one.not_ranked is not None:
        yield one.not_ranked
    for level in place.level_with:
        covers = "" if level.covers is None else f" ({level.covers})"
        yield f"its order with {level.team} is {level.chance:.1%} certain{covers}"
    yield from place.differs
    if one.reviewed is not None:
        yield f"reviewed: {one.reviewed}"
    if one.extra_s:
        yield f"{one.extra_s:g} s of extra time"
    if one.images_seen:
        yield f"{one.images_seen} of its images were served to earlier runs of the team"


def _without_spread(places: Sequence[Place]) -> list[str]:
    """Return a sentence about the teams whose energy spread is unknown, or an empty list if no order is compared.

    For those teams, the probability of an order covers images and meters only.
    """
    teams = [
        place.standing.team for place in places if place.standing.energy_spread is None
    ]
    if not teams or len(places) == 1:
        return []
    names = ", ".join(teams)
    return [
        f"The energy spread of these teams is not known, since they have one attempt each: {names}. "
        "The probability of their order covers images and meters only."
    ]


def condition_of(one: Award, words: Words) -> str:
    """Return what a prize needs, in brackets; empty for the best score, and while no one takes part."""
    if one.bar is None:
        return ""
    apart = "while they differ so much, so no run reaches it"
    if one.rule == "least-energy":
        if one.bar > 1:
            limit = f"one standard deviation above the mean {words.accuracy} is above 1"
            return f" ({limit} {apart})"
        return f" (needs {words.an_accuracy} of {one.bar:.5f} or more)"
    if one.bar <= 0:
        limit = "one standard deviation below the mean energy is not above 0 Wh"
        return f" ({limit} {apart})"
    digits = ".4f" if one.bar >= SHOWN_WH else ".4g"
    return f" (needs {one.bar:{digits}} Wh or less)"


def _award(one: Award, words: Words) -> str:
    bar = condition_of(one, words)
    shared = (
        f" (shared, since the order is uncertain, with: {', '.join(one.unsure)})"
        if one.unsure
        else ""
    )
    if one.not_known:
        over = ", ".join(one.not_known)
        shared += (
            f" (how certain the lead is over {over} is not known: judge the runs again, or see in referee run show "
            "whose uncertainty is unknown)"
        )
    return f"{one.name}{bar}: {' and '.join(one.teams) or 'no team'}{shared}."


def others_of(places: Iterable[Place]) -> list[str]:
    """Return the names of the first further figures of a task that these places have."""
    names = [name for one in places for name in one.standing.others or {}]
    return [*dict.fromkeys(names)][:MOST_FURTHER]


def columns_of(metric: str, others: Sequence[str] = ()) -> list[Column]:
    """Return the columns of a board: with mAPs by this metric and by the metric of the published champions.

    Those of a task have its accuracy and the further figures `others`.
    """
    words = words_of_scorer(metric)
    maps = [f"mAP {name}" for name in dict.fromkeys((metric, PUBLISHED))]
    if not words.is_boxes:
        maps = [words.accuracy, *others]
    figures = [
        Column(name, is_figure=True)
        for name in ("score", "95 % interval", *maps, "energy Wh", "run")
    ]
    return [Column("", is_figure=True), Column("team"), *figures, Column("")]


def _map_text(value: float | None) -> str:
    return "" if value is None else f"{value:.5f}"


def cells_of(
    place: Place,
    metric: str,
    others: Sequence[str] = (),
) -> list[str]:
    """Return the cells of a place, in the order of `columns_of`; the marks are the last cell."""
    one = place.standing
    between = (
        "" if one.score_low is None else f"{one.score_low:.4f} to {one.score_high:.4f}"
    )
    maps: list[float | None] = [one.map]
    if metric != PUBLISHED and words_of_scorer(metric).is_boxes:
        maps.append(one.map_ilsvrc_det)
    known = one.others or {}
    maps += [known.get(name) for name in others]
    reached = [_map_text(value) for value in maps]
    cells = [
        f"{one.score:.4f}",
        between,
        *reached,
        f"{one.energy_wh:.4f}",
        str(one.run),
    ]
    applies = {
        "!": one.needs_review,
        "r": one.reviewed is not None,
        "u": not one.official,
        "d": place.differs,
        "x": one.extra_s,
        "i": one.images_seen,
        "b": one.not_ranked_code is NotRanked.BELOW_LEAST_MAP,
        "l": one.not_ranked_code is NotRanked.OUTSIDE_RULE,
        "p": not one.is_published,
    }
    marks = "".join(mark for mark, is_set in applies.items() if is_set)
    rank = "-" if place.rank is None else str(place.rank)
    return [rank, one.team, *cells, marks]
