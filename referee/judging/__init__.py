"""From stored rows to a published score: the judge, a run's checks, the score's uncertainty, and the results.

Start with `judge`, then `standings`, which every page, command and export shows. `run_checks` and `ranking` are pure.
`provisional_scores` runs in a separate process; `stop_regret` finds the best moment at which a run could have
stopped. This package knows nothing of HTTP and never changes how a run was recorded.
"""
