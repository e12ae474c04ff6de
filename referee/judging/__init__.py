"""Turns stored rows into a published score: the judge, a run's checks, its score's uncertainty, the results.

Start with `judge`, then `standings`, which every page, command and export shows. `run_checks` and `ranking` are pure.
`provisional_scores` runs in a process beside the server; `stop_regret` finds the best moment to have stopped. Knows
nothing of HTTP, and never changes how a run was recorded.
"""
