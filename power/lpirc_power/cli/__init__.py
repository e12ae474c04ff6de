"""The command `meter`, with one file per subcommand, and its error boundary.

Knows nothing of contests. Start with `main`.
"""

import sys

try:
    from lpirc_power.cli.main import main
except KeyboardInterrupt:  # Ctrl-C while the program is still being loaded
    sys.stderr.write("meter: Ended by Ctrl-C.\n")
    raise SystemExit(130) from None

__all__ = ["main"]
