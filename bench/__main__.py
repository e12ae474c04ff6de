"""`python -m bench [PART …]`: measure the named parts, or all."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from bench import models, power, rehearsal, scoring, serving

PARTS: dict[str, Callable[[], None]] = {
    "rehearsal": rehearsal.measure,
    "serving": serving.measure,
    "power": power.measure,
    "scoring": scoring.measure,
    "models": models.measure,
}


def main() -> None:
    """Measure the parts named on the command line, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parts = parser.parse_args().parts or list(PARTS)
    for part in parts:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; the parts are {', '.join(PARTS)}")
    for part in parts:
        PARTS[part]()


if __name__ == "__main__":
    main()
