"""A meter's address in the place of a recording's file, and options that a command does not take."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lpirc_power.cli.main import main


def told(*words: str) -> str:
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code == 2
    return ended.stderr


@pytest.mark.parametrize("command", ["check", "report", "export", "compare"])
@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("TCPIP::127.0.0.1,9::INSTR", "TCPIP::127.0.0.1,9::INSTR"),
        ("192.168.1.20:5025", "TCPIP::192.168.1.20,5025::INSTR"),
        ("192.168.1.20", "TCPIP::192.168.1.20::INSTR"),
        ("sim:", "sim:"),
    ],
)
def test_an_address_is_no_recording(command: str, given: str, address: str) -> None:
    words = f"{given} is the address of a meter, and a recording's file is needed; `meter probe {address}` looks"
    assert words in told(command, given)


def test_an_address_that_is_written_wrongly_is_not_proposed() -> None:
    said = told("check", "TCPIP::192.168.1.20")
    assert "is the address of a meter, and a recording's file is needed.\n" in said


def test_an_address_on_the_second_side_is_no_recording() -> None:
    assert "sim: is the address of a meter" in told(
        "compare", "a.csv", "--with", "sim:"
    )


def test_a_file_may_be_called_as_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sim:").write_text("nothing")
    assert "address" not in CliRunner().invoke(main, ["check", "sim:"]).stderr


def test_an_unknown_option_is_told_with_those_that_there_are() -> None:
    said = told("probe", "sim:", "--seconds", "3")
    assert "No such option '--seconds'. The options are --element, --json" in said


def test_a_word_for_a_command_of_options_alone_is_told_with_them() -> None:
    said = told("simulate", "constant:36W")
    assert "with the options --port, --host, --load, --model" in said


def test_an_option_before_the_command_is_told_to_stand_behind_it() -> None:
    assert "behind the command: meter COMMAND --json\n" in told("--json", "probe")


@pytest.mark.parametrize(
    "text",
    [
        '[contest]\nname = "a, b"\nwindow = 5\n\n[[stations]]\nlist = [1, 2, 3, 4]\n',
        "<html>\n<p>a, b</p>\n<p>a, b, c</p>\n<p>c, d</p>\n</html>\n",
    ],
)
def test_a_file_of_another_kind_is_no_recording_that_was_cut(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "other"
    file.write_text(text)
    ended = CliRunner().invoke(main, ["check", str(file)])
    assert "cannot be read: it is no table" in ended.stderr
