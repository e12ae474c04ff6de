"""Scoring: pure functions on numpy arrays; no I/O, no clock."""

from referee.scoring.columns import Detections
from referee.scoring.contest_score import format_score, score
from referee.scoring.evaluation import Counts, Evaluation, evaluate
from referee.scoring.rules import METRICS

__all__ = ["METRICS", "Counts", "Detections", "Evaluation", "evaluate", "format_score", "score"]
