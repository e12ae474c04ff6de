"""The command `meter` as `python -m power`: how a simulator is started without knowing where scripts lie."""

from power.cli import main

main()
