"""A meter of another maker: the smart plugs of Shelly, asked over HTTP at addresses `shelly:HOST`.

A plug has voltage, current, power and an energy counter, and no integrator that can be started:
`HomeMeter` makes one of what the plug counts, and with it everything that a meter does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from http.client import HTTPException
from typing import Any
from urllib.request import urlopen

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterAddressError, MeterLost, MeterUnreachable
from lpirc_power.home.meter import HomeMeter, Sample
from lpirc_power.loopback import is_this_machine
from lpirc_power.meter import Identity, Limits, Meter
from lpirc_power.scheme import Scheme

TIMEOUT_S = 2.0


class Plug:
    """A plug in the network; implements `lpirc_power.home.meter.Sensor`."""

    def __init__(self, host: str) -> None:
        self.host = host
        try:
            about = self._asked("Shelly.GetDeviceInfo")
        except MeterLost as error:
            raise MeterUnreachable(error.sentence) from error
        self.identity = Identity("SHELLY", about["model"], about["id"], about["ver"])

    def look(self, now_s: float) -> Sample:
        """Return what the plug counts and measures now."""
        shown = self._asked("Switch.GetStatus?id=0")
        return Sample(
            energy_wh=shown["aenergy"]["total"],
            running_s=now_s,
            power_w=shown["apower"],
            voltage_v=shown["voltage"],
            current_a=shown["current"],
            apparent_va=shown["voltage"] * shown["current"],
        )

    def _asked(self, what: str) -> Any:
        url = f"http://{self.host}/rpc/{what}"
        try:
            with urlopen(url, timeout=TIMEOUT_S) as answer:
                return json.load(answer)
        except (OSError, ValueError, HTTPException) as error:
            raise MeterLost(
                f"The plug {self.host} gives no answer: {error}."
            ) from error


class Shelly(Scheme):
    """The scheme `shelly:`; what follows is the plug's host, with its port if that is not 80."""

    def __init__(self, rest: str) -> None:
        super().__init__(rest)
        if not rest:
            raise MeterAddressError("shelly: needs a host, as shelly:192.168.1.30.")
        self._meter: HomeMeter | None = None

    def connect(self, clocks: Clocks) -> Meter:
        plug = Plug(self.rest)
        if self._meter is None:  # its integrator outlives a link
            self._meter = HomeMeter(plug, clocks)
        return self._meter

    @staticmethod
    def find() -> Iterable[str]:
        """List the plugs that SHELLY_PLUGS in the environment names; a real driver would ask mDNS."""
        hosts = os.environ.get("SHELLY_PLUGS", "").split()
        return [f"shelly:{host}" for host in hosts]

    @staticmethod
    def limits(model: str) -> Limits | None:
        """State 1 % of the reading and 0.5 % of the apparent power, from the plug's data sheet."""
        if model != "SNPL-00112EU":
            return None
        return Limits(
            reading_share=0.01,
            range_share=0.0,
            dc_range_share=0.0,
            apparent_share=0.005,
            smallest_range_w=2500.0,
            source="data sheet of the Plus Plug S",
        )

    @staticmethod
    def is_loopback(rest: str) -> bool:
        return is_this_machine(rest.partition(":")[0])
