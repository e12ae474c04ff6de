"""`referee model validate|bench|submit|remeasure|list`; the other commands of the group are in `model_*.py`."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import click

from lpirc_tracks import Track, track_named
from lpirc_tracks.cli.model_board import board_command
from lpirc_tracks.cli.model_options import (
    build_option,
    holdout_flag,
    limit_options,
    meter_options,
    model_file,
    rule_option,
    track_option,
)
from lpirc_tracks.cli.model_publish import publish_command
from lpirc_tracks.cli.model_report import print_result, submission_line
from lpirc_tracks.cli.model_withdraw import (
    confirm_command,
    restore_command,
    uncount_command,
    withdraw_command,
)
from lpirc_tracks.submissions import harness
from lpirc_tracks.submissions.harness import Limits
from lpirc_tracks.submissions.kept_models import read_submitted
from lpirc_tracks.submissions.measuring_lock import broken_off
from lpirc_tracks.submissions.metered_bench import Metering, bench_on
from lpirc_tracks.submissions.open_track import (
    OpenTrack,
    configured_track,
    open_track,
    rule_of,
    track_on,
)
from lpirc_tracks.submissions.result_document import LARGEST_BYTES, parse_result
from lpirc_tracks.submissions.submitting import (
    Order,
    judge,
    measure_again,
    submit,
    to_measure_again,
)
from lpirc_tracks.submissions.track_board import build_number, judged_now
from referee.cli.child_processes import endings_interrupt, interruption_reported
from referee.cli.recorded_acts import act, line_of_text
from referee.cli.shared_options import any_path, as_json, contest_folder
from referee.clock import Clock
from referee.contest import Contest, open_contest
from referee.errors import ModelFault, RefereeError
from referee.store.model_records import Submission

LONGEST_NAME = 100  # which a board shows whole
GIVEN_UP = "a submission that was being measured is cancelled and uses no attempt."


@click.group()
def model() -> None:
    """Model tracks: validate, bench, submit and withdraw models; publish a track's final board."""


for command in (
    board_command,
    withdraw_command,
    restore_command,
    uncount_command,
    confirm_command,
    publish_command,
):
    model.add_command(command)


@model.command("validate")
@model_file
@rule_option
@limit_options
@as_json
def validate_command(model: Path, track: str, limits: Limits, *, as_json: bool) -> None:
    """Check MODEL against the rules of a track: ok, or every reason to refuse it."""
    with endings_interrupt():
        reasons = harness.refusals(model, track_named(track), limits)
    if as_json:
        click.echo(
            json.dumps(
                {"model": str(model), "valid": not reasons, "refusals": list(reasons)}
            )
        )
    else:
        click.echo("\n".join(reasons) or "ok")
    if reasons:
        count = "1 reason" if len(reasons) == 1 else f"{len(reasons)} reasons"
        raise RefereeError(
            "model-refused", f"{model} is refused, for {count}.", refusals=list(reasons)
        )


@model.command("bench")
@model_file
@rule_option
@click.option("--images", type=any_path, required=True, help="A test-set folder.")
@limit_options
@meter_options
@as_json
def bench_command(
    model: Path,
    track: str,
    images: Path,
    limits: Limits,
    metering: Metering | None,
    *,
    as_json: bool,
) -> None:
    """Measure MODEL on a test set and judge it by a track's published settings; nothing is stored.

    With --json it prints the result document, which `referee model submit --result` accepts.
    """
    opened = track_on(images, track, track_named(track))
    with interruption_reported(lambda: "nothing is stored."):
        content = bench_on(opened, limits, metering, Clock())(model)
    document = parse_result(content)
    measured, verdict = judge(opened, document)
    if as_json:
        judged = asdict(verdict) | {"figures": dict(verdict.figures)}
        click.echo(json.dumps({**document.values, "verdict": judged}))
    else:
        print_result(document, measured, verdict)


@model.command("submit")
@click.argument("model", type=any_path, required=False)
@track_option
@click.option("--team", required=True, help="A registered team.")
@click.option(
    "--result",
    type=any_path,
    help="Submit this result document of another device; do not measure the model.",
)
@click.option(
    "--measured-by",
    callback=line_of_text,
    help="Name of the party that measured the model, if not the organiser; needs --result.",
)
@build_option
@holdout_flag
@limit_options
@meter_options
@contest_folder
@as_json
def submit_command(
    model: Path | None,
    track: str,
    team: str,
    result: Path | None,
    measured_by: str | None,
    build: str,
    limits: Limits,
    metering: Metering | None,
    folder: Path,
    *,
    holdout: bool,
    as_json: bool,
) -> None:
    """Measure MODEL for a team and rank it on the track's board.

    A --result that someone else measured is marked with --measured-by, and may come without MODEL.
    """
    if measured_by is not None and (result is None or len(measured_by) > LONGEST_NAME):
        raise click.UsageError(
            f"--measured-by needs --result, and takes a name of at most {LONGEST_NAME} characters."
        )
    if model is None and measured_by is None:
        raise click.UsageError("Give MODEL, or --result with --measured-by.")
    if result is not None and metering is not None:
        raise click.UsageError(
            "--meter measures a model on this host; leave it out with --result."
        )
    with interruption_reported(lambda: GIVEN_UP), open_contest(folder) as contest:
        opened = open_track(contest, track, holdout=holdout, to_run=result is None)
        limits = _confined(contest, track, limits)
        if result is None:
            _require_meter(opened, metering)
        document = (
            None
            if result is None
            else read_submitted(result, LARGEST_BYTES + 1, "result")
        )
        order = Order(team, model, build, document, measured_by)

        def validate(file: Path) -> None:
            reasons = harness.refusals(file, opened.rule, limits)
            if reasons:
                more = f" (and {len(reasons) - 1} more; see: referee model validate)"
                sentence = f"The model is refused: {reasons[0]}{more if len(reasons) > 1 else ''}"
                raise RefereeError("model-refused", sentence, refusals=list(reasons))

        bench = bench_on(opened, limits, metering, Clock())
        with act(
            contest.store,
            "model-submit",
            team=team,
            track=track,
            measured_by=measured_by,
        ) as under_way:
            made = submit(contest, opened, order, validate, bench, Clock(), under_way)
        notes = _notes(contest, made)
    _report(made, as_json=as_json, notes=notes)


