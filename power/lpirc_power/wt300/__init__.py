"""The driver of the Yokogawa WT300 family: values to commands and back. Start with `driver`.

Knows nothing of threads and runs; time is handed in. `setting_commands` has every setting with its command and its
check.
"""
