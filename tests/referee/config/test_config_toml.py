from __future__ import annotations

import pytest

from referee.config import toml_table


@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, -(2**63)])
def test_whole_numbers_of_64_bits_are_read(number: int) -> None:
    assert toml_table(f"a = [{{b = {number}}}]") == {"a": [{"b": number}]}


@pytest.mark.parametrize(
    "text",
    [f"0x{'f' * 4000}", f"0o{'7' * 5000}", str(2**63), str(-(2**63) - 1)],
)
@pytest.mark.parametrize("form", ["a = {}", "a = [1, [{}]]", "[[a]]\nb.c = {}"])
def test_larger_numbers_are_refused_without_printing_their_digits(
    text: str,
    form: str,
) -> None:
    with pytest.raises(
        ValueError, match=r"^it has a whole number that does not fit into 64 bits$"
    ):
        toml_table(form.format(text))
