"""Which tests `make test` leaves to `make test-all`, by a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.slow import LIST, slow_modules

ROOT = Path(__file__).parents[1]
SLOW = "tests/test_audit.py"
FAST = "tests/test_lines.py"
RESULTS = """<testsuites><testsuite>
<testcase classname="tests.power.test_day" name="test_a" time="0.1"/>
<testcase classname="tests.power.test_day" name="test_b" time="1.3"/>
<testcase classname="tests.power.test_units" name="test_c" time="0.9"/>
<testcase classname="tests.power.test_units" name="test_d" time="0.01"/>
<testcase classname="tests.client.test_day" name="test_e" time="7"/>
</testsuite></testsuites>
"""


def test_each_module_of_the_list_is_there_once_and_in_order() -> None:
    listed = LIST.read_text().split()
    assert listed == sorted(set(listed))
    assert [one for one in listed if not (ROOT / one).is_file()] == []


@pytest.mark.parametrize(("chosen", "of", "not_of"), [
    ("slow", SLOW, FAST),
    ("not slow", FAST, SLOW),
])  # fmt: skip
def test_only_tests_of_listed_modules_are_slow(
    chosen: str, of: str, not_of: str
) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", chosen]
    done = subprocess.run(
        [*command, SLOW, FAST], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert f"{of}::" in done.stdout
    assert f"{not_of}::" not in done.stdout


def test_a_module_is_slow_whose_tests_take_long_on_average(tmp_path: Path) -> None:
    results = tmp_path / "results.xml"
    results.write_text(RESULTS)
    assert slow_modules(results) == [
        "tests/client/test_day.py",
        "tests/power/test_day.py",
    ]
