"""The command `meter` as `python -m lpirc_power`: starts a simulator without knowing where scripts are installed."""

from lpirc_power.cli import main

main()
