"""The command `referee`."""

from referee.cli.main import main

__all__ = ["main"]
