"""From stored rows to a published score: the judge, the checks of a run, the uncertainty of its score, the results.

Start with `judge`, then `standings`, which every page, command and export shows. `run_checks` and `ranking` are pure.
`provisional_scores` runs in a process beside the server; `stop_regret` finds the best moment to have stopped.
Knows nothing of HTTP, and never changes how a run was recorded.
"""
