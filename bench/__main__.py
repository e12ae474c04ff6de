"""`python -m bench [PART …]`: measure the named parts, or all that measure speed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench import (
    bundles,
    client,
    coverage,
    flood,
    models,
    power,
    receipts,
    rehearsal,
    restart,
    scoring,
    season,
    serving,
    tls,
    truth,
    viewers,
)


def main() -> None:
    """Measure the parts named on the command line, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help="rehearsal, serving, tls, restart, receipts, bundles, flood, viewers, power, truth, scoring, coverage, "
        "models, client, season",
    )
    parser.add_argument(
        "--save",
        action="store_true",
        help="write the figures to bench/PART.json, those of truth to docs/energy.md too",
    )
    parser.add_argument(
        "--beside",
        type=Path,
        help="serving: measure this checkout, which has a .venv, as well",
    )
    parser.add_argument("--season", type=int, nargs=2, default=(200, 5000), help="season: RUNS of IMAGES")
    options = parser.parse_args()
    parts: dict[str, Callable[[], Any]] = {
        "rehearsal": rehearsal.measure,
        "serving": partial(serving.measure, options.beside),
        "tls": tls.measure,
        "restart": restart.measure,
        "receipts": receipts.measure,
        "flood": flood.measure,
        "viewers": viewers.measure,
        "power": power.measure,
        "truth": truth.measure,
        "scoring": scoring.measure,
        "coverage": coverage.measure,
        "models": models.measure,
        "bundles": bundles.measure,
        "client": client.measure,
        "season": partial(season.measure, *options.season),
    }
    for part in options.parts:
        if part not in parts:
            parser.error(f"there is no part {part!r}; the parts are {', '.join(parts)}")
    for part in options.parts or [part for part in parts if part != "coverage"]:
        measured = parts[part]()
        if options.save:
            if part == "truth":
                truth.write(measured)
                continue
            text = json.dumps(measured, indent=2, ensure_ascii=False)
            Path(__file__).with_name(f"{part}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
