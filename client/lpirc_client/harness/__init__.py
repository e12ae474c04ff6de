"""The device harness: a TFLite model, checked and run in a process of its own, answers images and is timed.

It knows no ground truth and no referee; what it makes is a result document. It needs the extra "models".
"""
