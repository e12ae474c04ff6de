"""The shell completes the commands, as docs/operators.md and client/README.md say."""

from __future__ import annotations

import os
import subprocess

import pytest

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
    assert (
        warm_programs.run([program], env=os.environ | asked).stdout == f"{expected}\n"
    )


def test_the_client_s_commands_complete_in_bash() -> None:
    script = "".join(
        warm_programs.run([name, "--completion"]).stdout
        for name in ("lpirc-client", "lpirc-harness")
    )
    script += """
    of() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _${1/-/_}; echo "${COMPREPLY[*]}"; }
    of lpirc-client re
    of lpirc-client run http://referee --det
    of lpirc-client replay --tests
    of lpirc-client run --tests
    of lpirc-harness be
    """
    done = subprocess.run(
        ["bash", "-uc", script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "replay",
        "--detector",
        "--testset",
        "",
        "bench",
    ]
