"""Analyses beyond the mAP: kinds of errors, curves, intervals, and how many images it takes to tell entries apart.

Pure functions on numpy arrays, on top of `metrics`. Start with `interval` or `error_types`.
"""
