"""Detectors by name, `onnx:FILE` and `litert:FILE`, with the extras of those names. Start with `detector`."""
