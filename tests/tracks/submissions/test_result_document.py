from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest

from lpirc_testsets import TestSet
from lpirc_tracks.submissions.result_document import parse_result, says_same
from referee.errors import RefereeError
from tests.tracks.submissions.model_days import colour_set, packed, result

MODEL = b"a model"


@pytest.fixture(scope="module")
def colours(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    return colour_set(
        tmp_path_factory.mktemp("sets"),
        ("red", 7),
        ("green", 8),
        ("blue", 1000),
    )


def complaint(content: bytes) -> str:
    with pytest.raises(RefereeError) as failure:
        parse_result(content)
    assert failure.value.code == "bad-result"
    assert "\n" not in failure.value.sentence
    assert failure.value.sentence.endswith(".")
    return failure.value.sentence


def detections(
    colours: TestSet,
    *rows: list[Any],
    processed: int = 3,
) -> dict[str, Any]:
    made = result(
        colours,
        MODEL,
        [0] * processed,
        task="detection",
        preprocessing="resize",
    )
    return made | {"predictions": {"rows": list(rows)}}


def test_a_sound_document_is_read(colours: TestSet) -> None:
    document = parse_result(
        packed(
            result(
                colours,
                MODEL,
                [7, 0, 1000],
            )
        )
    )
    assert document.answers == ((1, 7), (2, 0), (3, 1000))
    assert document.rows.shape == (0, 7)
    assert document["latency.mean_ms"] == 2.0
    assert document["device.host"] == "board-7"


def test_detections_become_rows(colours: TestSet) -> None:
    row = [3, 91, 0.5, -1.5, 0, 10, 20]
    document = parse_result(packed(detections(colours, row)))
    assert np.array_equal(document.rows, [row])
    assert parse_result(packed(detections(colours))).rows.shape == (0, 7)


def test_what_it_knows_beyond_this_version_does_no_harm(colours: TestSet) -> None:
    made = result(
        colours,
        MODEL,
        [7, 8, 9],
        unusable={"more": [1]},
        latency__p75_ms="x",
    )
    assert len(parse_result(packed(made)).answers) == 3


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"result_version": 2}, "result_version is 2, this program reads 1"),
        ({"result_version": "1"}, 'a text; write the number without quotation marks: "result_version": 1'),
        ({"result_version": True}, "result_version is True"),
        ({"task": "sorting"}, "task = 'sorting' is not one of detection, classification"),
        ({"task": ["detection"]}, "task = ['detection'] is not one of"),
        ({"preprocessing": None}, "preprocessing = None is not one of"),
        ({"model": "m"}, "model.file is missing"),
        ({"model__file": "a\nb"}, "model.file = 'a\\nb' is not a line of text"),
        ({"model__file": "x" * 2000}, "is not a line of text"),
        ({"images__count": 3.0}, "images.count = 3.0 is not a whole number"),
        ({"images__count": True}, "images.count = True is not a whole number"),
        ({"images__count": 10**400}, "images.count = a huge number is not a whole number"),
        ({"settings__threads": 0}, "settings.threads = 0 is not a whole number from 1"),
        ({"settings__budget_s": "1"}, "settings.budget_s = '1' is not a number"),
        ({"processed": 1}, "processed = 1 is not a whole number from 2"),
        ({"processed": 4}, "processed = 4 is more than images.count = 3"),
        ({"stopped_by": "budget"}, "processed = 3 of 3 images, but stopped_by is 'budget'"),
        ({"latency__mean_ms": 0}, "latency.mean_ms = 0 is not a number from 1e-06"),
        ({"latency__mean_ms": -2.0}, "latency.mean_ms = -2.0 is not a number"),
        ({"latency__mean_ms": True}, "latency.mean_ms = True is not a number"),
        ({"latency__mean_ms": 1.9}, "latency.mean_ms = 1.9 does not lie between the repeat_means_ms"),
        ({"latency__mean_ms": 0.5}, "latency.mean_ms = 0.5 does not lie between min_ms and max_ms"),
        ({"latency__mean_ms": 1e300}, "latency.mean_ms = 1e+300 is not a number"),
        ({"latency__p90_ms": 1.9}, "latency.p50_ms = 2.0 is above latency.p90_ms = 1.9"),
        ({"latency__counted": 3}, "latency.counted = 3 must be 2 to 2"),
        ({"latency__total_s": 0.003}, "latency.total_s = 0.003 is not the time of the first pass, 0.004 s"),
        ({"latency__repeat_means_ms": []}, "repeat_means_ms has 0 means, but there were 1 repeats"),
        ({"latency__repeat_means_ms": [2.0, 2.0]}, "repeat_means_ms has 2 means, but there were 1 repeats"),
        ({"latency__repeat_means_ms": [None]}, "latency.repeat_means_ms[0] = None is not a number"),
        ({"latency__is_stable": 1}, "latency.is_stable = 1 is neither true nor false"),
        ({"device__host": ""}, "device.host = '' is not a line of text"),
        ({"timed__end_monotonic_s": 100.003}, "the interval in `timed` is 0.003 s, less than latency.total_s = 0.004"),
        ({"predictions": {"rows": []}}, "predictions.labels is missing"),
        ({"predictions__labels": 5}, "predictions.labels = 5 is not a list"),
        ({"predictions__labels": [[1, 7, 0.9]]}, "predictions.labels has 1 answers, processed is 3"),
        ({"predictions__labels": [[1, 7, 0.9], [1, 7, 0.9], [2, 7, 0.9]]}, "labels[1]: image 1 is answered twice"),
        ({"predictions__labels": [[1, 7, 0.9], [2, 7, 0.9], [4, 7, 0.9]]}, "image 4 is not a whole number from 1 to 3"),
        ({"predictions__labels": [[1, 7, 0.9], [2, 7, 0.9], [0, 7, 0.9]]}, "image 0 is not a whole number from 1 to 3"),
        ({"predictions__labels": [[1, 1001, 0.9], [2, 7, 1], [3, 7, 1]]}, "index 1001 is not a whole number from 0"),
        ({"predictions__labels": [[1, 7.0, 0.9], [2, 7, 1], [3, 7, 1]]}, "labels[0]: index 7.0 is not a whole number"),
        ({"predictions__labels": [[1, 7, None], [2, 7, 1], [3, 7, 1]]}, "labels[0] = [1, 7, None] is not an image"),
        ({"predictions__labels": [[1, 7], [2, 7, 1], [3, 7, 1]]}, "labels[0] = [1, 7] is not an image"),
        ({"energy": 5}, "energy.meter is missing"),
    ],
)  # fmt: skip
def test_a_fault_is_told_in_one_sentence(
    colours: TestSet,
    changes: dict[str, Any],
    told: str,
) -> None:
    assert told in complaint(
        packed(
            result(
                colours,
                MODEL,
                [7, 8, 9],
                **changes,
            )
        )
    )


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ([1, 1, 0.5, 0, 0, 5], "rows[1] = [1, 1, 0.5, 0, 0, 5] is not seven finite numbers"),
        ([1, 1, 0.5, 0, 0, 5, "5"], "is not seven finite numbers"),
        ([1, 1, True, 0, 0, 5, 5], "is not seven finite numbers"),
        ([1, 1, 0.5, 0, 0, 5, 1e300], "is not seven finite numbers"),
        ("1111111", "is not seven finite numbers"),
        ([4, 1, 0.5, 0, 0, 5, 5], "rows[1]: image 4 is not a whole number from 1 to 3"),
        ([1.5, 1, 0.5, 0, 0, 5, 5], "rows[1]: image 1.5 is not a whole number"),
        ([1, 0, 0.5, 0, 0, 5, 5], "rows[1]: category 0 is not a whole number from 1"),
    ],
)  # fmt: skip
def test_a_bad_detection_is_told_with_its_place(
    colours: TestSet,
    row: object,
    told: str,
) -> None:
    good = [1, 1, 0.5, 0, 0, 5, 5]
    assert told in complaint(
        packed(
            detections(
                colours,
                good,
                row,
            )
        )
    )  # type: ignore[arg-type]


