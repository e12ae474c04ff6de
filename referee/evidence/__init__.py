"""A run as one file that anybody can compute again: docs/bundle.md is its exact form.

`bundle_parts` makes a bundle from a contest. `bundle_verification` goes through one without contest, network or clock,
and judges it by the functions of `referee.judging.run_case`, as the judge does. Knows nothing of HTTP and SQL.
"""
