"""The 80 categories of COCO by their ids, which most published detectors report.

Source: https://cocodataset.org/#explore; the ids have gaps, since 11 of 91 planned categories have no objects.
"""

from __future__ import annotations

_GROUPS = {
    1: "person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant",
    13: "stop sign, parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe",
    27: "backpack, umbrella",
    31: "handbag, tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, "
    "skateboard, surfboard, tennis racket, bottle",
    46: "wine glass, cup, fork, knife, spoon, bowl, banana, apple, sandwich, orange, broccoli, carrot, hot dog, "
    "pizza, donut, cake, chair, couch, potted plant, bed",
    67: "dining table",
    70: "toilet",
    72: "tv, laptop, mouse, remote, keyboard, cell phone, microwave, oven, toaster, sink, refrigerator",
    84: "book, clock, vase, scissors, teddy bear, hair drier, toothbrush",
}

COCO_NAMES = {
    id_: name
    for first, names in _GROUPS.items()
    for id_, name in enumerate(names.split(", "), start=first)
}
