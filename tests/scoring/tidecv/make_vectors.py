"""Write vectors.json: random sets, and what tidecv 1.0.1 finds in them. Run it where tidecv is installed.

It is in no lock file, since it needs OpenCV, pandas and seaborn:

    pip install --no-deps tidecv==1.0.1
    pip install numpy pycocotools opencv-python-headless matplotlib pandas seaborn appdirs
    python make_vectors.py

All confidences of a set differ: where they are equal, tidecv ranks a mended set in another order than the unmended one.
"""

import json
import random
from pathlib import Path

from tidecv import TIDE, Data

SETS = 36

# Overlaps of exactly 0.5 and 0.1: with an object, one found already, one of another category, and a crowd.
EDGES = (
    [
        [1, 1, 0, 0, 10, 10, 0],
        [1, 2, 50, 0, 10, 10, 0],
        [1, 1, 0, 50, 20, 20, 1],
        [2, 1, 0, 0, 10, 10, 0],
    ],
    [
        [1, 1, 0.9, 0, 0, 10, 5],
        [1, 1, 0.8, 0, 5, 10, 5],
        [1, 1, 0.7, 50, 0, 10, 5],
        [1, 1, 0.6, 10, 50, 20, 20],
        [1, 1, 0.5, 9, 50, 20, 20],
        [2, 1, 0.4, 0, 0, 10, 1],
        [2, 2, 0.3, 0, 0, 10, 1],
        [2, 1, 0.2, 0, 0, 10, 6],
    ],
)


def random_box(rng):
    return [
        rng.randint(0, 60),
        rng.randint(0, 60),
        rng.randint(4, 40),
        rng.randint(4, 40),
    ]


def near(rng, box):
    return [round(value + rng.gauss(0, 3), 1) for value in box[:2]] + [
        round(max(1, value + rng.gauss(0, 4)), 1) for value in box[2:]
    ]


def random_set(seed):
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    categories = rng.randint(1, 5)
    images = rng.randint(1, 6)
    crowd_share = rng.choice([0, 0, 0.15])
    objects = []
    detections = []
    for image in range(1, images + 1):
        for _ in range(rng.randint(0, 6)):
            crowd = rng.random() < crowd_share
            objects.append(
                [image, rng.randint(1, categories), *random_box(rng), int(crowd)]
            )
    for image in range(1, images + 1):
        here = [one for one in objects if one[0] == image]
        for _ in range(rng.randint(0, 14)):
            if here and rng.random() < 0.7:
                _, category, *box, _ = rng.choice(here)
                # Whole pixels too: overlaps of exactly 0.5.
                box = (
                    near(rng, box)
                    if rng.random() < 0.8
                    else [*box[:3], box[3] * rng.choice([0.5, 1, 2])]
                )
                category = (
                    category if rng.random() < 0.7 else rng.randint(1, categories)
                )
            else:
                category = rng.randint(1, categories + 1)
                box = random_box(rng)
            detections.append([image, category, *box])
    confidences = rng.sample(range(1, 10**5), len(detections))
    return objects, [
        [*row[:2], value / 10**5, *row[2:]]
        for row, value in zip(detections, confidences, strict=True)
    ]


def answer(objects, detections, iou):
    truth = Data("truth", max_dets=10**6)
    found = Data("found")
    for image, category, *box, crowd in objects:
        add = truth.add_ignore_region if crowd else truth.add_ground_truth
        add(image, category, box)
    for image, category, confidence, *box in detections:
        found.add_detection(image, category, confidence, box)
        # Tidecv looks only at the images of the ground truth.
        truth.add_image(
            image,
            "",
        )
    tide = TIDE(pos_threshold=iou)
    run = tide.evaluate(truth, found)
    main = tide.get_main_errors()["found"]
    special = tide.get_special_errors()["found"]
    counts = {error.short_name: count for error, count in run.count_errors().items()}
    return {
        "ap": run.ap,
        "gains": main | special,
        "counts": counts,
    }


def main():
    sets = []
    for seed in range(SETS):
        objects, detections = random_set(seed) if seed else EDGES
        iou = 0.75 if seed % 5 == 4 else 0.5
        try:
            answered = answer(objects, detections, iou)
        except ZeroDivisionError:  # of tidecv, where a mended set is empty
            continue
        sets.append(
            {
                "iou": iou,
                "objects": objects,
                "detections": detections,
            }
            | answered
        )
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in sets)
    Path(__file__).with_name("vectors.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
