"""Metrics: detections and ground truth as columns in, AP and mAP out; pure functions on numpy arrays.

Each family of published metrics has a module: `lpirc`, `ilsvrc_det`, `voc`, `coco` (and `tidecv`, for errors). Metrics
with one IoU threshold differ only in the parts of a `Rule` (`metric_kinds`); they share `groups`, `matching`,
`one_threshold` and `average_precision`. `offered` finds a metric by name, and `evaluation` scores by one. No I/O, no
clock, no SQL.
"""
