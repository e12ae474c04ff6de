"""The metric `lpirc`: mean average precision at 50 % overlap, as the contest's papers describe it.

Goal: the accuracy of a contest's run, which the score divides by the energy.
Source: Alyamkin et al., "2018 Low-Power Image Recognition Challenge", and DATE 2018: an object is
found by a box that overlaps it by at least 50 %; the area under the precision-recall curve.
Conventions: corners are inclusive pixels; a detection takes the free object that it overlaps best
(`matching.best_of_free`); crowds do not count; if confidences are equal, the lower image id comes first.
No official program exists, so nothing questionable is accepted.
"""

from __future__ import annotations

from lpirc_score.metrics.metric_kinds import Rule

METRIC = Rule("lpirc")
