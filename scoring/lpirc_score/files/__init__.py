"""Files that the program writes and reads for people: atomic writes, tables, plots, curves.

Knows nothing of contests or runs.
"""
