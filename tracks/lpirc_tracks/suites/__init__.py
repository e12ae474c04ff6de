"""Suites of many (model, implementation) tests: the plan, the run, and the tables of tests and FLOPs.

Start with `suite_run`. The scores themselves are a rule: `lpirc_tracks.rules.aiotbench`.
"""
