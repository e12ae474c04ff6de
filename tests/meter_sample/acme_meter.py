"""The wattmeters PM100 of ACME behind VISA: `MEASURE?` answers watts and watt-hours, `36.0,0.125`."""

from __future__ import annotations

import math

from lpirc_power.clocks import Clocks
from lpirc_power.home.meter import HomeMeter, Sample
from lpirc_power.meter import Identity, Limits, Meter, VisaLink

NO_DATA = 9.91e37
"""SCPI's number for no data; 9.9e37 is over range."""


class Watts:
    """What the instrument shows; implements `lpirc_power.home.meter.Sensor`."""

    def __init__(self, link: VisaLink, identity: Identity) -> None:
        self.link = link
        self.identity = identity

    def look(self, now_s: float) -> Sample:
        power_w, energy_wh = map(number, self.link.query("MEASURE?").split(","))
        return Sample(energy_wh=energy_wh, running_s=now_s, power_w=power_w)


def number(text: str) -> float:
    """Return a number of an answer: NaN without data, infinity over range."""
    value = float(text)
    if math.isclose(value, NO_DATA):
        return math.nan
    return math.inf if value >= 9.9e37 else value


class LinkedMeter(HomeMeter):
    """Closes the link with the meter."""

    sensor: Watts

    def close(self) -> None:
        self.sensor.link.close()


class Acme:
    """The family; implements `lpirc_power.meter.Driver`. One object serves all links of an address."""

    models = "PM100"

    def __init__(self) -> None:
        self._meter: LinkedMeter | None = None

    @staticmethod
    def matches(identity: Identity) -> bool:
        return identity.maker == "ACME" and identity.model == "PM100"

    @staticmethod
    def limits(model: str) -> Limits | None:
        if model != "PM100":
            return None
        return Limits(
            reading_share=0.002,
            range_share=0.0,
            dc_range_share=0.0,
            apparent_share=0.0,
            smallest_range_w=10.0,
            source="manual of the PM100, page 9",
        )

    def meter(self, link: VisaLink, identity: Identity, clocks: Clocks) -> Meter:
        watts = Watts(link, identity)
        if self._meter is None:
            self._meter = LinkedMeter(watts, clocks)
        self._meter.sensor = watts
        return self._meter
