"""Metrics: detections and ground truth as columns in, AP and mAP out; pure functions on numpy arrays.

A module for each family that is published: `lpirc`, `ilsvrc_det`, `voc`, `coco` (and `tidecv`, for errors). Those of
one IoU threshold differ in the parts of a `Rule` (`metric_kinds`) and share `groups`, `matching`, `one_threshold` and
`average_precision`. `offered` finds a metric by name, `evaluation` scores by it. No I/O, no clock, no SQL.
"""
