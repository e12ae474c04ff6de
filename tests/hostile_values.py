"""What a file may hold where a number or a name should be: blank, enormous, of other scripts, not text."""

from __future__ import annotations

from hypothesis import strategies as st

HALF_SURROGATE = "\ud800.jpg"
ARABIC_INDIC_12 = "\u0661\u0662"
ENORMOUS = "x" * 150_000
CELLS = (
    *(
        "",
        " ",
        "0",
        "-1",
        "1.5",
        "1_0",
        "nan",
        "-inf",
        "1e400",
        "-1e308",
        "1e308",
        "0x10",
        "+1",
        "true",
        "a\nb",
        '"',
    ),
    *(
        ARABIC_INDIC_12,
        "\uff11",
        "\u00b2",
        "\x00",
        "\x1b[2J",
        "../x",
        "C:\\x.jpg",
        "1" * 400,
        "9" * 4000,
        "9" * 5000,
    ),
    ENORMOUS,
)
"""Texts of one cell."""
HUGE_INTEGER = "@5000 digits@"
"""Stands in a document for a number that Python does not even write."""
VALUES = (
    *(
        None,
        True,
        False,
        0,
        -1,
        2**53 + 1,
        1.5,
        1e308,
        -1e308,
        float("nan"),
        float("inf"),
        10**400,
        10**4000,
    ),
    *(
        "",
        " ",
        "1",
        ARABIC_INDIC_12,
        HALF_SURROGATE,
        "\x00",
        "../x",
        "\x1b[2J\n",
        ENORMOUS,
        HUGE_INTEGER,
    ),
    *(
        [],
        [1],
        {},
        {"a": 1},
        [[[]]],
        [10**4000] * 4,
        [True] * 4,
        [1e308] * 4,
        ["1"] * 4,
        [0, 0, 10**400, 1],
    ),
)
"""Values of JSON."""

cells = st.sampled_from(CELLS) | st.text(max_size=8)
values = st.sampled_from(VALUES) | st.integers() | st.floats() | st.text(max_size=8)


def json_text(encoded: str) -> str:
    """A document with the enormous number in it."""
    return encoded.replace(f'"{HUGE_INTEGER}"', "9" * 5000)
