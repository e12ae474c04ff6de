"""From stored rows to a published score: the judge, the checks of a run, the uncertainty of its score, the results.

Start with `judge`, then `results`: what every page, command and export shows. `checks` and `leaderboard` are pure;
`live` is a process beside the server that publishes provisional scores; `regret` finds the best moment to have stopped.
Knows nothing of HTTP, and never changes how a run was recorded.
"""
