"""The device harness: checks a model, runs it on images in a process of its own and times each inference.

It takes TFLite and ONNX models and makes a result document; it knows neither ground truth nor referee. It needs the
extra "models". Start with `harness_commands` for `bench` and `validate`, with `passes` for the measurement, with
`model_process` and `child` for the model's process.
"""
