"""Files that the program reads and writes for users: atomic writes, tables, plots, curves.

Knows nothing of contests or runs.
"""