def test_an_image_has_a_hundred_detections_at_most(colours: TestSet) -> None:
    good = [2, 1, 0.5, 0, 0, 5, 5]
    assert len(parse_result(packed(detections(colours, *[good] * 100))).rows) == 100
    assert "image 2 has 101 rows, more than 100" in complaint(
        packed(detections(colours, *[good] * 101))
    )


def test_an_image_beyond_the_budget_has_no_answer(colours: TestSet) -> None:
    made = detections(
        colours,
        [3, 1, 0.5, 0, 0, 5, 5],
        processed=2,
    )
    assert "image 3 is not a whole number from 1 to 2" in complaint(packed(made))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "it is not JSON"),
        (b"\xff\xfe", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[]", "it is not a JSON object"),
        (b"{}", "result_version is missing"),
        (b'{"a": NaN}', "it holds NaN, which is not a JSON number"),
        (b'{"a": -Infinity}', "it holds -Infinity"),
        (b'{"a": ' + b"1" * 5000 + b"}", "it is not JSON"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' is given twice"),
        (b'{"error": {"code": "x", "sentence": "It crashed."}}', "it reports a bench that failed: 'It crashed.'"),
    ],
)  # fmt: skip
def test_what_is_no_document_is_told(content: bytes, told: str) -> None:
    assert told in complaint(content)


