"""Comparison of two measurements: which energy is larger, and how sure that is.

`attempts` reads the files of both sides, `comparing` compares them, `ratio` computes, `comparison_report` says it.
"""