@model.command("remeasure")
@track_option
@build_option
@holdout_flag
@limit_options
@meter_options
@contest_folder
@as_json
def remeasure_command(
    track: str,
    build: str,
    limits: Limits,
    metering: Metering | None,
    folder: Path,
    *,
    holdout: bool,
    as_json: bool,
) -> None:
    """Measure every stored model of a track again with another build of the program, or on the hold-out set.

    A team's best build is ranked.
    """
    with interruption_reported(lambda: GIVEN_UP), open_contest(folder) as contest:
        opened = open_track(contest, track, holdout=holdout)
        _require_meter(opened, metering)
        limits = _confined(contest, track, limits)
        wanted = to_measure_again(
            contest.store.submissions.all(track), opened.split, build
        )
        if not wanted and not as_json:
            click.echo("Nothing is left to measure.")
        bench = bench_on(opened, limits, metering, Clock())
        failed = 0
        for earlier in wanted:
            try:
                with act(
                    contest.store, "model-remeasure", team=earlier.team, track=track
                ) as under_way:
                    made = measure_again(
                        contest, opened, earlier, build, bench, Clock(), under_way
                    )
                _report(made, as_json=as_json)
            except ModelFault as failure:  # go on with the other models
                failed += 1
                click.echo(failure.sentence, err=True)
    if failed:
        raise RefereeError(
            "model-failed", f"{failed} of {len(wanted)} models could not be measured."
        )


@model.command("list")
@click.option("--track", help="List only submissions to this track.")
@contest_folder
@as_json
def list_command(track: str | None, folder: Path, *, as_json: bool) -> None:
    """List the submissions, oldest first, judged by the present settings."""
    with open_contest(folder) as contest:
        if track is not None:
            configured_track(contest, track)
        broken = broken_off(contest)
        stored = contest.store.submissions.all(track)
        rules = _present_rules(contest, {one.track for one in stored})
        found = [
            judged_now(one, rules[one.track]) if one.track in rules else one
            for one in stored
        ]
    if as_json:
        click.echo(
            json.dumps(
                [asdict(one) | {"broken_off": one.id in broken} for one in found]
            )
        )
        return
    if not found:
        click.echo(
            "No model has been submitted yet; see: referee model submit --help",
            err=True,
        )
    for one in found:
        click.echo(submission_line(one, is_broken_off=one.id in broken))


def _present_rules(contest: Contest, tracks: set[str]) -> dict[str, Track]:
    """Return the rules of those tracks; a rule with invalid settings is left out, with a warning."""
    found = {}
    for one in contest.config.tracks:
        if one.name in tracks:
            try:
                found[one.name] = rule_of(contest, one)
            except RefereeError as failure:
                warning = f"{failure.sentence.rstrip('.')}; its submissions are listed with their former judgement."
                click.echo(f"referee: warning: {warning}", err=True)
    return found


def _confined(contest: Contest, track: str, limits: Limits) -> Limits:
    """Return the limits with confinement set: a team's model runs confined unless the track allows otherwise."""
    return replace(limits, confined=not configured_track(contest, track).unconfined)


def _require_meter(track: OpenTrack, metering: Metering | None) -> None:
    if track.rule.needs_energy and metering is None:
        sentence = f"The track {track.name} ranks only runs with measured energy; measure the energy with --meter."
        raise RefereeError("no-meter", sentence)


def _notes(contest: Contest, made: Submission) -> str:
    """Return notes for the user: how many builds the model has, and how many submissions the team made that day."""
    build = build_number(made, contest.store.submissions.all(made.track))
    notes = [f"build {build} of this model"] if build > 1 else []
    if made.counts:
        used = contest.store.submissions.used(made.track, made.team, Clock().utc())
        limit = configured_track(contest, made.track).submissions_per_day
        notes.append(f"{used} of {limit} submissions of today are used")
    return "; ".join(notes)


def _report(made: Submission, *, as_json: bool, notes: str = "") -> None:
    """Print the outcome of a submission. Raises ModelFault if the model failed or must be measured again."""
    click.echo(json.dumps(asdict(made)) if as_json else submission_line(made))
    if notes:
        click.echo(notes, err=True)
    outcome = made.measurement
    if outcome is not None and outcome.unstable:
        advice = "is to be measured again, with: referee model remeasure"
        raise ModelFault(
            "latency-unstable", f"Submission {made.id} {advice}; {outcome.sentence}"
        )
    if outcome is not None and outcome.measured is None:
        raise ModelFault(
            "model-failed", f"Submission {made.id} is not valid: {outcome.sentence}"
        )
