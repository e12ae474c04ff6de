"""A run as one file that anybody can compute again: docs/bundle.md is its exact form.

`parts` makes a bundle from a contest; `verify` goes through one without a contest, a network or a clock, and judges it
by the functions of `referee.judging.run_case`, as the judge does. Knows nothing of HTTP and SQL.
"""
