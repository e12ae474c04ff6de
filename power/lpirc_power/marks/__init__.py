"""Marks of a workload: sent, received, listed.

Start with `marking` (the sender), then `marks_listener`. Knows neither readings nor energies.
"""
