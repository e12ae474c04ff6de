"""Text and any path name a file; what is neither is refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import (
    TestSet,
    TestSetError,
    load_test_set,
    read_class_truth,
    read_ground_truth,
    read_instances,
    read_label_maps,
    synthesize,
)
from lpirc_testsets.image_import import import_images


def test_a_set_is_made_loaded_and_read_by_its_name_as_text(tmp_path: Path) -> None:
    name = str(tmp_path / "set")
    made = synthesize(name, 2)
    assert load_test_set(name) == made
    assert made.folder == tmp_path / "set"
    assert read_ground_truth(name).image_ids.tolist() == [1, 2]
    photographs = import_images(f"{name}/images", str(tmp_path / "photographs"))
    assert len(photographs.images) == 2


@pytest.mark.parametrize("wrong", [None, 5, b"set", "", "a\0b", ["set"]])
@pytest.mark.parametrize(
    "function",
    [
        load_test_set,
        read_ground_truth,
        lambda name: synthesize(name, 1),
        lambda name: import_images(name, "set"),
    ],
)
def test_what_names_no_file_is_shown(
    function: Callable[[Any], object], wrong: object
) -> None:
    with pytest.raises(TestSetError, match="was given as file or folder") as refused:
        function(wrong)
    assert refused.value.code == "bad-argument"


@pytest.mark.parametrize("read", [read_class_truth, read_label_maps, read_instances])
def test_a_folder_in_place_of_its_set_is_refused_by_what_loads_it(
    read: Callable[[TestSet], object],
) -> None:
    with pytest.raises(TestSetError, match=r"'set' .*; load_test_set makes one"):
        read("set")  # type: ignore[arg-type]
