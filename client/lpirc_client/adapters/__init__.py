"""The detectors `onnx:FILE` and `litert:FILE`; each needs the extra of that name.

Independent of HTTP. Start with `detector`; `boxes` turns the outputs of a model's heads into rows.
"""
