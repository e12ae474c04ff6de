"""The command `lpirc-score`: scores detections against a ground truth. Start with `score_command`; `program` starts it.

The referee's commands use `score_options` and `terminal_tables`, too, so nothing here is imported before it is needed.
"""

import sys


def main() -> None:
    """Run the command `lpirc-score`."""
    try:
        from lpirc_score.cli.program import main as command
    except KeyboardInterrupt:  # while the program is still being loaded
        sys.stderr.write("lpirc-score: Ended by Ctrl-C.\n")
        raise SystemExit(130) from None

    command()
