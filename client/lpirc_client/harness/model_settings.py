"""Settings of a model's run: tasks, preprocessings, the presets of tracks, and the options that override them.

Nothing here needs the extra.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields, replace

from lpirc_client.errors import ModelError
from lpirc_client.operating_system import allowed_cores

TASKS = ("classification", "detection")
PREPROCESSINGS = ("resize", "central-crop", "central-square")
RUNTIMES = ("litert", "onnxruntime")
RULES = ("ovic", "open")
CHANNELS = ("RGB", "BGR")
DEFAULT_DELEGATE = "default"
XNNPACK = "xnnpack"
NO_DELEGATE = "none"
CPU_PROVIDER = "CPUExecutionProvider"
DEFAULT_PREPROCESSING = {"classification": "central-crop", "detection": "resize"}


@dataclass(frozen=True)
class Settings:
    """Settings of a model's run.

    `core` None: the system chooses; `budget_s` None: all images; `rules` None: the runtime's rules.
    A float32 input is (level - mean) / sigma, `mean` and `sigma` in the order of `channels`.
    """

    task: str
    preprocessing: str
    threads: int = 1
    core: int | None = None
    budget_s: float | None = None
    memory_mb: int = 2048
    timeout_s: float = 30.0
    repeats: int = 5
    cooldown_s: float = 0.0
    energy_loop_s: float | None = None
    rules: str | None = None
    delegate: str = DEFAULT_DELEGATE
    channels: str = "RGB"
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    sigma: tuple[float, ...] = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Preset:
    """The settings that a track prescribes. `image_budget_s` is the budget per image; None: no budget, all images."""

    task: str
    preprocessing: str
    image_budget_s: float | None = None
    cooldown_s: float = 0.0
    rules: str | None = None


PHONE_IMAGE_S = 0.030
"""Budget per image for 20,000 images in ten minutes."""
DETECTION_IMAGE_S = 0.036
"""Budget per image. OVIC sets none for detection; 1.2 x 30 ms is the longest valid latency."""

PRESETS = {
    "ovic-detection": Preset("detection", "resize", DETECTION_IMAGE_S, rules="ovic"),
    "ovic-classification": Preset(
        "classification", "central-crop", PHONE_IMAGE_S, rules="ovic"
    ),
    "lpirc2018-track1": Preset("classification", "central-crop", PHONE_IMAGE_S),
    "aiotbench": Preset(
        "classification", "central-square", cooldown_s=300.0, rules="open"
    ),
}
OPTIONAL = tuple(
    one.name for one in fields(Settings) if one.name not in ("task", "threads", "core")
)
"""Settings that an option overrides."""


def settings_from(options: argparse.Namespace, images: int) -> Settings:
    """Combine the options with the track's preset for this number of images; an option overrides the preset.

    Raises ModelError `no-task`, `bad-task`, `no-core`, `bad-preprocessing`.
    """
    preset = PRESETS.get(options.track or "")
    task = options.task or (preset.task if preset else None)
    if task is None:
        choices = f"--task {' or '.join(TASKS)}, or --track {' or '.join(PRESETS)}"
        raise ModelError("no-task", f"which task? give {choices}")
    if preset is not None and preset.task != task:
        raise ModelError(
            "bad-task", f"--task {task}: the track {options.track} is for {preset.task}"
        )
    settings = Settings(
        task, DEFAULT_PREPROCESSING[task], options.threads, _core(options)
    )
    if preset is not None:
        budget_s = (
            None if preset.image_budget_s is None else preset.image_budget_s * images
        )
        settings = replace(
            settings, preprocessing=preset.preprocessing, budget_s=budget_s
        )
        settings = replace(settings, cooldown_s=preset.cooldown_s, rules=preset.rules)
    given = {name: getattr(options, name, None) for name in OPTIONAL}
    settings = replace(
        settings, **{name: value for name, value in given.items() if value is not None}
    )
    if task == "detection" and settings.preprocessing != "resize":
        why = "detection needs resize, because box coordinates refer to the whole image"
        raise ModelError(
            "bad-preprocessing", f"--preprocessing {settings.preprocessing}: {why}"
        )
    return settings


def _core(options: argparse.Namespace) -> int | None:
    """Return the core to run on: the given one, or for one thread the last, since core 0 takes most interrupts."""
    cores = allowed_cores()
    if options.core is not None:
        if options.core not in cores:
            what = (
                f"the cores here are {sorted(cores)}"
                if cores
                else "cores cannot be chosen here"
            )
            raise ModelError("no-core", f"--core {options.core}: {what}")
        return int(options.core)
    return max(cores, default=None) if options.threads == 1 else None
