"""The command `meter` as `python -m lpirc_power`: how a simulator is started without knowing where scripts lie."""

from lpirc_power.cli import main

main()
