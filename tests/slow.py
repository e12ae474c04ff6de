"""The marker `slow` of whole modules: `make test` leaves them to `make test-all`.

`python -m tests.slow RESULTS` makes their list anew, from what `make test-all ARGS=--junitxml=RESULTS` measured.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree as ET

import pytest

LIST = Path(__file__).with_suffix(".txt")
LONG_S = 0.5
"""A module is slow if its tests take longer than this on average, with others beside them."""


def mark(items: Iterable[pytest.Item]) -> None:
    """Mark the tests of slow modules."""
    slow = set(LIST.read_text().split())
    for item in items:
        if item.nodeid.partition("::")[0] in slow:
            item.add_marker("slow")


def slow_modules(results: Path) -> list[str]:
    """Return the slow modules of a run, by the file in which pytest left its results as JUnit's XML."""
    taken_s = defaultdict(list)
    for case in ET.parse(results).iter("testcase"):  # noqa: S314 - pytest has just written it
        module = case.attrib["classname"].replace(".", "/") + ".py"
        taken_s[module].append(float(case.attrib["time"]))
    return sorted(module for module, each in taken_s.items() if fmean(each) > LONG_S)


if __name__ == "__main__":
    LIST.write_text("".join(f"{one}\n" for one in slow_modules(Path(sys.argv[1]))))
