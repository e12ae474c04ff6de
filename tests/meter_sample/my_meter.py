"""The smart plugs of Thin, asked with their maker's library `thinplug`, at addresses `thin:HOST:PORT`."""

from __future__ import annotations

from lpirc_power.clocks import Clocks
from lpirc_power.errors import (
    MeterAddressError,
    MeterAnswerError,
    MeterLost,
    MeterUnreachable,
)
from lpirc_power.home.meter import HomeMeter, Sample
from lpirc_power.loopback import is_this_machine
from lpirc_power.maker_library import library
from lpirc_power.meter import Identity, Limits, Meter
from lpirc_power.own_term import OwnTerm
from lpirc_power.scheme import Scheme


class Plug:
    """One plug, by the maker's library; implements `lpirc_power.home.meter.Sensor`."""

    def __init__(self, host: str, port: int) -> None:
        thinplug = library("thinplug", "pip install thinplug")
        self._plug = thinplug.Plug(host, port, timeout_s=2.0)
        try:
            about = self._plug.about()
        except (OSError, ValueError) as error:
            raise MeterUnreachable(
                f"No plug answers at {host}:{port}: {error}."
            ) from error
        self.identity = Identity(
            "THIN", about["model"], about["serial"], about["firmware"]
        )

    def look(self, now_s: float) -> Sample:
        """Ask once, and return what the plug shows, in watts, volts, amperes and watt-hours."""
        try:
            shown = self._plug.read()
        except OSError as error:
            raise MeterLost(f"The plug gives no answer: {error}.") from error
        except ValueError as error:
            raise MeterAnswerError(f"The plug's answer is none: {error}.") from error
        voltage_v = shown["mV"] / 1e3
        current_a = shown["mA"] / 1e3
        return Sample(
            energy_wh=shown["counter_mWh"] / 1e3,
            running_s=now_s,
            power_w=shown["mW"] / 1e3,
            voltage_v=voltage_v,
            current_a=current_a,
            apparent_va=voltage_v * current_a,
        )


class Thin(Scheme):
    """The scheme `thin:`."""

    def __init__(self, rest: str) -> None:
        super().__init__(rest)
        host, _, port = rest.rpartition(":")
        if not host or not (port.isascii() and port.isdigit()):
            raise MeterAddressError(f"thin:{rest} has no port; write thin:HOST:PORT.")
        self._place = host, int(port)
        self._meter: HomeMeter | None = None

    def connect(self, clocks: Clocks) -> Meter:
        plug = Plug(*self._place)
        if self._meter is None:
            self._meter = HomeMeter(plug, clocks)
        self._meter.sensor = plug  # a new link; the integrator outlives it
        return self._meter

    @staticmethod
    def limits(model: str) -> Limits | None:
        """State 1 % of the reading and the counter's step of 1 mWh, as the data sheet does."""
        if model != "TP-1":
            return None
        step = OwnTerm(
            code="counter-step",
            name="the step of the counter",
            source="data sheet TP-1, page 2: 1 mWh",
            energy_wh=0.001,
        )
        return Limits(
            reading_share=0.01,
            range_share=0.0,
            dc_range_share=0.0,
            apparent_share=0.0,
            smallest_range_w=3680.0,
            source="data sheet TP-1, page 2",
            own=(step,),
        )

    @staticmethod
    def is_loopback(rest: str) -> bool:
        return is_this_machine(rest.rpartition(":")[0])
