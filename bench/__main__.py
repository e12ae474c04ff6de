"""`python -m bench [PART …]`: measure the named parts, or all that measure speed."""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path

PARTS = (
    *(
        "rehearsal",
        "serving",
        "tls",
        "restart",
        "flood",
        "viewers",
        "power",
        "truth",
        "recording",
        "series",
        "scoring",
        "masks",
        "coverage",
    ),
    *("models", "bundles", "client", "season", "chaos"),
)
"""Each is a module of this name with a function `measure`."""
IN_PAGES = ("truth", "recording", "series", "coverage")
"""Those with a function `write`, which puts their tables into a page."""


def main() -> None:
    """Measure the parts named on the command line, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=", ".join(PARTS),
    )
    text = "write the figures to bench/PART.json, those of truth, recording, series and coverage into their pages"
    parser.add_argument("--save", action="store_true", help=text)
    text = "serving: measure this checkout, which has a .venv, as well"
    parser.add_argument("--beside", type=Path, help=text)
    parser.add_argument(
        "--season",
        type=int,
        nargs=2,
        default=(200, 5000),
        help="season: RUNS of IMAGES",
    )
    parser.add_argument(
        "--chaos",
        type=int,
        nargs=3,
        default=(120, 500, 1),
        metavar=("RUNS", "IMAGES", "SEED"),
        help="chaos: RUNS of IMAGES, killed by SEED",
    )
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; the parts are {', '.join(PARTS)}")
    arguments = {
        "serving": (options.beside,),
        "season": options.season,
        "chaos": options.chaos,
    }
    for part in options.parts or [part for part in PARTS if part != "coverage"]:
        module = import_module(f"bench.{part}")
        measured = module.measure(*arguments.get(part, ()))
        if options.save and part in IN_PAGES:
            module.write(measured)
        elif options.save:
            text = json.dumps(measured, indent=2, ensure_ascii=False)
            Path(__file__).with_name(f"{part}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
