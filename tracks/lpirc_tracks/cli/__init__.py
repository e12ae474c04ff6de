"""The commands of model tracks in the form that `referee` lists; each is imported when it is called.

Knows neither rules nor SQL. Start with `model_command`.
"""

from referee.cli.own_commands import LateCommand

DEVICE = LateCommand(
    "lpirc_tracks.cli.device_command:device",
    "Register, list and remove devices that measure models.",
)
FRONTIER = LateCommand(
    "lpirc_tracks.cli.frontier_command:frontier",
    "Print the accuracy that a frontier expects at a latency.",
)
MODEL = LateCommand(
    "lpirc_tracks.cli.model_command:model",
    "Model tracks: bench, submit and withdraw models; publish boards.",
)
SUITE = LateCommand(
    "lpirc_tracks.cli.suite_command:suite",
    "AIoTBench: run a suite of many models, and score its table.",
)
