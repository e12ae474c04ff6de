"""The command `python -m lpirc_power.driver_kit`."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import click

from lpirc_power.cli.boundary import Bounded, warnings_printed
from lpirc_power.cli.options import Figure
from lpirc_power.clocks import real_clocks
from lpirc_power.driver_kit.bench import Bench
from lpirc_power.driver_kit.cable import (
    AskedCable,
    Cable,
    CommandCable,
    NoCable,
    RelayCable,
    answers,
    place_of,
    run,
)
from lpirc_power.driver_kit.finding import Finding, Verdict
from lpirc_power.driver_kit.kit import DEMANDS, examined
from lpirc_power.driver_kit.known_load import KnownLoad, known_load
from lpirc_power.driver_kit.subject import Subject, address_problem, subject_of
from lpirc_power.errors import MeterDriverError
from lpirc_power.meter import Setup

RESTART = "Switch the device off and on again, wait until it is ready, and press Enter."
NO_CABLE = (
    "The address has no HOST:PORT that answers, where the kit could stand between; add --ask to disconnect it "
    "yourself, or --unplug COMMAND and --plug COMMAND."
)


MISSING = (
    "Missing argument 'MODULE[:CLASS]': give the name of your driver's module, as Python imports it, or the address of "
    "an installed driver's meter, as in sim:constant:36W."
)


@click.command(
    cls=Bounded,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"Demands: {', '.join(DEMANDS)}.",
)
@click.argument("target", metavar="MODULE[:CLASS]", required=False)
@click.argument("address", required=False)
@click.option(
    "--load",
    "load_text",
    help="The connected load: 36W, or steps:2W@5s,9W@10s.",
    metavar="LOAD",
)
@click.option(
    "--load-limit",
    type=Figure("%", most=50.0),
    default=1.0,
    show_default=True,
    help="How exactly the load is known, in percent.",
)
@click.option(
    "--seconds",
    type=Figure("S", least=2.0, most=3600.0),
    default=5.0,
    show_default=True,
    help="Length of a measurement.",
)
@click.option(
    "--update",
    "update_s",
    type=Figure("S"),
    default=0.25,
    show_default=True,
    help="Update interval.",
)
@click.option(
    "--voltage-range", type=Figure("V"), help="Fixed voltage range; default: automatic."
)
@click.option(
    "--current-range", type=Figure("A"), help="Fixed current range; default: automatic."
)
@click.option(
    "--unplug", help="Command that disconnects the device.", metavar="COMMAND"
)
@click.option("--plug", help="Command that connects it again.", metavar="COMMAND")
@click.option("--restart", help="Command that restarts the device.", metavar="COMMAND")
@click.option(
    "--ask",
    is_flag=True,
    help="Ask you to disconnect the device, to connect it again, and to restart it.",
)
@click.option(
    "--nowhere", help="An address at which no meter answers.", metavar="ADDRESS"
)
@click.option(
    "--library",
    help="The module of the maker's library that the driver imports.",
    metavar="NAME",
)
@click.option(
    "--scpi",
    is_flag=True,
    help="The instrument speaks SCPI: try headers, short words, and its numbers for no data.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
@click.pass_context
def main(
    ctx: click.Context,
    /,
    *,
    target: str | None,
    address: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Try the driver in MODULE with the meter at ADDRESS, which may be a fake of it.

    \b
      python -m lpirc_power.driver_kit my_meter          what needs no meter
      python -m lpirc_power.driver_kit my_meter mine:192.168.1.30:80 --load 36W
      python -m lpirc_power.driver_kit my_meter:Family TCPIP::192.168.1.30::INSTR
      python -m lpirc_power.driver_kit shelly:192.168.1.30        an installed one

    MODULE is the name that Python imports, from this folder or from an installed package. CLASS chooses one of several
    drivers in it. ADDRESS is SCHEME:REST for a Scheme, also before it is installed, and a VISA resource for a family.

    The meter is started, stopped and reset several times; one that integrates or holds an energy is left alone. Each
    line is one demand on a driver: holds, fails, or not tried and why. docs/plugins.md says how to write a driver.

    The exit code is 1 if a demand fails, 2 for wrong usage.
    """  # noqa: D301  click wants the character itself
    if target is None:
        raise click.UsageError(MISSING)
    subject = _subject(target, address)
    found = []
    if given["ask"] and given["restart"] is None:
        given["restart"] = RESTART
    with _cable(subject, given) as (cable, through):
        bench = _bench(subject, through, cable, given)
        with warnings_printed():
            for one in examined(bench):
                found.append(one)
                if not as_json:
                    click.echo(one.line)
    _tell(found, subject, as_json=as_json)
    ctx.exit(1 if any(one.failed for one in found) else 0)