def elsewhere(**changes: Any) -> dict[str, Any]:
    """A document of another program."""
    return {
        "elsewhere_version": 1,
        "task": "classification",
        "images": {"count": 3, "sha256": "a"},
        "runtime": "SNPE",
        "device": {"name": "phone"},
        "latency": {
            "mean_ms": 2.0,
            "counted": 100,
            "processor_share": "x",
        },
        "predictions": {"labels": [[1, 7, 1], [3, 8, 1]]},
        "energy": {"inference_wh": "x"},
    } | changes


def test_a_document_of_another_program_says_enough_and_no_more_is_believed() -> None:
    document = parse_result(packed(elsewhere()))
    assert document.is_elsewhere is True
    assert document.answers == ((1, 7), (3, 8))
    assert document["processed"] == 2
    assert document["latency.total_s"] == 0.004
    assert document["device.host"] == "phone"
    assert document["energy"] is None
    assert document.get("latency.processor_share") is None
    row = [3, 91, 0.5, -1.5, 0, 10, 20]
    found = parse_result(
        packed(elsewhere(task="detection", predictions={"rows": [row]}))
    )
    assert found.rows.tolist() == [row]
    assert found["processed"] == 3
    assert says_same(elsewhere(), document.values)
    assert not says_same(
        elsewhere(latency={"mean_ms": 2.5, "counted": 100}),
        document.values,
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"elsewhere_version": 2}, "elsewhere_version is 2, this program reads 1"),
        ({"elsewhere_version": True}, "elsewhere_version is True"),
        ({"task": "sorting"}, "task = 'sorting' is not one of"),
        ({"images": {"count": 3}}, "images.sha256 is missing"),
        ({"images": 3}, "images.count is missing"),
        ({"device": {"host": "phone"}}, "device.name is missing"),
        ({"runtime": ""}, "runtime = '' is not a line of text"),
        ({"latency": {"mean_ms": 0, "counted": 9}}, "latency.mean_ms = 0 is not a number from 1e-06"),
        ({"latency": {"mean_ms": 1e300, "counted": 9}}, "latency.mean_ms = 1e+300 is not a number"),
        ({"latency": {"mean_ms": 2, "counted": 0}}, "latency.counted = 0 is not a whole number from 1"),
        ({"latency": {"mean_ms": float("nan"), "counted": 1}}, "it holds NaN"),
        ({"predictions": {}}, "predictions.labels is missing"),
        ({"predictions": {"labels": 5}}, "predictions.labels = 5 is not a list"),
        ({"predictions": {"labels": []}}, "the number of predictions.labels = 0 is not a whole number from 2"),
        ({"predictions": {"labels": [[1, 7, 1], [1, 7, 1]]}}, "image 1 is answered twice"),
        ({"predictions": {"labels": [[1, 7, 1], [4, 7, 1]]}}, "image 4 is not a whole number from 1 to 3"),
        ({"predictions": {"labels": [[1, 7, 1], [2, 1001, 1]]}}, "index 1001 is not a whole number from 0"),
        ({"task": "detection", "predictions": {"rows": [[4, 1, 1, 0, 0, 5, 5]]}}, "rows[0]: image 4 is not a whole"),
    ],
)  # fmt: skip
def test_a_fault_of_another_programs_document_is_told_in_one_sentence(
    changes: dict[str, Any],
    told: str,
) -> None:
    assert told in complaint(packed(elsewhere(**changes)))


