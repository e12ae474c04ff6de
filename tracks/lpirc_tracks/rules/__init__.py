"""The rules, one a file, each an entry of the group `lpirc.tracks` in `tracks/pyproject.toml`.

A rule is a frozen value that judges figures. It knows no files, clocks or network. Start with `dac_sdc`, the smallest
rule that ranks a whole field.
"""
