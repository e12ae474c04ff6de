"""The stand-alone verifier says of every bundle what `referee bundle verify` says."""

from __future__ import annotations

import pytest

from tests.referee.evidence.proved import Proved, by_main, by_second, failed


@pytest.mark.parametrize("name", ["others", "judged", "empty", "unjudged"])
def test_a_bundle_as_exported_holds(proved: dict[str, Proved], name: str) -> None:
    one = proved[name]
    for verifier in (by_main, by_second):
        found = verifier(one.data, one.receipts, one.key.public)
        assert failed(found) == [], found
