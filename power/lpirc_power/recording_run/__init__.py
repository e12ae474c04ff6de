"""A recording from arming the meter to restoring its settings, its files, and the program that it waits for.

Knows nothing of the command line. Start with `single_run`.
"""
