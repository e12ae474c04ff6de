"""Driver of the Yokogawa WT300 family: turns values into commands and answers into values. Start with `driver`.

Knows nothing of threads and runs; time is passed in. `setting_commands` holds every setting with its command and check.
"""
