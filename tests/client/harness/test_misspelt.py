"""A misspelt command or choice of the harness is told with the one that may be meant."""

from __future__ import annotations

import pytest

from tests.client.conftest import Client


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("bnech", "m.tflite"), "Did you mean bench?"),
        (
            ("validate", "m", "--track", "ovic-detecton"),
            "Did you mean ovic-detection?",
        ),
        ((), "give a command: validate, bench, confinement; --help describes them"),
    ],
)
def test_the_harness_names_what_is_meant(
    harness: Client, arguments: tuple[str, ...], told: str
) -> None:
    done = harness(*arguments)
    assert done.returncode == 2
    assert told in done.stderr
