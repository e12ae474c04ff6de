"""The record of a recording: what the CSV of readings does not hold, in a JSON file beside it.

Start with `document` (the values), then `record_file` (the files). Knows neither energies nor the command line.
"""
