"""A page about a recording that is under way, on this machine alone, and its figures for Prometheus.

`live_state` hears of the recording, `live_page` and `metrics` show the state, `server` answers.
"""
