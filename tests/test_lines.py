"""The counts of `make lint`: over small texts, over folders made for it, and over the project itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import lines
from tests.lines import Counted, Place

LOOSE = "def double(value):\n    return value * 2\n"
SPLIT = "first = 1\nsecond = 2\n"


def rules(text: str, file: str = "referee/some.py") -> list[str]:
    return [place.rule for place in lines.count(file, text).places]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own, in which nothing is yet."""
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add(checkout: Path, file: str, text: str) -> None:
    path = checkout / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    subprocess.run(["git", "add", file], cwd=checkout, check=True)


TOLD = '''"""Of the module."""

# Why.
value = 1


def same():
    """A text."""
    return (
        value
    )
'''


def test_only_code_is_counted_not_comments_texts_and_blank_lines() -> None:
    expected = Counted(tokens=12, lines=5, places=())
    assert lines.count("some.py", TOLD) == expected


def test_an_f_string_is_one_token_on_every_python() -> None:
    text = 'text = f"""{first}\n{f"{second!r:>{width}}"}\n{third}"""\n'
    counted = lines.count("some.py", text)
    assert counted.tokens == 3
    assert counted.lines == 3


def test_a_text_over_several_lines_counts_with_each_of_them() -> None:
    counted = lines.count("some.py", 'text = """\none\ntwo\n"""\n')
    assert counted.tokens == 3
    assert counted.lines == 4


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("(one if is_first else other)(2)", lines.CHOSEN_CALL),
        ("(one or other)(2)", lines.CHOSEN_CALL),
        ("'s' * (number != 1)", lines.BOOL_PRODUCT),
        ("bool(number) * 's'", lines.BOOL_PRODUCT),
        ("one, other = 1, 2", lines.DOUBLED),
        ("[[cell for cell in row] for row in rows]", lines.NESTED),
        ("{one: 1 if one else 2 for one in rows}", lines.NESTED),
        ("sum(cell for row in rows for cell in sorted(row))", None),
        ("one, other = pair", None),
        ("'s' * number", None),
        ("chosen = one if is_first else other\nchosen(2)", None),
    ],
)
def test_an_expression_that_has_to_be_unfolded_is_named(
    text: str,
    rule: str | None,
) -> None:
    assert rules(text) == ([] if rule is None else [rule])


def test_a_place_names_file_and_line() -> None:
    (place,) = lines.count("a/b.py", "first = 1\n\none, other = 1, 2\n").places
    assert place == Place("a/b.py", 3, lines.DOUBLED)
    assert str(place).startswith("a/b.py:3: several assignments in one")


@pytest.mark.parametrize(
    ("body", "is_long"),
    [
        (lines.FUNCTION_LINES, False),
        (lines.FUNCTION_LINES + 1, True),
    ],
)
def test_a_function_is_as_long_as_what_stands_below_its_docstring(
    body: int,
    is_long: bool,
) -> None:
    head = 'def some(\n    value,\n):\n    """A text.\n\n    Of some lines.\n    """\n'
    text = head + "    value += 1\n" * body
    assert (lines.LONG_FUNCTION in rules(text)) == is_long


@pytest.mark.parametrize(
    ("length", "is_long"),
    [
        (lines.MODULE_LINES, False),
        (lines.MODULE_LINES + 1, True),
    ],
)
def test_a_module_is_long_with_its_comments(length: int, is_long: bool) -> None:
    assert (lines.LONG_MODULE in rules("# Why.\n" * length)) == is_long


def test_a_project_of_loose_lines_passes(
    checkout: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    add(checkout, "referee/some.py", LOOSE)
    assert lines.main([]) == 0
    assert capsys.readouterr().out == "lines: 1 files, at most 5.00 tokens a line\n"


def test_dense_lines_are_refused_with_the_densest_files_of_their_folder_alone(
    checkout: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    add(checkout, "referee/some.py", "value = [1, 2, 3, 4, 5, 6, 7, 8]\n")
    add(checkout, "referee/other.py", "value = [1, 2, 3, 4, 5, 6, 7, 8]\n" * 2)
    add(checkout, "power/some.py", LOOSE)
    assert lines.main([]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "lines: referee: 19.00 tokens a line; the limit is 7.5",
        "lines: referee/other.py:1: 19.00 tokens a line",
        "lines: referee/some.py:1: 19.00 tokens a line",
    ]
    assert lines.main(["power"]) == 0


@pytest.mark.parametrize("folder", ["referee", "tests"])
def test_two_assignments_in_one_are_refused_everywhere(
    checkout: Path,
    capsys: pytest.CaptureFixture[str],
    folder: str,
) -> None:
    add(checkout, f"{folder}/some.py", SPLIT * 5 + "one, other = 1, 2\n")
    assert lines.main([]) == 1
    assert f"lines: {folder}/some.py:11: {lines.DOUBLED}\n" in capsys.readouterr().err


def test_nested_comprehensions_are_counted_over_the_whole_product(
    checkout: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nested = SPLIT * 10 + "[[cell for cell in row] for row in rows]\n"
    limits = {("the product", lines.NESTED): 1, ("tests", lines.NESTED): 1}
    monkeypatch.setattr(lines, "LIMITS", limits)
    add(checkout, "referee/some.py", nested)
    add(checkout, "tests/some.py", nested)
    assert lines.main([]) == 0
    add(checkout, "power/some.py", nested)
    assert lines.main([]) == 1
    said = capsys.readouterr().err
    assert f"lines: power/some.py:21: {lines.NESTED}\n" in said
    assert f"lines: referee/some.py:21: {lines.NESTED}\n" in said
    assert "tests/some.py" not in said
    assert said.endswith("the limit is 1\n")


def test_a_test_may_be_as_long_as_its_story(
    checkout: Path,
) -> None:
    add(checkout, "tests/some.py", "value = 1\n" * (lines.MODULE_LINES + 1))
    assert lines.main([]) == 0
    add(checkout, "power/some.py", "value = 1\n" * (lines.MODULE_LINES + 1))
    assert lines.main([]) == 1


def test_only_what_is_part_of_the_project_is_counted(checkout: Path) -> None:
    add(checkout, "referee/some.py", LOOSE)
    add(checkout, "referee/gone.py", "one, other = 1, 2\n")
    (checkout / "referee" / "gone.py").unlink()
    (checkout / "referee" / "new.py").write_text("one, other = 1, 2\n")
    assert lines.main([]) == 0
