"""The command `meter` as `python -m lpirc_power`, for callers that do not know where scripts are installed."""

from lpirc_power.cli import main

main()