ENERGY = {
    "meter": "YOKOGAWA WT310 C1 F2",
    "official": True,
    "inferences": 1000,
    "loop_s": 2.0,
    "loop_wh": 0.01,
    "inference_wh": 1e-5,
    "inference_j": 0.036,
    "mean_power_w": 18.0,
    "idle_power_w": None,
}


def test_an_energy_must_agree_with_its_parts(colours: TestSet) -> None:
    made = result(
        colours,
        MODEL,
        [7, 8, 9],
        energy=ENERGY,
    )
    assert parse_result(packed(made))["energy.inference_wh"] == 1e-5
    off = complaint(packed(made | {"energy": ENERGY | {"inference_wh": 1e-6}}))
    assert "energy.inference_wh = 1e-06 is not loop_wh / inferences = 1e-05" in off
    assert "energy.meter = None" in complaint(
        packed(made | {"energy": ENERGY | {"meter": None}})
    )


def test_a_document_that_is_too_long_is_not_even_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lpirc_tracks.submissions.result_document.LARGEST_BYTES", 10)
    assert "it has 11 bytes, more than 10" in complaint(json.dumps("x" * 9).encode())


def test_a_key_that_is_given_twice_is_found_among_many_at_once() -> None:
    keys = [f'"{number}": 0' for number in range(20_000)]
    before_s = time.process_time()
    assert "the key '19999' is given twice" in complaint(
        f"{{{', '.join([*keys, keys[-1]])}}}".encode()
    )
    assert time.process_time() - before_s < 2


@pytest.mark.parametrize(
    "content",
    [b'{"result_version": "%s"}', b'{"%s": 1, "%s": 2}'],
)
def test_a_complaint_does_not_repeat_what_is_long(content: bytes) -> None:
    assert len(complaint(content.replace(b"%s", b"x" * 10_000))) < 200


@pytest.mark.parametrize("energy", [None, ENERGY])
def test_a_document_says_the_same_whatever_unknown_keys_it_holds(
    colours: TestSet,
    energy: dict[str, Any] | None,
) -> None:
    one, other = (
        result(
            colours,
            MODEL,
            [7, 8, 9],
            energy=energy,
        )
        for _ in range(2)
    )
    for name in ("device", "model", "latency", "predictions", "energy"):
        if other[name] is not None:
            other[name] = other[name] | {"note": "by hand"}
    other["predictions"]["rows"] = []
    assert says_same(one, other)
    assert says_same(other, one)


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        ("timed", "start_monotonic_s", 99.0),
        ("predictions", "labels", [[1, 7, 0.9], [2, 8, 0.9], [3, 7, 0.9]]),
        ("energy", "mean_power_w", 1.0),
    ],
)
def test_a_document_that_tells_something_else_does_not_say_the_same(
    colours: TestSet,
    place: str,
    key: str,
    value: object,
) -> None:
    one, other = (
        result(
            colours,
            MODEL,
            [7, 8, 9],
            energy=dict(ENERGY),
        )
        for _ in range(2)
    )
    assert says_same(one, other)
    other[place][key] = value
    assert not says_same(one, other)
    assert not says_same(one, one | {"energy": None})
