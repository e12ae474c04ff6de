"""The options of `bench`, `validate` and `confinement`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from lpirc_client.harness.model_settings import (
    CHANNELS,
    PREPROCESSINGS,
    PRESETS,
    RULES,
    RUNTIMES,
    TASKS,
    Settings,
)
from lpirc_client.option_types import (
    any_path,
    file_path,
    positive_seconds,
    seconds,
    whole,
)

MOST_THREADS = 1024
LARGEST_LEVEL = 1e6
LEAST_SIGMA = 1e-6


def add_parsers(subparsers: Any) -> None:
    """Add the commands to the command line's subparsers."""
    text = "check a TFLite or ONNX model against the rules of the model tracks"
    about = "Check a model; exit code 1 if it breaks a rule."
    _add_model(subparsers.add_parser("validate", help=text, description=about))
    text = "run a TFLite or ONNX model on images and time it"
    about = "Run a model on a folder of images in a separate process, and time each inference."
    bench = subparsers.add_parser("bench", help=text, description=about)
    _add_model(bench)
    _add_bench(bench)
    text = "report whether models run confined on this machine, and if not, why"
    about = "Report whether models run confined on this machine; exit code 1 if not."
    _add_common(subparsers.add_parser("confinement", help=text, description=about))


def _add_model(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=file_path, help="a TFLite or ONNX file")
    add("--task", choices=TASKS, help="what the model does (default: the track's)")
    add(
        "--track",
        choices=PRESETS,
        help="take task, preprocessing, budget and cool-down from a track",
    )
    add(
        "--runtime",
        choices=RUNTIMES,
        help="the runtime to use (default: chosen by the content of the file, not by its name)",
    )
    text = "the rules for the model's inputs and outputs (default: the track's, else ovic for TFLite, open for ONNX)"
    add("--rules", choices=RULES, help=text)
    text = "xnnpack, none, a LiteRT delegate's library, or an execution provider of ONNX Runtime"
    add("--delegate", metavar="D", help=text)
    text = "threads of the runtime (default 1)"
    add(
        "--threads",
        type=whole(1, MOST_THREADS),
        default=1,
        metavar="N",
        help=text,
    )
    text = "the core to run on (default: with one thread, the last core)"
    add("--core", type=whole(0), metavar="N", help=text)
    text = f"memory in MB for the model, in addition to the runtime's own (default {Settings.memory_mb})"
    add("--memory-mb", type=whole(1), metavar="M", help=text)
    text = f"longest time in seconds to load the model, and for one inference (default {Settings.timeout_s:g})"
    add("--timeout-s", type=positive_seconds, metavar="S", help=text)
    text = "refuse to run the model where it cannot be confined"
    add("--confined", action="store_true", help=text)
    _add_common(parser)


def _add_common(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--json", action="store_true", help="print one JSON document on stdout")
    add("--parent", type=whole(1), metavar="PID", help="end when process PID ends")


def _add_bench(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--images",
        type=any_path,
        required=True,
        metavar="DIR",
        help="a test-set folder, or a folder of images",
    )
    add(
        "--preprocessing",
        choices=PREPROCESSINGS,
        help="how images are scaled (default: resize for detection, else central-crop)",
    )
    text = "a float32 input is (level - mean) / sigma; give one number, or three in the order of --channels"
    add(
        "--mean",
        type=three(-LARGEST_LEVEL),
        metavar="M",
        help=f"mean {text} (default 0)",
    )
    add(
        "--sigma",
        type=three(LEAST_SIGMA),
        metavar="S",
        help=f"sigma {text} (default 1)",
    )
    add(
        "--channels",
        choices=CHANNELS,
        help="order of the model's channels (default RGB)",
    )
    text = "stop when the counted inferences have taken S seconds (default: never)"
    add("--budget-s", type=positive_seconds, metavar="S", help=text)
    add("--limit", type=whole(1), metavar="N", help="use only the first N images")
    text = f"make at most R passes, fewer if the mean is stable earlier (default {Settings.repeats})"
    add("--repeats", type=whole(1), metavar="R", help=text)
    add(
        "--cooldown-s",
        type=seconds,
        metavar="S",
        help="pause for S seconds between the passes (default 0)",
    )
    text = "at the end, repeat the last input for S seconds, so that a meter can measure the energy"
    add("--energy-loop-s", type=positive_seconds, metavar="S", help=text)
    add(
        "--out", type=any_path, metavar="FILE", help="write the result document to FILE"
    )
    text = "show progress on stderr (auto: only on a terminal)"
    add("--progress", choices=("auto", "lines", "none"), default="auto", help=text)


def three(least: float) -> Callable[[str], tuple[float, ...]]:
    """Return an option type: one number for all channels, or three with commas, each from `least` to a million."""

    def parse(text: str) -> tuple[float, ...]:
        values = tuple(map(float, text.split(",")))
        if len(values) not in (1, 3) or not all(
            least <= value <= LARGEST_LEVEL for value in values
        ):
            raise ValueError
        return values * (3 // len(values))

    parse.__name__ = "number, or three numbers separated by commas,"  # argparse says: invalid ... value
    return parse
