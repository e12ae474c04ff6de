"""Files of measurements: read back, whoever wrote them, and written for other programs.

Start with `any_measurement`. Knows neither pages nor the command line.
"""
