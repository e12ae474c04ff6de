"""The rules, one per file, each an entry of the group `lpirc.tracks` in `tracks/pyproject.toml`.

A rule is an immutable object that computes a track's value from measured numbers. It uses no files, clocks or network.
Start with `dac_sdc`, the smallest rule that ranks entries relative to each other.
"""
