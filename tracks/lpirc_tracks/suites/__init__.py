"""Suites of many (model, implementation) tests: published models, plan, what each test lacks, run, and tables.

Start with `suite_run`; what a published suite consists of is in `aiotbench_models` and `implementations`. The scores
themselves are a rule: `lpirc_tracks.rules.aiotbench`.
"""
