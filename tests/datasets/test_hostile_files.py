"""Broken and hostile files: a reader takes one, or refuses it in short sentences that name it, each on one line."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lpirc_testsets import (
    TestSet,
    TestSetError,
    check,
    import_coco,
    import_labels,
    import_voc,
    read_ground_truth,
)
from tests import hostile_values as hostile
from tests.contest_day import refers

LONGEST_SENTENCE = 350  # beside the folder of the test
CSV_HEADER = "image,class,xmin,ymin,xmax,ymax,difficult"
XML = """<annotation><filename>{}</filename><size><width>{}</width><height>{}</height></size><object><name>{}</name>
<difficult>{}</difficult><bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object></annotation>"""
GOOD_XML = ("a.jpg", "40", "30", "ant", "0", "1", "2", "30", "20")
GOOD_COCO = {
    "images": [
        {
            "id": 1,
            "file_name": "a.jpg",
            "width": 40,
            "height": 30,
        }
    ],
    "categories": [{"id": 2, "name": "ant"}],
    "annotations": [
        {
            "id": 3,
            "image_id": 1,
            "category_id": 2,
            "bbox": [1, 2, 3, 4],
            "area": 12,
            "iscrowd": 0,
            "difficult": 0,
        }
    ],
}
KEYS = [(part, key) for part, (entry,) in GOOD_COCO.items() for key in entry]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(autouse=True)
def picture(root: Path, jpeg: Callable[..., bytes]) -> None:
    (root / "pictures").mkdir(exist_ok=True)
    (root / "pictures" / "a.jpg").write_bytes(jpeg())


def refusal(act: Callable[[], object], root: Path) -> str:
    """What the act is refused with, a sentence a line; "" when it is not."""
    try:
        act()
    except TestSetError as error:
        sentences = error.problems or (error.sentence,)
    else:
        return ""
    for sentence in sentences:
        assert sentence.isprintable()
        assert str(root) in sentence
        assert len(sentence.replace(str(root), "")) <= LONGEST_SENTENCE
    return "\n".join(sentences)


def imported(
    make: Callable[..., Any],
    source: Path,
    root: Path,
) -> str:
    """Import into a new folder: what it is refused with, or "" for a set that passes its check."""
    out = root / "out"
    shutil.rmtree(out, ignore_errors=True)
    said = refusal(lambda: make(source, root / "pictures", out), root)
    assert said or check(out) == ()
    return said


def coco_file(root: Path, document: object) -> Path:
    path = root / "instances.json"
    path.write_text(hostile.json_text(json.dumps(document)), encoding="utf-8")
    return path


def changed(where: tuple[str, str], value: object) -> dict[str, Any]:
    part, key = where
    return GOOD_COCO | {part: [{**GOOD_COCO[part][0], key: value}]}


def annotation(root: Path, text: str | bytes) -> Path:
    folder = root / "Annotations"
    folder.mkdir(exist_ok=True)
    (folder / "a.xml").write_bytes(
        text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
    )
    return folder


def csv_file(root: Path, name: str, *lines: str) -> Path:
    path = root / name
    path.write_text("\n".join(lines), encoding="utf-8", errors="surrogatepass")
    return path


@given(st.sampled_from(KEYS), hostile.values)
@example(("annotations", "area"), 10**400)
@example(("annotations", "bbox"), [0, 0, 10**4000, 1])
@example(("annotations", "image_id"), True)
@example(("annotations", "id"), [])
@example(("images", "file_name"), hostile.HALF_SURROGATE)
@example(("images", "file_name"), hostile.ENORMOUS)
@example(("images", "width"), 10**4000)
@example(("images", "id"), hostile.HUGE_INTEGER)
@example(("categories", "name"), hostile.HALF_SURROGATE)
def test_coco_with_any_value_anywhere(
    root: Path,
    where: tuple[str, str],
    value: object,
) -> None:
    path = coco_file(root, changed(where, value))
    said = refusal(lambda: read_ground_truth(path), root)
    assert imported(import_coco, path, root) or not said


@pytest.mark.parametrize("key", ["image_id", "category_id", "area"])
def test_true_is_not_a_number_of_coco(root: Path, key: str) -> None:
    document = changed(("annotations", key), True)
    document["images"][0] = document["images"][0] | {"id": 1}
    document["categories"] = [{"id": 1, "name": "ant"}]
    document["annotations"][0] |= {"category_id": 1, key: True}
    assert f"{key} True" in refusal(
        lambda: read_ground_truth(coco_file(root, document)),
        root,
    )


@given(st.integers(0, len(GOOD_XML) - 1), hostile.cells)
@example(0, hostile.ENORMOUS)
@example(3, hostile.ENORMOUS)
@example(3, "\x00")
@example(5, hostile.ARABIC_INDIC_12)
@example(7, "1e308")
@example(1, "9" * 400)
def test_voc_with_any_text_anywhere(
    root: Path,
    place: int,
    cell: str,
) -> None:
    cells = [*GOOD_XML]
    cells[place] = cell
    imported(import_voc, annotation(root, XML.format(*cells)), root)


@given(
    st.sampled_from(["latin-1", "utf-16", "utf-8", "utf-7", "big5", "hex", "no-such"]),
    st.binary(max_size=40),
)
@example("utf-8", b"\xff")
@example("no-such", b"")
def test_voc_with_any_bytes_in_any_encoding(
    root: Path,
    encoding: str,
    content: bytes,
) -> None:
    head = f'<?xml version="1.0" encoding="{encoding}"?><annotation><filename>'.encode()
    imported(
        import_voc,
        annotation(root, head + content + b"</filename></annotation>"),
        root,
    )


@pytest.mark.parametrize(
    "encoding",
    ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1"],
)
def test_a_dtd_is_refused_in_every_encoding(root: Path, encoding: str) -> None:
    declared = "utf-16" if "16" in encoding else encoding.removesuffix("-sig")
    text = f'<?xml version="1.0" encoding="{declared}"?><!DOCTYPE annotation [<!ENTITY a "a.jpg">]>'
    text = (
        ("\ufeff" if encoding[-3:] in ("-le", "-be") else "")
        + text
        + XML.format("&a;", *GOOD_XML[1:])
    )
    assert "has a DTD" in imported(
        import_voc,
        annotation(root, text.encode(encoding)),
        root,
    )


@given(st.integers(0, 6), hostile.cells)
@example(0, hostile.ARABIC_INDIC_12)
@example(2, hostile.ARABIC_INDIC_12)
@example(0, "9" * 5000)
@example(0, hostile.ENORMOUS)
def test_csv_with_any_cell_anywhere(
    root: Path,
    place: int,
    cell: str,
) -> None:
    cells = ["1", "2", "3", "4", "5", "6", "0"]
    cells[place] = cell
    for separator in (",", '","'):
        line = separator.join(cells)
        path = csv_file(
            root,
            "truth.csv",
            CSV_HEADER,
            f'"{line}"' if separator != "," else line,
        )
        refusal(lambda path=path: read_ground_truth(path), root)
    listed = csv_file(root, "images.csv", "image,name", f"{cell},a.jpg")
    sound = csv_file(root, "sound.csv", CSV_HEADER, "1,2,3,4,5,6,0")
    refusal(lambda: read_ground_truth(sound, listed), root)


@given(hostile.cells, hostile.cells)
@example("", "1")
@example(hostile.ENORMOUS[:2000], "1")
@example("a.jpg", hostile.ARABIC_INDIC_12)
@example("\ud800", "1")
def test_labels_with_any_cell_anywhere(
    root: Path,
    file: str,
    label: str,
) -> None:
    for line in (
        f"{file},1",
        f"a.jpg,{label}",
        f"{file},{label}",
        f'"{file}","{label}"',
    ):
        imported(import_labels, csv_file(root, "labels.csv", "file,label", line), root)


@pytest.mark.parametrize(
    "header",
    [hostile.ENORMOUS[:100_000], "\x00", "file\x1b,label", ""],
)
def test_a_strange_header_is_shown_shortened(root: Path, header: str) -> None:
    assert "header" in imported(
        import_labels,
        csv_file(root, "labels.csv", header, "a.jpg,1"),
        root,
    )


def test_a_file_name_in_another_encoding_is_refused(root: Path) -> None:
    folder = root / "elsewhere"
    folder.mkdir()
    (folder / "\udcff.xml").write_text(XML.format(*GOOD_XML), encoding="utf-8")
    assert r"\udcff" in imported(import_voc, folder, root)


def test_an_annotation_without_end_is_not_read_whole(root: Path) -> None:
    with (annotation(root, "") / "a.xml").open("wb") as file:
        file.truncate(2**28)
    tracemalloc.start()
    assert "are too many" in imported(import_voc, root / "Annotations", root)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 2**25


@pytest.mark.parametrize("importer", ["voc", "ilsvrc", "coco", "labels"])
def test_the_command_refuses_in_one_line_on_stderr(root: Path, importer: str) -> None:
    bomb = '\ufeff<!DOCTYPE annotation [<!ENTITY a "aaaa">]>' + XML.format(
        *GOOD_XML
    ).replace("ant", "&a;")
    names = csv_file(root, "names.txt", "ant")
    source = {
        "voc": ("--annotations", annotation(root, bomb.encode("utf-16"))),
        "ilsvrc": (
            "--annotations",
            annotation(root, bomb.encode("utf-16")),
            "--categories",
            names,
        ),
        "coco": (
            "--annotations",
            coco_file(root, changed(("images", "file_name"), hostile.HALF_SURROGATE)),
        ),
        "labels": ("--csv", csv_file(root, "labels.csv", "file,label", "\x1b[2J,1")),
    }[importer]
    command = (
        "testset",
        "import",
        importer,
        *source,
        "--images",
        root / "pictures",
        "--out",
        root / "out",
    )
    ended = refers(*map(str, command))
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("referee: ")
    assert ended.stdout.replace("\n", "").isprintable()


def test_the_command_prints_a_folder_whose_name_is_not_text(
    tmp_path: Path,
    test_set: TestSet,
) -> None:
    odd = test_set.folder.rename(tmp_path / "\udcff")
    ended = refers("testset", "check", str(odd))
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert r"\udcff: nothing wrong" in ended.stdout
