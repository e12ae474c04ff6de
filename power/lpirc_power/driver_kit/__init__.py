"""Test kit for authors of meter drivers: `python -m lpirc_power.driver_kit MODULE ADDRESS`.

It opens the driver as every program does, measures with it, and says of each demand on a driver whether it holds. It
knows no model of meter. Start with `kit` (the order of the checks); a check is a function of a `Bench`.
"""
