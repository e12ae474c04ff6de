"""The 18 models of AIoTBench as they are published: six networks in three frameworks. Pure.

Sources, and nothing else: the paper (Luo and others, "Comparison and Benchmarking of AI Models and Frameworks on Mobile
Devices", arXiv 2005.05085) for networks, FLOPs, crop and accuracies (table VI); the code and the read-me of the
benchmark's app (github.com/BenchCouncil/AIoTBench) for shapes of inputs, the side of Inception v3, levels, and where
the files are. What neither says has no value here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

PAPER = "arXiv 2005.05085"
APP = "https://github.com/BenchCouncil/AIoTBench"
ARCHIVE = "20201203_model_6_dataset_100x5.zip"
"""The archive of models and images that the app downloads; its checksum is published nowhere."""
MFLOPS = {
    "resnet50": 3800,
    "inception_v3": 5000,
    "densenet121": 2800,
    "squeezenet": 833,
    "mobilenet_v2": 300,
    "mnasnet": 315,
}
"""Of one image, by network, in the order of the paper."""
SIDES = {"inception_v3": 299}
"""Of the input, in pixels."""


@dataclass(frozen=True)
class Levels:
    """The input is (level - mean) / sigma of levels of 0 to 255, in the order of `channels`."""

    channels: str
    mean: tuple[float, ...]
    sigma: tuple[float, ...]


@dataclass(frozen=True)
class Framework:
    """A framework with the implementations in which its models are tested, and the shape of their inputs.

    `accuracies` are the top-1 accuracies in percent on four of the five phones, in the order of MFLOPS.
    """

    name: str
    implementations: tuple[str, ...]
    layout: str
    accuracies: tuple[float, ...]


@dataclass(frozen=True)
class PublishedModel:
    """A row. `side` and `levels` are None where they are not published."""

    model: str
    framework: Framework
    mflops: int
    accuracy_percent: float
    side: int | None
    levels: Levels | None


FRAMEWORKS = (
    Framework(
        "tflite",
        ("tflite_cpu", "tflite_nnapi"),
        "NHWC",
        (72.5, 78.1, 72.82, 50.26, 70.56, 72.08),
    ),
    Framework(
        "caffe2",
        ("caffe2",),
        "NCHW",
        (75.16, 79.06, 74.66, 56.86, 71.78, 72.18),
    ),
    Framework(
        "pytorch_mobile",
        ("pytorch_mobile",),
        "NCHW",
        (74.94, 77.82, 74.66, 56.94, 70.54, 72.18),
    ),
)

TORCHVISION = Levels("RGB", (123.675, 116.28, 103.53), (58.395, 57.12, 57.375))
"""0.485, 0.456, 0.406 and 0.229, 0.224, 0.225 of 255: the app takes them for every model of PyTorch."""
LEVELS = {
    ("caffe2", "inception_v3"): Levels("BGR", (0.0,), (255.0,)),
    ("tflite", "inception_v3"): Levels("RGB", (127.5,), (127.5,)),
}
"""Of the example in the app's read-me."""


def published_models() -> Iterator[PublishedModel]:
    """Yield the 18 rows."""
    for framework in FRAMEWORKS:
        for (model, mflops), accuracy in zip(
            MFLOPS.items(), framework.accuracies, strict=True
        ):
            levels = LEVELS.get((framework.name, model))
            if framework.name == "pytorch_mobile":
                levels = TORCHVISION
            yield PublishedModel(
                model, framework, mflops, accuracy, SIDES.get(model), levels
            )
