"""Names in YAML that are read are those that a whole reader of YAML finds, whatever the file looks like."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.yolo_names import read_classes

PIECES = [
    *("a", "c d", "x's", "1", "0: ", "1: ", "'", '"', "''", "\\", "\\n", "\\u00e9", "[", "]", "{", "}", ",", ", "),
    *(" ", "\n", "\n  ", "\n- ", "\n  - ", "- ", "#", " # x", "&a ", "*a", "!t ", "|", ">", "null", "~", ":", ": "),
    *("nc: 2\n", "names:", "\u00e9", "-", "%", "@", "`", "'a b'", '"q"', "0", "2: x", "---", "..."),
]  # fmt: skip
STARTS = ("names: [", "names:\n  - ", "names:\n  0: ", '{"names": [', "{names: {", "names:")  # fmt: skip
ENDS = ("]\n", "\n", "\n", "]}", "}}", "\n")


def texts(chance: random.Random) -> str:
    place = chance.randrange(len(STARTS))
    body = "".join(chance.choices(PIECES, k=chance.randrange(1, 9)))
    return STARTS[place] + body + ENDS[place]


def test_what_is_read_is_what_yaml_says(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    chance = random.Random(0)  # noqa: S311 - texts, not secrets
    path = tmp_path / "data.yaml"
    compared = 0
    for _ in range(5000):
        text = texts(chance)
        path.write_text(text, encoding="utf-8")
        problems = Problems()
        with suppress(TestSetError):
            found = read_classes(path, problems)
        if problems.count:
            continue
        try:
            names = yaml.load(text, yaml.BaseLoader)["names"]
        except yaml.YAMLError:
            continue  # it refuses what stands elsewhere in the file
        pairs = names.items() if isinstance(names, dict) else enumerate(names)
        assert found == {int(key): name for key, name in pairs}, text
        compared += 1
    assert compared > 500
