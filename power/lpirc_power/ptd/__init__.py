"""The protocol that MLPerf Power's harness speaks with SPEC PTDaemon, for one meter with one or several channels.

It knows no sockets: `meter ptd` listens. Start with `protocol`.
"""

from __future__ import annotations
