"""The device harness: checks a model, runs it on images in a separate process and times each inference.

It takes TFLite and ONNX models and writes a result document; it uses neither ground truth nor a referee. It needs the
extra "models". Start with `harness_commands` for `bench` and `validate`, with `passes` for the measurement, with
`model_process` and `child` for the model's process.
"""
