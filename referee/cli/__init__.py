"""The command `referee`, with one file for each command, and its error handling. No rules and no SQL here.

Start with `main`, whose table names the file of each command. Options of several commands are in `shared_options`.
"""

from referee.cli.main import main

__all__ = ["main"]
