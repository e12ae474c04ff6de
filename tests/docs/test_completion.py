"""The shell completes the commands, as docs/operators.md and docs/client.md say."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lpirc_client.cli import main as client
from lpirc_client.harness.cli import main as harness
from tests import warm_programs


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("referee leaderb", "plain,leaderboard"),
        ("referee run unv", "plain,unvoid"),
        ("meter record --dur", "plain,--duration"),
    ],
)
def test_click_completes(line: str, expected: str) -> None:
    program, *words = line.split()
    asked = {
        f"_{program.upper()}_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
    }
    stdout = warm_programs.run([program], env=os.environ | asked).stdout
    assert stdout == f"{expected}\n"


def test_the_client_s_commands_complete_in_bash() -> None:
    script = "".join(
        warm_programs.run([name, "--completion"]).stdout
        for name in ("lpirc-client", "lpirc-harness")
    )
    script += """
    of() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _shtab_${1/-/_}; echo "${COMPREPLY[*]}"; }
    of lpirc-client re
    of lpirc-client run http://referee --det
    of lpirc-client replay --tests
    of lpirc-client run --tests
    of lpirc-client run --progress b
    of lpirc-harness be
    complete -p lpirc-client lpirc-harness
    """
    done = subprocess.run(
        ["bash", "-uc", script],
        capture_output=True,
        text=True,
        check=True,
    )
    *said, of_client, of_harness = done.stdout.splitlines()
    assert said == ["replay", "--detector", "--testset", "", "bar", "bench"]
    # Where nothing fits, bash completes file names.
    assert " -o default " in of_client
    assert " -o default " in of_harness


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_the_client_s_commands_complete_in_other_shells(shell: str) -> None:
    script = warm_programs.run(["lpirc-client", "--completion", shell]).stdout
    assert "lpirc-client" in script
    assert "--detector" in script or "detector" in script


@pytest.mark.parametrize("program", ["lpirc-client", "lpirc-harness"])
def test_without_shtab_what_to_install_is_named(
    program: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    main = client if program == "lpirc-client" else harness
    assert main(["--completion"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    words = "--completion needs shtab, which is not installed: pip install shtab"
    assert said.err == f"{program}: {words}\n"
