"""Whatever is altered in a bundle by one who does not hold the contest's key is detected, and its part is named.

LPIRC_TAMPERED=10000 in the environment tries so many.
"""

from __future__ import annotations

import os

from tests.referee.evidence.proved import Proved, by_main, by_second, failed
from tests.referee.evidence.tampered import tampered

COUNT = int(os.environ.get("LPIRC_TAMPERED", "600"))
EACH_SECOND = 10  # the stand-alone verifier looks at one in so many


def test_every_altered_byte_and_row_is_detected_and_its_part_named(
    proved: dict[str, Proved],
) -> None:
    missed = []
    for one in tampered(proved["judged"], COUNT, seed=1):
        found = by_main(one.data, key=proved["judged"].key.public)
        named = {part for part in found.values() if part}
        if not named & {*one.parts}:
            missed.append((one.how, one.parts, found))
    assert missed == []


def test_the_second_verifier_detects_the_same(proved: dict[str, Proved]) -> None:
    judged = proved["judged"]
    for number, one in enumerate(tampered(judged, COUNT, seed=1)):
        if number % EACH_SECOND == 0:
            assert failed(by_second(one.data, key=judged.key.public)), one.how
