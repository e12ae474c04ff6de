"""What was found, as a table and as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lpirc_client.errors import printable

PASS, FAIL, SKIP, FAULT, HINT = "PASS", "FAIL", "SKIP", "FAULT", "HINT"
BAD = (FAIL, FAULT)


@dataclass(frozen=True)
class Finding:
    """What a check (PASS, FAIL, SKIP) or a rule (PASS, FAULT, HINT) came to.

    A rule's has how often it was broken, and when first, in s since the window opened.
    """

    name: str
    result: str
    detail: str = ""
    count: int = 0
    first_s: float | None = None


def table(findings: Sequence[Finding]) -> str:
    """Return a line for each finding, and one that counts them."""
    width = max(len(one.name) for one in findings)
    lines = [printable(f"{one.result:5} {one.name:{width}}  {one.detail}").rstrip() for one in findings]
    counts = Counter(one.result for one in findings)
    return "\n".join([*lines, ", ".join(f"{count} {result}" for result, count in counts.items())])


def junit(suite: str, findings: Sequence[Finding]) -> str:
    """Return JUnit XML with a testcase for each finding; one with a hint passes."""
    root = ET.Element("testsuite", name=suite, tests=str(len(findings)))
    root.set("failures", str(sum(one.result in BAD for one in findings)))
    for one in findings:
        case = ET.SubElement(root, "testcase", classname=suite, name=one.name)
        if one.result != PASS:
            tag = "failure" if one.result in BAD else "skipped" if one.result == SKIP else "system-out"
            ET.SubElement(case, tag, message=printable(one.detail))
    return ET.tostring(root, encoding="unicode")
