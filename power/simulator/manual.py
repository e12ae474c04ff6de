"""The page of the simulated meter's commands, written from the tables that drive it.

`python -m power.simulator.manual > docs/wt300-commands.md` writes it anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from power.simulator.commands import GROUPS
from power.simulator.control import CONTROLS
from power.simulator.loads import LOADS, OPTIONS
from power.simulator.models import MODELS, Model
from power.simulator.numeric import FUNCTIONS
from power.simulator.refusals import TEXTS
from power.simulator.status import CONDITIONS

_INTRODUCTION: Final = """\
# The commands of the simulated meter

Written from the table in `power/simulator/commands.py`, which drives the simulated meter, by
`python -m power.simulator.manual`; a test holds this page to it. `meter simulate --commands` prints the table.

Capitals are the short form; brackets may be left out; a query ends in `?`. Units of a message are joined by `;`
and end at NL or END; a carriage return is ignored. A header without a colon goes on in the group of the one
before. Numbers take units and multipliers (`150V`, `500MA` is half an ampere, `100MS`), registers also `#H`,
`#Q`, `#B`. What is refused queues its error and ends its message. A command marked R is refused with 813
until the integrator is reset.
"""

_DIFFERENCES: Final = (
    "the wave is a sine of 60 Hz but for its crest factor; filters, mode and synchronisation are remembered and "
    "change nothing",
    "clipping takes as much of the current as its peak is too high; on a real meter it depends on the wave",
    "an automatic range changes in one step, however large, which costs one reading; after power-on and *RST it "
    "has settled with the first update",
    "a small range protects itself after 5 s of overload; the manuals give no time",
    "a load is shared equally by the elements that the wiring sums, at the same voltage; other elements see "
    "nothing; apparent power of the sum is the sum of apparent powers in every wiring",
    "ranges are common to all elements; there is no node of an element",
    "with rate AUTO there are ten updates a second",
    "averaging and scaling are remembered and change nothing",
    "harmonics, storing, maths and the WT200's commands are missing",
)


def command_lines() -> Iterator[str]:
    """Give the table of commands as plain text, a line each."""
    for group, commands in GROUPS.items():
        yield f"{group}:"
        for command in commands:
            mark = " (R)" if command.locked else ""
            yield f"  {command.forms}{mark}"
            yield f"      {command.help}"


def page() -> str:
    """Return the whole page in Markdown."""
    parts = [
        _INTRODUCTION,
        *(_section(name, _command_table(name)) for name in GROUPS),
        _section("Functions", [", ".join(f"`{function}`" for function in FUNCTIONS) + "."]),
        _section(
            "Condition register",
            _table(("bit", "meaning"), [(str(bit), text) for bit, text in enumerate(CONDITIONS)]),
        ),
        _section("Errors", _table(("code", "text"), [(str(code), text) for code, text in TEXTS.items()])),
        _section(
            "Models", _table(("model", "elements", "current ranges", "rates", "wirings"), map(_model, MODELS))
        ),
        _section(
            "Loads",
            [
                *_table(("`--load`", "what it draws"), [(f"`{form}`", text) for form, text in LOADS.items()]),
                "",
                f"All but `csv` take `,{OPTIONS}`: a crest factor above the range's limit clips the current, as a",
                "switching supply does on too small a range.",
            ],
        ),
        _section("Faults", [*_FAULTS, "", *_table(("command", "what the meter does"), _faults())]),
        _section("Where it differs from the real one", [f"- {text}" for text in _DIFFERENCES]),
    ]
    return "\n".join(parts)


_FAULTS: Final = (
    "`meter simulate --control 0` prints a second line `control HOST:PORT`, always on 127.0.0.1;",
    "`meter fault HOST:PORT COMMAND` sends it one of these. An answer is `ok`, `ok TEXT` or `error SENTENCE`.",
)


def _faults() -> list[tuple[str, str]]:
    return [(f"`{control.word} {control.argument}".strip() + "`", control.help) for control in CONTROLS]


def _command_table(group: str) -> list[str]:
    rows = [(f"`{command.forms}`", "R" if command.locked else "", command.help) for command in GROUPS[group]]
    return _table(("command", "", "what it does"), rows)


def _model(model: Model) -> tuple[str, ...]:
    currents = ", ".join(f"{value:g}" for value in model.currents_a) + " A"
    rates = ", ".join(f"{value:g}" for value in model.rates_s) + " s" + (", AUTO" if model.enhanced else "")
    return (
        model.name,
        ", ".join(map(str, model.elements)),
        currents,
        rates,
        ", ".join(f"{wiring} ({'+'.join(map(str, elements))})" for wiring, elements in model.wirings.items()),
    )


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"## {title}", "", *lines, ""])


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(heading), "|" + "---|" * len(heading), *map(line, rows)]


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201  this is its purpose
