"""Refusing what is not JSON, with its line and what to write."""

from __future__ import annotations

import pytest

from lpirc_testsets.values import json_value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": "x\ty"}', r"line 1: a text has a tab in it; close its quotation marks, or write \t"),
        ('{\n"a": "x\ny"}', r"line 2: a text has a line break in it; close its quotation marks, or write \n"),
        (r'{"a": "C:\day"}', r"line 1: a text has one \ in it; write two"),
        ('{"images": [] // c\n}', "line 1: JSON has no comments; take it out"),
        ('{"a": 01}', "line 1: 01 is not a number in JSON"),
        ('{"a": 1.}', "line 1: 1. is not a number in JSON"),
        ('{"a": 12O}', "line 1: 12O is not a number in JSON"),
        ('{"a": 1 "b": 2}', "line 1: a comma is missing before '\"b\": 2}'"),
        ('{"a": [1 true]}', "line 1: a comma is missing before 'true]}'"),
        ('{"a": [1,\n\n]}', "line 1: take out the comma before ]"),
        ('{"a": 1\n,\n}', "line 2: take out the comma before }"),
        ('["cat", "dog,\n]', r"line 1: a text has a line break in it; close its quotation marks, or write \n"),
        ('{"a": truee}', "line 1: truee is not JSON"),
        ('["x" y]', "Expecting ',' delimiter: line 1 column 6 (char 5)"),
        ('{"a": 10 km}', "Expecting ',' delimiter: line 1 column 10 (char 9)"),
        ('{"a":1} x', "Extra data: line 1 column 9 (char 8)"),
        (r'{"a": "\u12"}', r"line 1: behind \u in a text stand four hexadecimal digits"),
        ('{"a": "x,"]}', "Expecting ',' delimiter: line 1 column 11 (char 10)"),
    ],
)  # fmt: skip
def test_a_slip_of_json_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(ValueError, match="not JSON") as refused:
        json_value(text)
    assert str(refused.value) == f"not JSON: {told}"
