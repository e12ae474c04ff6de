"""Detects latencies that are not the model's own because something else slowed the measurement down. Pure."""

from __future__ import annotations

from lpirc_tracks.submissions.result_document import ResultDocument

LEAST_PROCESSOR_SHARE = 0.95
MOST_SPREAD = 0.10  # of the passes' means, from the middle of their range
NOTICED_S = 0.5  # below it, what was lost is an interruption, not another job


def disturbance(document: ResultDocument) -> str | None:
    """Return a sentence with the figures that show an unstable latency, or None for a stable one."""
    mean_ms = document["latency.mean_ms"]
    means_ms = document["latency.repeat_means_ms"]
    counted_s = document["latency.counted"] * mean_ms / 1000
    share = document.get("latency.processor_share")
    if (
        share is not None
        and share < LEAST_PROCESSOR_SHARE
        and (1 - share) * counted_s > NOTICED_S
    ):
        return (
            f"the model had a processor for only {share:.0%} of its {mean_ms:.3f} ms, and another job had it for the "
            "rest"
        )
    low_ms = min(means_ms)
    high_ms = max(means_ms)
    lost_s = (high_ms - low_ms) / mean_ms * counted_s / len(means_ms)
    if high_ms - low_ms > MOST_SPREAD * (high_ms + low_ms) and lost_s > NOTICED_S:
        return f"its passes differ: {', '.join(f'{each:.3f}' for each in means_ms)} ms on average"
    return None
