"""Conversations tell answers word for word, in the form of one dialect."""

from __future__ import annotations

import pytest


@pytest.fixture
def dialect() -> str:
    """That of the recorded log."""
    return "log2015"
