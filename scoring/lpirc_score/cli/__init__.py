"""The command `lpirc-score`: scores detections against a ground truth. Start with `score_command`; `program` starts it.

The referee's commands use `score_options` and `terminal_tables`, too, so nothing here is imported before it is needed.
"""


def main() -> None:
    """Run the command `lpirc-score`."""
    from lpirc_score.cli.program import main as command

    command()
