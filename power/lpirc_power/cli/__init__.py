"""The command `meter`, one command a file, and its error boundary.

Knows nothing of contests. Start with `main`.
"""

try:
    from lpirc_power.cli.main import main
except KeyboardInterrupt:  # Ctrl-C while the program is still being loaded
    raise SystemExit(130) from None

__all__ = ["main"]
