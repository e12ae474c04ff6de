"""Finds metrics by name: the entry points of `lpirc.metrics`, each a `Rule` or an `OwnMetric`.

    [project.entry-points."lpirc.metrics"]
    my-ap = "my_metrics:METRIC"

The name of the entry point is the name of the metric. For a metric of another distribution, the signature names that
distribution and its version.
"""

from __future__ import annotations

from lpirc_score.errors import CodedError, MetricFailed
from lpirc_score.metrics import lpirc
from lpirc_score.metrics.evaluation_result import signature
from lpirc_score.metrics.metric_kinds import Metric, OwnMetric, Rule, Tolerance
from lpirc_testsets.close_names import did_you_mean
from lpirc_testsets.plugins import Plugin, PluginError, Seam, UnknownPlugin
from lpirc_testsets.values import shown

HOME = "lpirc-score"
SEAM = Seam("lpirc.metrics", "metric", HOME)

COCO = "coco"
"""The metric with ten IoU thresholds, which is not a `Rule`."""

METRICS = ("lpirc", "ilsvrc-det", "voc-area", "voc-11", COCO)
"""The names of the built-in metrics, in the order in which they are listed."""


def metric_names() -> tuple[str, ...]:
    """Return the names of all installed metrics, the built-in ones first."""
    others = (name for name in SEAM.names() if name not in METRICS)
    return (*METRICS, *others)


def metric_named(name: str) -> Metric:
    """Return the metric of that name.

    Raises `CodedError` `unknown-metric`, or `bad-metric` for one that cannot be used.
    """
    value: Metric = _plugin(name).value
    return value


def rule_named(name: str) -> Rule:
    """Return the rule of a metric with one threshold. Raises `CodedError` `no-threshold`, and as `metric_named`."""
    metric = metric_named(name)
    if not isinstance(metric, Rule):
        sentence = f"The metric {name} has no single IoU threshold; choose a metric that has one."
        raise CodedError("no-threshold", sentence)
    return metric


def has_one_threshold(name: str) -> bool:
    """Return True if a metric is a `Rule`. Raises as `metric_named`."""
    return isinstance(metric_named(name), Rule)


def scores_by_blocks(name: str) -> bool:
    """Return True if a metric can match blocks of images separately; an `OwnMetric` needs all rows at once."""
    return name == COCO or has_one_threshold(name)


def rule_shown(name: str) -> Rule:
    """Return the rule for a metric's curves and errors: the metric's own, or that of `lpirc` if it has none."""
    metric = metric_named(name)
    if isinstance(metric, Rule):
        return metric
    return lpirc.METRIC


def tolerance_of(name: str) -> Tolerance:
    """Return the questionable rows that a metric accepts. Raises as `metric_named`."""
    return metric_named(name).tolerance


def lists_ties_by_image(name: str) -> bool:
    """Return True if equal confidences are ordered by image id, so that arrival order across images does not matter."""
    return metric_named(name).ties_by_image


def engine_of(name: str) -> str | None:
    """Return the distribution that computes a metric, such as `my-metrics-1.2`, or None if it is this one."""
    plugin = _plugin(name)
    distribution = plugin.distribution
    if distribution.split()[0] == HOME:
        return None
    return distribution.replace(" ", "-")


def signature_of(
    name: str,
    ground_truth_digest: str | None,
    blacklist: frozenset[tuple[int, int]] = frozenset(),
    iou: float | None = None,
) -> str:
    """Return the signature that `evaluate` gives for a metric. Raises as `metric_named`."""
    metric = metric_named(name)
    threshold = metric.threshold(iou) if isinstance(metric, Rule) else metric.iou
    return signature(
        name,
        threshold,
        blacklist,
        ground_truth_digest,
        engine_of(name),
    )


def failed(name: str, problem: str) -> CodedError:
    """Return the error for a metric of another distribution that failed while it ran."""
    return MetricFailed(_plugin(name).broken(problem).sentence)


def not_installed(name: str, engine: str | None) -> str:
    """Return a sentence saying that the `engine` of a metric, as a signature names it, is not installed.

    The sentence is empty without an `engine`, or if it is installed. Raises as `metric_named`.
    """
    if engine is None:
        return ""
    if name not in metric_names():
        here = "which is not installed here"
    elif engine_of(name) != engine:
        here = f"but here {engine_of(name) or 'lpirc-score'} is installed"
    else:
        return ""
    return (
        f"The metric {name} was computed by {engine}, {here}; "
        f"install {engine} and verify again."
    )


def _plugin(name: str) -> Plugin:
    try:
        plugin = SEAM.load(str(name))
    except UnknownPlugin as error:
        known = ", ".join(metric_names())
        meant = did_you_mean(str(name), metric_names())
        sentence = f"There is no metric {shown(name)}; choose one of {known}.{meant}"
        raise CodedError("unknown-metric", sentence) from error
    except PluginError as error:
        raise MetricFailed(error.sentence) from error
    found = plugin.value
    problem = ""
    if not isinstance(found, (Rule, OwnMetric)):
        problem = f"it is of the type {type(found).__name__}, not a Rule or OwnMetric"
    elif found.name != name:
        problem = f"its metric is named {found.name!r}"
    if problem:
        raise MetricFailed(plugin.broken(problem).sentence)
    return plugin
