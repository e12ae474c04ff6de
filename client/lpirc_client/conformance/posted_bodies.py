"""The bodies that the checks of a referee post: rows of boxes, or answers of the contest's task."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any, Mapping

from lpirc_client.answers import ANSWERS_PATH
from lpirc_client.rows import JSON_TYPE
from lpirc_client.wire import Login

ROWS_PATH = "/v1/detections"
FORM_ROW = "image_name=%s&CLASS_ID=%s&confidence=%s&xmin=%s&ymin=%s&xmax=%s&ymax=%s"
LARGEST_BODY_BYTES = 4 * 2**20
NO_IMAGES = b"[]"
"""A body of no rows, or of no answers in a task that takes JSON."""

BUILT_IN = ("classification", "instances", "segmentation")


@dataclass(frozen=True)
class Bodies:
    """What is posted in a contest of boxes, or of another `task` as the log-in tells it.

    `path` takes it, `other_path` refuses it.
    """

    task: Mapping[str, Any] | None = None

    @property
    def path(self) -> str:
        """Return the path that takes the bodies."""
        return ROWS_PATH if self.task is None else ANSWERS_PATH

    @property
    def other_path(self) -> str:
        """Return the path of another task, which refuses them with `other-task`."""
        return ANSWERS_PATH if self.task is None else ROWS_PATH

    @property
    def largest_bytes(self) -> int:
        """Return the size of the largest body that is taken."""
        return (
            LARGEST_BODY_BYTES
            if self.task is None
            else int(self.task["largest_body_bytes"])
        )

    @property
    def other_type(self) -> str:
        """Return a content type that is not supported."""
        return "image/png" if self.task is None else "application/x-lpirc-check"

    @property
    def refusal(self) -> str:
        """Return the status and code for `bad`."""
        return (
            "422 bad-rows" if self.task is None else "422 bad-answers or 400 bad-json"
        )

    @property
    def may_be_refused(self) -> str:
        """Return that a plug-in's task may refuse what is posted, since none of its answers are known; else nothing."""
        if self.task is None or self.task["name"] in BUILT_IN:
            return ""
        name = self.task["name"]
        answers = self.task.get("answers", "answers")
        return f"the task {name} is a plug-in whose {answers} are not known here: only an empty list was posted"

    @property
    def why_not(self) -> str:
        """Return why no body can be posted, or an empty text."""
        if self.task is None or JSON_TYPE in self.task["content_types"]:
            return ""
        kinds = " and ".join(self.task["content_types"])
        return f"the contest's task {self.task['name']} takes {kinds} and no JSON, which this check would post"

    def good(self, run: Login) -> dict[str, tuple[bytes, int]]:
        """Return a body of each content type that is posted, with the number of rows or answers that it has."""
        category = run.categories[0].id if run.categories else 1
        if self.task is None:
            row = [1, category, 0.5, 1, 1, 5, 5]
            return {
                JSON_TYPE: (json.dumps([row]).encode(), 1),
                "text/plain": (" ".join(map(str, row)).encode(), 1),
                "application/x-www-form-urlencoded": (
                    (FORM_ROW % tuple(row)).encode(),
                    1,
                ),
                "application/octet-stream": (struct.pack("<7f", *row), 1),
            }
        if self.task["name"] == "classification":
            answer = {"image": 1, "classes": [category]}
            return {JSON_TYPE: (json.dumps([answer]).encode(), 1)}
        return {JSON_TYPE: (NO_IMAGES, 0)}

    def bad(self, run: Login) -> bytes:
        """Return a body with something for an image that the run does not have; rows have it in line 2."""
        number = run.images + 1
        if self.task is not None:
            return json.dumps([{"image": number}]).encode()
        category = run.categories[0].id
        rows = [[image, category, 0.5, 1, 1, 5, 5] for image in (1, number)]
        return json.dumps(rows).encode()
