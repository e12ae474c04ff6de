"""Metrics: detections and ground truth as columns in, AP and mAP out; pure functions on numpy arrays.

No I/O, no clock, no SQL. Start with `evaluation`; `rules` has the metrics, `matching` the boxes.
"""
