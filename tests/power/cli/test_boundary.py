from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from typing import Any

import pytest
from click import Context
from click.testing import CliRunner

from lpirc_power.cli import main
from tests.power.cli.conftest import METER, one_line


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["probe", "TCPIP::127.0.0.1:80::INSTR"], 1),
        (["watch", "sim:wind"], 1),
        (["probe"], 2),
        (["watch", "sim:", "--count", "0"], 2),
        (["fly"], 2),
        (["--help"], 0),
    ],
)
def test_exit_codes(arguments: list[str], code: int) -> None:
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == code
    if code == 1:
        assert one_line(ran.stderr)


@pytest.mark.parametrize("command", main.list_commands(Context(main)))
def test_every_command_has_its_help(command: str) -> None:
    ran = CliRunner().invoke(main, [command, "--help"])
    assert ran.exit_code == 0
    assert "Usage: meter" in ran.output
    assert "\\b" not in ran.output


def test_the_version_is_that_of_the_distribution() -> None:
    ran = CliRunner().invoke(main, ["--version"])
    assert ran.exit_code == 0
    assert ran.output == f"meter {version('lpirc-power')}\n"


def test_the_help_tells_every_form_of_an_address() -> None:
    told = CliRunner().invoke(main, ["--help"]).output
    for form in (
        "TCPIP::127.0.0.1,5025::INSTR",
        "USB0::0x0B21",
        "@ivi",
        "sim:",
        "rapl:",
        "hwmon:",
        "sim:csv:",
    ):
        assert form in told


@pytest.mark.parametrize(
    "arguments",
    [
        ("probe", "sim:"),
        ("--help",),
        ("--version",),
        ("record", "--help"),
        ("watch", "sim:", "--count", "2"),
        ("loop", "sim:", "--", "true"),
        ("simulate",),
    ],
)
def test_a_full_disk_behind_stdout_is_one_line(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123  a device, not a file
        ended = subprocess.run(
            [*METER, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert one_line(ended.stderr)
    told = "The output cannot be written: No space left on device; free some space, "
    assert told in ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("probe", "sim:"), ("watch", "sim:"), ("simulate",)],
)
def test_a_reader_that_has_gone_is_no_reason_to_say_anything(
    arguments: tuple[str, ...],
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        ended = subprocess.run(
            [*METER, *arguments],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (1, "")


@pytest.mark.parametrize("closing", [">&-", "2>&-", "2>/dev/full"])
def test_closed_and_full_outputs_leave_no_trace(closing: str) -> None:
    for arguments in ("probe sim:", "probe sim:wind"):
        # Where PYTHONUNBUFFERED is set, nothing is left to be written at exit.
        command = f'env -u PYTHONUNBUFFERED "$0" -m lpirc_power {arguments} {closing}'
        ended = subprocess.run(
            ["bash", "-c", command, sys.executable],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in ended.stderr + ended.stdout
        assert ended.returncode == (1 if "wind" in arguments else 0)


def test_nobody_there_is_one_line(
    simulate: Any,
    meter: Any,
) -> None:
    gone = simulate()
    gone.kill()
    for arguments in (("probe",), ("watch",), ("zero",), ("range", "--duration", "1")):
        ended = meter(arguments[0], gone.address, *arguments[1:])
        assert ended.returncode == 1
        assert ended.stdout == ""
        assert one_line(ended.stderr)
        assert "No meter answers at" in ended.stderr


def test_an_unknown_subcommand_is_told_with_the_closest() -> None:
    ran = CliRunner().invoke(main, ["prob"])
    assert ran.exit_code == 2
    assert "No such command 'prob'. Did you mean 'probe'?\n" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--foo"], "No such option '--foo'. The options are --version, "),
        (
            ["--mode", "dc"],
            "'--mode'. Options stand behind the command: meter COMMAND --mode\n",
        ),
        (["list"], "No such command 'list'. The commands are certify, check, "),
        (
            ["record", "sim:", "--name", "x"],
            "No such option '--name'. The options are --output, ",
        ),
        (
            ["record", "sim:", "-o", "x", "sh", "--version"],
            "'--version'. If it is an option of sh, write -- before sh.",
        ),
        (["mark", "x", "ls", "-la"], "'-l'. If it is an option of ls, write -- be"),
        (["loop", "sim:", "ls", "-l"], "If it is an option of ls, write -- before ls"),
        (["range", "sim:", "ls", "-l"], "If it is an option of ls, write -- before"),
        (["record", "--outp", "x"], "'--outp'. Did you mean '--output'?\n"),
        (
            ["probe", "sim:", "--jsn"],
            "No such option '--jsn'. Did you mean '--json'?\n",
        ),
        (
            ["watch", "--address", "sim:"],
            "No such option '--address'. Write it without --address: meter watch ADDRESS\n",
        ),
        (
            ["check", "run.csv", "-o", "x"],
            "No such option '-o'. The output goes to the terminal; to keep it in a file, write > FILE in place of -o",
        ),
    ],
)
def test_only_a_name_that_may_be_meant_is_suggested(
    arguments: list[str], told: str
) -> None:
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 2
    assert told in ran.stderr


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (("--duration", "abc"), "'abc' is not a number; its unit is S.\n"),
        (("--repeat", "two"), "'two' is not a whole number.\n"),
        (
            ("--duration", "1m30s"),
            "'1m30s' is not a number; its unit is S; write 90.\n",
        ),
        (
            ("--duration", "0:10:00"),
            "'0:10:00' is not a number; its unit is S; write 600.\n",
        ),
        (("--duration", "1h 500ms"), "'1h 500ms' is not a number; its unit is S.\n"),
        (
            ("--duration", "1 hour 2 mins 3 seconds"),
            "its unit is S; write 3723.\n",
        ),
        (("--duration", "1min"), "'1min' is not a number; its unit is S; write 60.\n"),
        (("--duration", "0,5"), "its unit is S; write 0.5.\n"),
        (("--update", "250ms"), "its unit is S; write 0.25.\n"),
        (("--current-range", "500 mA"), "its unit is A; write 0.5.\n"),
        (("--voltage-range", "150V"), "its unit is V; write 150.\n"),
        (("--voltage-range", "5A"), "'5A' is not a number; its unit is V.\n"),
        (("--page", "localhost:80"), "is not a whole number; write 80.\n"),
        (("--repeat", "localhost:99999"), "is not a whole number.\n"),
    ],
)
def test_a_word_that_is_no_number_is_told_so(
    option: tuple[str, str], told: str
) -> None:
    ran = CliRunner().invoke(main, ["record", "sim:", "-o", "a.csv", *option])
    assert ran.exit_code == 2
    assert told in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check", "a.csv", "b.csv"], "The argument 'b.csv' is one too many; the form is: meter check [OPTIONS] FILE"),
        (["check", "a.csv", "b c.csv"], "The argument 'b c.csv' is one too many; the"),
        (["check", *(80 * ["a.csv"])], "a.csv ...' are too many; the form is: meter"),
        (["check", "a.csv", "--json", "b.json"], "--json takes no value, and prints the document; write --json > b"),
        (["record", "-o", "a.csv", "--", "sleep", "1"], "Missing argument 'ADDRESS'."),
    ],
)  # fmt: skip
def test_a_word_that_is_one_too_many_or_too_few_is_told_with_the_form(
    arguments: list[str], told: str
) -> None:
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 2
    assert told in ran.stderr