def _subject(target: str, address: str | None) -> Subject:
    try:
        subject = subject_of(target, address)
    except MeterDriverError as error:
        raise click.UsageError(error.sentence) from error
    if problem := address_problem(subject):
        raise click.UsageError(problem)
    return subject


def _asked(question: str) -> None:
    click.prompt(question, default="", show_default=False, prompt_suffix=" ", err=True)


@contextlib.contextmanager
def _cable(subject: Subject, given: dict[str, Any]) -> Iterator[tuple[Cable, str]]:
    """Yield the cable to the meter and the address that leads through it."""
    address = subject.address or ""
    unplug = given["unplug"]
    plug = given["plug"]
    if (unplug is None) != (plug is None):
        raise click.UsageError("--unplug and --plug belong together.")
    if unplug is not None and plug is not None:
        yield CommandCable(unplug, plug), address
        return
    if given["ask"]:
        yield AskedCable(_asked), address
        return
    place = place_of(subject.rest)
    if place is None or not answers(place):
        yield NoCable(NO_CABLE), address
        return
    relay = RelayCable(place.host, place.port)
    scheme = f"{subject.name}:" if subject.is_scheme else ""
    with contextlib.closing(relay):
        yield relay, f"{scheme}{place.through(relay.port)}"


def _bench(
    subject: Subject, through: str, cable: Cable, given: dict[str, Any]
) -> Bench:
    setup = Setup(given["voltage_range"], given["current_range"], given["update_s"], 0)
    restart = given["restart"]
    return Bench(
        subject=subject,
        address=through,
        setup=setup,
        seconds=given["seconds"],
        clocks=real_clocks(),
        cable=cable,
        load=_load(given["load_text"], given["load_limit"] / 100),
        nowhere=given["nowhere"],
        library=given["library"],
        restart=_restart(restart),
        is_scpi=given["scpi"],
    )


def _restart(command: str | None) -> Callable[[], object] | None:
    if command == RESTART:
        return functools.partial(_asked, RESTART)
    return functools.partial(run, command) if command else None


def _load(text: str | None, share: float) -> KnownLoad | None:
    if text is None:
        return None
    try:
        return known_load(text, share)
    except ValueError as error:
        raise click.UsageError(f"--load: {error}") from error


def _tell(found: list[Finding], subject: Subject, *, as_json: bool) -> None:
    verdicts = [one.verdict.value for one in found]
    counts = {verdict.value: verdicts.count(verdict.value) for verdict in Verdict}
    if as_json:
        facts = {
            "driver": subject.value,
            "address": subject.address,
            "counts": counts,
            "findings": [asdict(one) for one in found],
        }
        click.echo(json.dumps(facts, indent=1))
        return
    words = ", ".join(f"{count} {name}" for name, count in counts.items())
    click.echo(f"{words}.")
    failed = [one.code for one in found if one.failed]
    if failed:
        click.echo(f"To mend: {', '.join(failed)}.", err=True)


if __name__ == "__main__":
    main(prog_name="python -m lpirc_power.driver_kit")
