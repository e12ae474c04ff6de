"""The options of `bench` and `validate`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lpirc_client.arguments import count, number, seconds, some_seconds, threads
from lpirc_client.harness.options import PREPROCESSINGS, PRESETS, TASKS, Settings

USUAL = Settings("", "")


def add_parsers(commands: Any) -> None:
    """Add the two to the command line's subcommands."""
    validate = commands.add_parser(
        "validate",
        help="check a TFLite model against the rules of the model tracks",
        description="Check a model; exit code 1 when it is refused.",
        allow_abbrev=False,
    )
    _add_model(validate)
    bench = commands.add_parser(
        "bench",
        help="run a TFLite model on images and time it",
        description="Run a model on a folder of images, in a process of its own, and time each inference.",
        allow_abbrev=False,
    )
    _add_model(bench)
    _add_bench(bench)


def _add_model(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=Path, help="a .tflite file")
    add("--task", choices=TASKS, help="what the model does (default: the track's)")
    add("--track", choices=PRESETS, help="take task, preprocessing, budget and cool-down from a track")
    add("--threads", type=threads, default=1, metavar="N", help="threads of the runtime (default 1)")
    add(
        "--core",
        type=number,
        metavar="N",
        help="the core to stay on (default: the last one, with one thread)",
    )
    add(
        "--memory-mb",
        type=count,
        metavar="M",
        help=f"memory for the model beside the runtime (default {USUAL.memory_mb})",
    )
    add(
        "--timeout-s",
        type=some_seconds,
        metavar="S",
        help=f"longest time to load it, and for one inference (default {USUAL.timeout_s:g})",
    )
    add("--json", action="store_true", help="one JSON document on stdout")
    add("--parent", type=count, metavar="PID", help="end when this process is gone")


def _add_bench(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--images", type=Path, required=True, metavar="DIR", help="a test-set folder, or a folder of images")
    add("--preprocessing", choices=PREPROCESSINGS, help="default: central-crop, for detection resize")
    add(
        "--budget-s",
        type=some_seconds,
        metavar="S",
        help="stop when the counted inferences took so long (default: never)",
    )
    add("--limit", type=count, metavar="N", help="only the first N images")
    add(
        "--repeats",
        type=count,
        metavar="R",
        help=f"at most so many passes, until the mean is stable (default {USUAL.repeats})",
    )
    add("--cooldown-s", type=seconds, metavar="S", help="pause between the passes (default 0)")
    add(
        "--energy-loop-s",
        type=some_seconds,
        metavar="S",
        help="at the end run the last input again and again for S seconds, for a meter",
    )
    add("--out", type=Path, metavar="FILE", help="write the result document there")
    add(
        "--progress",
        choices=("auto", "lines", "none"),
        default="auto",
        help="how far it is, on stderr; auto: on a terminal",
    )
