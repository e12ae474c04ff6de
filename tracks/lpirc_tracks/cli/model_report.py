"""Text output about measured models."""

from __future__ import annotations

from typing import Any

import click

from lpirc_score.cli.framed_tables import facts_table, print_framed
from lpirc_tracks import Measured, Verdict
from lpirc_tracks.submissions.result_document import ResultDocument
from lpirc_tracks.submissions.stability import disturbance
from referee.store.model_records import Submission

CONFINED = {None: "", True: "  [confined]", False: "  [not confined]"}


def submission_line(one: Submission, *, is_broken_off: bool = False) -> str:
    """Return a submission and its outcome as one line."""
    who = f"{one.id:>4}  {one.accepted_utc[:19]}  {one.track} {one.split}  {one.team}  {one.model_file}"
    model = one.model_sha256[:12] or "no model file"
    return f"{who} ({model}; {one.build})  {_outcome(one, is_broken_off)}{one.origin}"


def _outcome(one: Submission, is_broken_off: bool) -> str:
    if one.withdrawn is not None:
        if one.withdrawn_utc is None:
            return f"{'given up' if one.measurement is None else 'withdrawn'}: {one.withdrawn}"
        return f"withdrawn: {one.withdrawn} ({one.withdrawn_utc[:19]} by {one.withdrawn_by})"
    if is_broken_off and one.counts:
        return f"interrupted, and it used an attempt; give the attempt back with: referee model uncount {one.id}"
    if is_broken_off:
        return "interrupted; it used no attempt"
    if one.measurement is None:
        return "in the queue" if one.job else "being measured"
    value = (
        "not valid"
        if one.measurement.metric is None
        else f"{one.measurement.metric:.4f}"
    )
    if one.is_unstable:
        value = "to be measured again"
    if one.doubt is not None:
        value = f"in review, {one.doubt.removesuffix('.')}; result as measured: {value}"
    return f"{value}: {one.measurement.sentence}{CONFINED[one.measurement.confined]}"


def print_result(
    document: ResultDocument, measured: Measured, verdict: Verdict
) -> None:
    """Print the measured figures and the value that the track assigns."""
    device = document.values["device"]
    settings = document.values["settings"]
    table = facts_table(str(document["model.file"]))
    table.add_row(
        "images",
        f"{measured.processed} of {measured.images} ({document['stopped_by']})",
    )
    table.add_row("accuracy", f"{measured.accuracy_percent:.4f} %")
    latency = document.values["latency"]
    table.add_row("latency", f"{latency['mean_ms']:.4f} ms, sd {latency['sd_ms']:.4f}")
    table.add_row(
        "",
        ", ".join(
            f"{name} {latency[name + '_ms']:.4f}" for name in ("p50", "p90", "p99")
        ),
    )
    means = ", ".join(f"{mean:.4f}" for mean in latency["repeat_means_ms"])
    table.add_row(
        "repeats",
        f"{means} ms: {'stable' if latency['is_stable'] else 'not shown to be stable'}",
    )
    table.add_row(
        "device", f"{device['host']}, {device.get('processor') or device['machine']}"
    )
    ran = f"{device['runtime']} {device['runtime_version']}, delegate {device.get('delegate')}"
    table.add_row("runtime", f"{ran}, threads {settings['threads']}")
    if latency.get("load_ms") is not None:
        table.add_row("load", f"{latency['load_ms']:.3f} ms")
    confined = {
        None: "unknown",
        True: "yes",
        False: f"no: {document.get('confinement.reason')}",
    }
    table.add_row("confined", confined[document.get("confinement.confined")])
    energy = document.values.get("energy")
    for row in [] if energy is None else energy_rows(energy):
        table.add_row(*row)
    value = "not valid" if verdict.value is None else f"{verdict.value:.4f}"
    table.add_row("metric", value, is_bold=True)
    print_framed(table)
    unstable = disturbance(document)
    warnings = (
        *verdict.warnings,
        *([f"the latency is unstable, {unstable}."] if unstable else []),
    )
    for line in (verdict.sentence, *(f"warning: {warning}" for warning in warnings)):
        click.echo(line)


def energy_rows(energy: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the `energy` of a result document as rows of the table; idle power is included only if it was measured."""
    unofficial = "" if energy["official"] else "  (unofficial meter)"
    rows = [
        ("energy", f"{energy['inference_j']:.6g} J an inference{unofficial}"),
        ("mean power", f"{energy['mean_power_w']:.3f} W"),
    ]
    if energy["idle_power_w"] is not None:
        rows.append(("idle power", f"{energy['idle_power_w']:.3f} W"))
        rows.append(
            ("above idle", f"{energy['inference_above_idle_j']:.6g} J an inference")
        )
    return rows
