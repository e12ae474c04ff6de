"""The command `meter`, with one file per subcommand, and its error boundary.

Knows nothing of contests. Start with `main`.
"""

try:
    from lpirc_power.cli.main import main
except KeyboardInterrupt:  # Ctrl-C while the program is still being loaded
    raise SystemExit(130) from None

__all__ = ["main"]
