"""The names that the command line knows, and what the tracks set: nothing here needs the extra."""

from __future__ import annotations

from dataclasses import dataclass

TASKS = ("classification", "detection")
PREPROCESSINGS = ("resize", "central-crop", "central-square")
USUAL_PREPROCESSING = {"classification": "central-crop", "detection": "resize"}


@dataclass(frozen=True)
class Settings:
    """How a model is run. `core` None: where the system puts it; `budget_s` None: all images."""

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


@dataclass(frozen=True)
class Preset:
    """What a track prescribes; `image_budget_s` is the part that an image adds to the budget; None: all images."""

    task: str
    preprocessing: str
    image_budget_s: float | None = None
    cooldown_s: float = 0.0


OVIC_IMAGE_S = 0.030
"""20,000 images in ten minutes."""

PRESETS = {
    "ovic-detection": Preset("detection", "resize", OVIC_IMAGE_S),
    "ovic-classification": Preset("classification", "central-crop", OVIC_IMAGE_S),
    "lpirc2018-track1": Preset("classification", "central-crop", OVIC_IMAGE_S),
    "aiotbench": Preset("classification", "central-square", cooldown_s=300.0),
}
