"""The fast reader of objects gives what the reader of each object gives, and leaves all else to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lpirc_testsets import Problems, TestSetError, coco_reader
from lpirc_testsets.plain_coco import read_plain_coco

values = st.one_of(
    st.integers(0, 3).map(str),
    st.floats(0, 99).map(repr),
    st.sampled_from(
        [
            "-0",
            "-0.0",
            "-1",
            "1e16",
            "1e400",
            "NaN",
            "null",
            "true",
            "1.0",
            '"1"',
            "9" * 4301,
            "2" * 30,
        ]
    ),
)
mostly = st.integers(1, 3).map(str)
ids = st.one_of(mostly, mostly, mostly, values)
boxes = st.lists(values, min_size=4, max_size=4).map(
    lambda four: f"[{', '.join(four)}]"
)
flags = st.one_of(st.sampled_from(["0", "1"]), values)
extras = st.sampled_from(
    ["[[1, 2]]", '{"counts": "},{"}', '"\\ud800"', "1e999", "9" * 4301]
)
optional = st.fixed_dictionaries(
    {},
    optional={
        "id": ids,
        "area": values,
        "iscrowd": flags,
        "difficult": flags,
        "segmentation": extras,
    },
)
required = st.fixed_dictionaries(
    {
        "image_id": ids,
        "category_id": ids,
        "bbox": boxes,
    }
)
objects = st.tuples(required, optional).map(
    lambda both: (
        "{"
        + ", ".join(f'"{key}": {value}' for key, value in (both[0] | both[1]).items())
        + "}"
    )
)


def document(annotations: list[str], size: str = "9") -> str:
    images = ", ".join(
        f'{{"id": {id_}, "width": {size}, "height": 9}}' for id_ in (1, 2, 3)
    )
    categories = ", ".join(f'{{"id": {id_}, "name": "c{id_}"}}' for id_ in (1, 2, 3))
    return f'{{"images": [{images}], "categories": [{categories}], "annotations": [{", ".join(annotations)}]}}'


def outcome(text: str) -> object:
    problems = Problems()
    try:
        read = coco_reader.parse_coco(Path("truth.json"), problems, text=text)
        problems.raise_if_any("ground-truth-invalid")
    except TestSetError as error:
        return error.sentence, error.problems
    columns = vars(read.ground_truth).values()
    arrays = [
        (each.dtype, each.shape, each.tobytes())
        for each in columns
        if isinstance(each, np.ndarray)
    ]
    return (
        arrays,
        [each for each in columns if not isinstance(each, np.ndarray)],
        read.sizes,
    )


PLAIN = '"image_id": 1, "category_id": 2, "bbox": [1, 2.5, 3, 0.1]'


@given(st.lists(objects, max_size=4).map(document))
@example(document([f'{{{PLAIN}, "id": 1}}', f'{{{PLAIN}, "id": 1}}']))
@example(document([f'{{{PLAIN}, "x": {"9" * 4301}}}']))
@example(document([f"{{{PLAIN}}}"], size="2" * 30))
@example(document([f'{{{PLAIN.replace("[1, 2.5, 3", "[1, 2.5, 1e300")}, "area": 5}}']))
def test_objects_are_read_fast_as_they_are_one_by_one(text: str) -> None:
    read = outcome(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coco_reader, "read_plain_coco", lambda _: None)
        assert read == outcome(text)


def test_objects_of_common_forms_are_read_the_fast_way() -> None:
    more = '"id": 1, "area": 5.5, "iscrowd": 0, "segmentation": [[1, 2]]'
    read = read_plain_coco(document([f"{{{PLAIN}}}", f"{{{PLAIN}, {more}}}"]))
    assert read is not None
    assert read.is_good([1, 2, 3], [1, 2, 3])
    assert not read.is_good([2, 3], [1, 2, 3])
    assert not read.is_good([1, 2, 3], [1, 3])
    assert read.measures.tolist() == [
        [1, 2.5, 3, 0.1, 3 * 0.1, 0, 0],
        [1, 2.5, 3, 0.1, 5.5, 0, 0],
    ]
