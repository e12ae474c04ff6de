"""The rules, one per file, each an entry of the group `lpirc.tracks` in `tracks/pyproject.toml`.

A rule is a frozen value that judges figures. It uses no files, clocks or network. Start with `dac_sdc`, the smallest
rule that ranks entries relative to each other.
"""
