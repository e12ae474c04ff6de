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
        ('{"a": "x,"]}', "Expecting ',' delimiter: line 1 column 11 (char 10)"),
    ],
)  # fmt: skip
def test_a_slip_of_json_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(ValueError, match="not JSON") as refused:
        json_value(text)
    assert str(refused.value) == f"not JSON: {told}"
