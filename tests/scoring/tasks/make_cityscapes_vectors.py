"""Write cityscapes_vectors.json: random label maps, and what cityscapesScripts 2.3.0 finds in them.

It is in no lock file. Run it where cityscapesscripts is installed; a number makes as many sets, a name another file:

    pip install cityscapesscripts==2.3.0
    python make_cityscapes_vectors.py [SETS [FILE]]
"""

import json
import random
import sys
import tempfile
from pathlib import Path

import numpy as np
from cityscapesscripts.evaluation import evalPixelLevelSemanticLabeling as official  # noqa: N813
from cityscapesscripts.helpers.labels import id2label
from PIL import Image

SETS = 16
COUNTED = [
    id_ for id_, label in id2label.items() if id_ >= 0 and not label.ignoreInEval
]
VOID = [id_ for id_, label in id2label.items() if id_ >= 0 and label.ignoreInEval]


def random_maps(rng):
    """A few images of one size: patches of some labels, void ones too, and what was predicted for them."""
    height = rng.randint(2, 9)
    width = rng.randint(2, 9)
    true_ids = rng.sample(COUNTED, rng.randint(1, 6)) + rng.sample(VOID, 2)
    wrong_ids = [*rng.sample(COUNTED, 3), 0]
    pixels = range(height * width)
    images = []
    for _ in range(rng.randint(1, 4)):
        share = rng.random()
        true = [rng.choice(true_ids) for _ in pixels]
        predicted = [rng.choice(wrong_ids) for _ in pixels]
        for at in pixels:
            if true[at] in COUNTED and rng.random() < share:
                predicted[at] = true[at]
        images.append({"true": rows(true, width), "predicted": rows(predicted, width)})
    return images


def rows(
    pixels,
    width,
):
    """The pixels as rows of that width."""
    return [
        pixels[at : at + width]
        for at in range(
            0,
            len(pixels),
            width,
        )
    ]


def judged(
    images,
    folder,
):
    """The IoU of each class and their mean, as the program's `evaluateImgLists` computes them."""
    args = official.args
    args.evalInstLevelScore = False
    matrix = official.generateMatrix(args)
    for image in images:
        for name, pixels in image.items():
            path = folder / f"{name}.png"
            Image.fromarray(np.array(pixels, np.uint8)).save(path)
        paths = [str(folder / f"{name}.png") for name in ("predicted", "true")]
        official.evaluatePair(
            *paths,
            matrix,
            {},
            {},
            args,
        )
    scores = {
        label: official.getIouScoreForLabel(
            label,
            matrix,
            args,
        )
        for label in COUNTED
    }
    mean = official.getScoreAverage(scores, args)
    return {
        "iou": {label: value for label, value in scores.items() if value == value},
        "mean": mean if mean == mean else None,
    }


def main():
    """Write as many sets as asked for."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else SETS
    target = Path(__file__).with_name("cityscapes_vectors.json")
    if len(sys.argv) > 2:
        target = Path(sys.argv[2])
    rng = random.Random(31)  # noqa: S311
    made = []
    with tempfile.TemporaryDirectory() as name:
        for _ in range(sets):
            images = random_maps(rng)
            made.append({"images": images, **judged(images, Path(name))})
    document = {
        "source": "cityscapesScripts 2.3.0, evalPixelLevelSemanticLabeling",
        "categories": COUNTED,
        "sets": made,
    }
    target.write_text(json.dumps(document, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
