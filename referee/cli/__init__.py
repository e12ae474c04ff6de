"""The command `referee`, one command a file, and its error boundary. Knows neither rules nor SQL.

Start with `main`, whose table names the file of each command; options of several commands are in `shared_options`.
"""

from referee.cli.main import main

__all__ = ["main"]
