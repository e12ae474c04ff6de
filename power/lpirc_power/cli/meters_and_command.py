"""The words of `meter record`: addresses of meters, then COMMAND."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from typing import Final

import click

from lpirc_power.addresses.driver_registry import VISA, schemes
from lpirc_power.errors import MeterError

END_OF_ADDRESSES: Final = "--"
_GIVEN: Final = "lpirc_power.command"
_NAMED: Final = re.compile(r"([A-Za-z0-9_-]{1,40})=(.+)")


class WithCommand(click.Command):
    """A command whose last words are a COMMAND with options of its own, which stand behind `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse options and words; a usage error about an option behind a program's name says how to write it."""
        try:
            return super().parse_args(ctx, [*args])
        except click.NoSuchOption as error:
            program = _program_before(error.option_name, args)
            if not program:
                raise
            words = f"{error.message} If it is an option of {program}, write -- before {program}."
            raise click.NoSuchOption(error.option_name, words, ctx=error.ctx) from error


def _program_before(option: str, args: Sequence[str]) -> str:
    """Return the first word before an option that is a program; empty if there is none."""
    for word in args:
        if word.startswith(option) or word == END_OF_ADDRESSES:
            break
        if not word.startswith("-") and shutil.which(word):
            return word
    return ""


class RecordCommand(WithCommand):
    """A command that knows which words stand behind `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse options and addresses; what follows `--` is COMMAND, unless no address stands before it."""
        if END_OF_ADDRESSES not in args:
            return super().parse_args(ctx, args)
        place = args.index(END_OF_ADDRESSES)
        try:
            left = super().parse_args(ctx, args[:place])
        except click.MissingParameter:
            if not any(map(looks_like_address, args[place + 1 : place + 2])):
                raise
            return super().parse_args(ctx, args)
        ctx.meta[_GIVEN] = tuple(args[place + 1 :])
        return left


def meters_and_command(
    ctx: click.Context, first: str, words: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the addresses by name, in order, and the command.

    Every word before `--` must look like an address. Without `--`, words that do so follow the first one, and then
    comes the command. The name of a lone meter is empty.
    """
    command: tuple[str, ...] | None = ctx.meta.get(_GIVEN)
    addresses = [first, *words]
    if command is not None:
        _require_addresses(words)
    else:
        count = 1
        while count < len(addresses) and looks_like_address(addresses[count]):
            count += 1
        command = tuple(addresses[count:])
        addresses = addresses[:count]
    return _named(addresses), command


def looks_like_address(word: str) -> bool:
    """Return True for a VISA resource and for SCHEME:... of an installed driver, also behind NAME=."""
    named = _NAMED.fullmatch(word)
    address = named[2] if named else word
    known = [one.plugin.name for one in schemes() if one.plugin.name != VISA]
    scheme = address.partition(":")[0]
    return "::" in address or (":" in address and scheme in known)


def _require_addresses(words: Sequence[str]) -> None:
    for word in words:
        if not looks_like_address(word):
            raise click.UsageError(
                f"{word!r} stands before -- and is not the address of a meter, such as "
                "TCPIP::HOST::INSTR or NAME=ADDRESS; write the whole COMMAND behind --."
            )


def _named(words: Sequence[str]) -> dict[str, str]:
    if len(words) == 1:
        (word,) = words
        named = _NAMED.fullmatch(word)
        return {named[1]: named[2]} if named else {"": word}
    found: dict[str, str] = {}
    for number, word in enumerate(words, 1):
        named = _NAMED.fullmatch(word)
        name = named[1] if named else f"meter-{number}"
        address = named[2] if named else word
        if name in found:
            raise click.UsageError(f"Two meters have the name {name}.")
        if address in found.values() and not _is_started(address):
            raise MeterError(
                "meter-busy",
                f"{address} is given twice; two programs cannot use the integrator of one meter.",
            )
        found[name] = address
    return found


def _is_started(address: str) -> bool:
    """Return True for an address that starts a meter of its own each time."""
    return address.partition(":")[0] == "sim"
