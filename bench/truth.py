"""The truth table: integrator and trapezoid against the analytic energy of known loads, at three update rates.

The readings travel the whole way: simulated meter, VXI-11, driver, sampler. All cases run at the same time, so the
sampler also shows what it does on a busy host.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import as_markdown, replace_part, show
from bench.power import metered, simulator
from lpirc_power.meter import Setup

RATES_S = (0.1, 0.25, 1.0)
WINDOW_S = 60
LOG = (
    Path(__file__).resolve().parents[2]
    / "shared"
    / "data"
    / "lpirc2015"
    / "wt310_readings_user_330.csv"
)
"""A recording of a real WT310, its own WH in the fourth column."""
WH_LIMIT = 0.0005
LOG_LIMIT = 0.002
TRAPEZOID_LIMIT = 0.0005
NO_DATA = 9.9e36
RAMP_S = 60.0
CELL_S = 0.01
DOCUMENT = Path(__file__).parents[1] / "docs" / "energy.md"
BEGIN = '<!-- truth table: make bench ARGS="truth --save" -->'
END = "<!-- end of the truth table -->"


@dataclass(frozen=True)
class Case:
    """A load whose energy over its window is known without a meter.

    The window is a whole number of the load's periods, so it does not matter when it begins. `is_slow` says that
    the load changes more slowly than the slowest update.
    """

    name: str
    load: str
    energy_wh: float
    window_s: int = WINDOW_S
    is_slow: bool = False
    limit: float = WH_LIMIT
    ranges: tuple[float, float] = (150.0, 1.0)


def measure() -> list[dict[str, Any]]:
    """Measure every case at every rate, all at once; print the table and return its rows."""
    with tempfile.TemporaryDirectory() as folder:
        todo = [(case, rate_s) for case in cases(Path(folder)) for rate_s in RATES_S]
        with ThreadPoolExecutor(len(todo)) as pool:
            rows = list(pool.map(lambda one: _measured(*one), todo))
    show("truth", rows)
    return rows


def cases(folder: Path) -> Iterator[Case]:
    """Give the cases; tables of loads are written to `folder`."""
    yield _periodic("constant 36 W", "constant:36W", 36.0, is_slow=True)
    yield _periodic("steps of 5 s: 2 W, 9 W", "steps:2W@5s,9W@10s", 5.5)
    yield _periodic("square of 1 Hz: 2 W, 9 W", "steps:2W@0.5s,9W@1s", 5.5)
    yield _periodic(
        "bursts: 60 W for 0.2 s, each 5 s, over 2 W",
        "steps:2W@4.8s,60W@5s",
        2.0 + 58.0 * 0.2 / 5.0,
    )
    ramp = folder / "ramp.csv"
    ramp.write_text(_ramp())
    yield _periodic(
        "ramps of 30 s between 2 W and 20 W",
        f"csv:{ramp}",
        11.0,
        is_slow=True,
    )
    if LOG.exists():
        with LOG.open(newline="") as lines:
            rows = [list(map(float, row)) for row in csv.reader(lines)]
        kept = [row for row in rows if row[2] < NO_DATA]
        yield Case(
            "a real WT310, 2015: its own WH",
            f"csv:{LOG}",
            kept[-1][3],
            int(kept[-1][4]),
            limit=LOG_LIMIT,
            ranges=(150.0, 0.02),
        )


def _periodic(
    name: str,
    load: str,
    mean_w: float,
    *,
    is_slow: bool = False,
) -> Case:
    return Case(name, load, mean_w * WINDOW_S / 3600.0, is_slow=is_slow)


def _ramp() -> str:
    """A triangle of cells, each with the mean of its stretch: up for half of the period, then down."""
    half = round(RAMP_S / 2 / CELL_S)
    up = [2.0 + 18.0 * (cell + 0.5) / half for cell in range(half)]
    powers_w = [*up, *reversed(up)]
    return "seconds,power_w\n" + "".join(
        f"{place * CELL_S:.3f},{power_w}\n" for place, power_w in enumerate(powers_w)
    )


def _measured(case: Case, rate_s: float) -> dict[str, Any]:
    setup = Setup(*case.ranges, rate_s, case.window_s)
    with simulator("--load", case.load) as (address, _):
        run = metered(address, setup)
    figures = next(
        one for one in run.checks(setup) if one.code == "integrator-trapezoid"
    ).figures
    stated = (
        TRAPEZOID_LIMIT
        if case.is_slow
        else (figures["tolerance_wh"] or 0.0) / case.energy_wh
    )
    wh_off = abs(run.energy_wh() / case.energy_wh - 1)
    trapezoid_off = abs((figures["trapezoid_wh"] or 0.0) / case.energy_wh - 1)
    missed = [
        name
        for name, off, limit in (
            ("WH", wh_off, case.limit),
            ("trapezoid", trapezoid_off, stated),
        )
        if not off <= limit
    ]
    return {
        "load": case.name,
        "update (s)": rate_s,
        "energy (Wh)": case.energy_wh,
        "WH off (%)": 100 * wh_off,
        "limit (%)": 100 * case.limit,
        "trapezoid off (%)": 100 * trapezoid_off,
        "its limit (%)": 100 * stated,
        "held": " and ".join(missed) + " missed" if missed else "yes",
    }


def write(rows: Sequence[dict[str, Any]]) -> None:
    """Put the table into the page of the energy."""
    replace_part(DOCUMENT, BEGIN, f"\n{as_markdown(rows)}\n", END)
