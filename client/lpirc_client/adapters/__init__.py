"""Detectors by name, `onnx:FILE` and `litert:FILE`, with the extras of those names.

Knows nothing of HTTP. Start with `detector`; `boxes` turns what a model's heads give into rows.
"""
