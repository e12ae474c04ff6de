"""A run as one file that anybody can recompute; docs/bundle.md defines its exact form.

`bundle_parts` makes a bundle from a contest. `bundle_verification` checks a bundle without contest, network or clock,
and judges its run with the functions of `referee.judging.run_case`, as the judge does. This package knows nothing of
HTTP and SQL.
"""
