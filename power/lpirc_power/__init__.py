"""Power meters: the meter protocol and its readings, drivers, sampling, energy, and a simulated WT310.

Knows nothing of HTTP, runs or scoring. Start with `meter` (the protocol) and `addresses` (opens the meter at an
address). `scheme` and `Driver` in `meter` are the extension points for meters of other makers.

The names below are for programs and notebooks; each is imported when it is first used. docs/meter-api.md explains them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lpirc_power.energy import Budget, Check
    from lpirc_power.energy.budget import Term
    from lpirc_power.errors import MeterError
    from lpirc_power.marks.marking import mark
    from lpirc_power.notebook.comparison import EnergyComparison, compare
    from lpirc_power.notebook.doubtful_energy import DoubtfulEnergy
    from lpirc_power.notebook.live_recording import LiveRecording
    from lpirc_power.notebook.marked_energy import MarkEnergy
    from lpirc_power.notebook.mean_energy import MeanEnergy, mean_of
    from lpirc_power.notebook.open_meter import OpenMeter, open_meter
    from lpirc_power.notebook.plot import Plot
    from lpirc_power.notebook.readings import Readings
    from lpirc_power.notebook.recording import (
        Recording,
        read_measurement,
        read_recorded,
    )
    from lpirc_power.sampling.polling import Idle

__all__ = [
    "Budget",
    "Check",
    "DoubtfulEnergy",
    "EnergyComparison",
    "Idle",
    "LiveRecording",
    "MarkEnergy",
    "MeanEnergy",
    "MeterError",
    "OpenMeter",
    "Plot",
    "Readings",
    "Recording",
    "Term",
    "compare",
    "mark",
    "mean_of",
    "open_meter",
    "read_measurement",
    "read_recorded",
]

_PLACES: Final = {
    "Budget": "energy.budget",
    "Check": "energy.measurement",
    "DoubtfulEnergy": "notebook.doubtful_energy",
    "EnergyComparison": "notebook.comparison",
    "Idle": "sampling.polling",
    "LiveRecording": "notebook.live_recording",
    "MarkEnergy": "notebook.marked_energy",
    "MeanEnergy": "notebook.mean_energy",
    "MeterError": "errors",
    "OpenMeter": "notebook.open_meter",
    "Plot": "notebook.plot",
    "Readings": "notebook.readings",
    "Recording": "notebook.recording",
    "Term": "energy.budget",
    "compare": "notebook.comparison",
    "mark": "marks.marking",
    "mean_of": "notebook.mean_energy",
    "open_meter": "notebook.open_meter",
    "read_measurement": "notebook.recording",
    "read_recorded": "notebook.recording",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_PLACES[name]}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
