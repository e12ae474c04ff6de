"""What was found, as a table and as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from typing import Sequence

from lpirc_client.errors import printable

PASS, FAIL, SKIP, FAULT, HINT = "PASS", "FAIL", "SKIP", "FAULT", "HINT"
BAD = (FAIL, FAULT)


@dataclass(frozen=True)
class Finding:
    """What a check (PASS, FAIL, SKIP) or a rule (PASS, FAULT, HINT) came to.

    Of a check: how long it took. Of a rule: how often it was broken, and first at how many s after the window opened.
    """

    name: str
    result: str
    detail: str = ""
    count: int = 0
    first_s: float | None = None
    took_s: float = 0.0


def table(findings: Sequence[Finding]) -> str:
    """Return a line for each finding, and one that counts them."""
    lines = [printable(f"{one.result:5} {one.name:26} {one.detail}").rstrip() for one in findings]
    counts = Counter(one.result for one in findings)
    return "\n".join([*lines, ", ".join(f"{count} {result}" for result, count in counts.items())])


def junit(suite: str, findings: Sequence[Finding]) -> str:
    """Return JUnit XML with a testcase for each finding; one with a hint passes."""
    counts = {"tests": len(findings), "failures": 0, "errors": 0, "skipped": 0}
    total_s = sum(one.took_s for one in findings)
    root = ET.Element("testsuite", name=suite, time=f"{total_s:.3f}")
    for one in findings:
        case = ET.SubElement(root, "testcase", classname=suite, name=one.name, time=f"{one.took_s:.3f}")
        text = printable(one.detail)
        if one.result in BAD:
            counts["failures"] += 1
            ET.SubElement(case, "failure", message=text, type=one.result).text = text
        elif one.result == SKIP:
            counts["skipped"] += 1
            ET.SubElement(case, "skipped", message=text)
        elif one.result == HINT:
            ET.SubElement(case, "system-out").text = text
    root.attrib.update({name: str(count) for name, count in counts.items()})
    return ET.tostring(root, encoding="unicode")
