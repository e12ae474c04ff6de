"""Whether models can run confined on this system. Where they cannot, tracks of the tests say that they need not."""

from __future__ import annotations

from lpirc_client.harness.confinement import confinement

IS_UNCONFINED = not confinement().prefix
UNCONFINED = "unconfined = true\n" if IS_UNCONFINED else ""
"""A line of a track that takes models."""
