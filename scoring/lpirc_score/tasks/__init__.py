"""Tasks beside boxes: what an answer is, how a body carries it, how it is checked and scored.

Start with `task_kinds`.
"""

BOXES = "boxes"
"""The task of contests that name no task: bounding boxes, scored by a metric."""
