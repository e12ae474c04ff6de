"""How long tests wait for what must come: longer than a busy machine pauses, shorter than the timeout of a test."""

TIMEOUT_S = 100.0
