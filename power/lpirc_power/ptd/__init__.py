"""The protocol that MLPerf Power's harness speaks with SPEC PTDaemon, for one meter with one or several channels."""

from __future__ import annotations
