"""The rules, one a file: every module here with a tuple `TRACKS` is part of the registry in `lpirc_tracks`.

A rule is a frozen value that judges figures. It knows no files, clocks or network. Start with `dac_sdc`, the smallest
rule that ranks a whole field.
"""
