"""The command `referee`, with one file for each command, and its error handling. No rules and no SQL here.

Start with `main`, whose table names the file of each command. Options of several commands are in `shared_options`.
"""

import sys

try:
    from referee.cli.main import main
except KeyboardInterrupt:  # Ctrl-C while the program is still being loaded
    sys.stderr.write("referee: Ended by Ctrl-C.\n")
    raise SystemExit(130) from None

__all__ = ["main"]
