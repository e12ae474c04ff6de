"""The command `meter`."""

from power.cli.main import main

__all__ = ["main"]
