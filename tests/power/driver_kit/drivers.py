"""A clean driver of a counter that stands on the table, and drivers with one fault each."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from lpirc_power.errors import (
    MeterAddressError,
    MeterAnswerError,
    MeterLost,
    MeterRefused,
    MeterUnreachable,
)
from lpirc_power.home.counter_wrap import Wrap
from lpirc_power.home.meter import HomeMeter, Sample
from lpirc_power.loopback import is_this_machine
from lpirc_power.meter import Identity, IntegratorState, Limits
from lpirc_power.own_term import OwnTerm
from lpirc_power.scheme import Scheme

POWER_W = 36.0


class Device:
    """What stands on the table: it can be unplugged and restarted."""

    is_there = True
    is_garbled = False
    counts_from_s = 0.0

    def wh(
        self,
        now_s: float,
    ) -> float:
        if not self.is_there:
            raise OSError("no answer")
        if self.is_garbled:
            self.is_garbled = False
            raise ValueError("not a number: '?'")
        return POWER_W * (now_s - self.counts_from_s) / 3600.0


DEVICE = Device()


class Counter:
    """The driver's view of the device."""

    identity = Identity("ACME", "Plug", "0815", "1.0")

    def look(
        self,
        now_s: float,
    ) -> Sample:
        try:
            wh = DEVICE.wh(now_s)
        except OSError as error:
            raise MeterLost(f"The plug gives no answer: {error}.") from error
        except ValueError as error:
            raise MeterAnswerError(f"The plug answers {error}.") from error
        return self.shown(wh, now_s)

    def shown(
        self,
        wh: float,
        now_s: float,
    ) -> Sample:
        return Sample(wh, now_s, POWER_W, 230.0, POWER_W / 207.0, POWER_W / 0.9, 0.9)


class Clean(Scheme):
    """Has no fault."""

    counter: ClassVar[type] = Counter
    meter: ClassVar[Any] = HomeMeter

    def __init__(
        self,
        rest: str,
    ) -> None:
        super().__init__(rest)
        if not rest.strip("/ "):
            raise MeterAddressError("acme: needs a name, as acme:kitchen.")
        self.made: Any = None

    def connect(
        self,
        clocks: Any,
    ) -> Any:
        if not DEVICE.is_there:
            raise MeterUnreachable("No plug answers.")
        if self.made is None:
            self.made = self.meter(self.counter(), clocks)
        return self.made

    @staticmethod
    def limits(model: str) -> Limits | None:
        if model != "Plug":
            return None
        return Limits(0.01, 0.0, 0.0, 0.005, 2500.0, source="data sheet, page 2")

    @staticmethod
    def is_loopback(rest: str) -> bool:
        return is_this_machine(rest.partition(":")[0])


class JoulesCounter(Counter):
    def shown(
        self,
        wh: float,
        now_s: float,
    ) -> Sample:
        return replace(super().shown(wh, now_s), energy_wh=3600 * wh)


class CountsJoules(Clean):
    counter = JoulesCounter


class MilliwattsCounter(Counter):
    def shown(
        self,
        wh: float,
        now_s: float,
    ) -> Sample:
        return replace(super().shown(wh, now_s), power_w=1000 * POWER_W)


class ShowsMilliwatts(Clean):
    counter = MilliwattsCounter


class PercentCounter(Counter):
    def shown(
        self,
        wh: float,
        now_s: float,
    ) -> Sample:
        return replace(super().shown(wh, now_s), power_factor=90.0)


class FactorInPercent(Clean):
    counter = PercentCounter


class TooHighCounter(Counter):
    def shown(
        self,
        wh: float,
        now_s: float,
    ) -> Sample:
        sample = super().shown(1.1 * wh, now_s)
        return replace(
            sample, power_w=1.1 * POWER_W, apparent_va=44.0, current_a=44 / 230
        )


class TenPercentTooHigh(Clean):
    counter = TooHighCounter


class SlidingCounter(Counter):
    """Adds its power for each look, as if an update had passed, however long it was."""

    looks = 0

    def shown(
        self,
        wh: float,
        now_s: float,
    ) -> Sample:
        self.looks += 1
        counted = POWER_W * 0.25 * self.looks / 3600
        return replace(super().shown(wh, now_s), energy_wh=counted)


class CountsLooks(Clean):
    counter = SlidingCounter


class LimitsInPercent(Clean):
    @staticmethod
    def limits(model: str) -> Limits | None:
        if model != "Plug":
            return None
        return Limits(1.0, 0.0, 0.0, 0.5, 2500.0, source="data sheet, page 2")


class LimitsWithoutSource(Clean):
    @staticmethod
    def limits(model: str) -> Limits | None:
        return Limits(0.01, 0.0, 0.0, 0.005, 2500.0)


class EscapingCounter(Counter):
    def look(
        self,
        now_s: float,
    ) -> Sample:
        values: dict[str, float] = {}
        return Sample(values["total"], now_s)


class LetsErrorsEscape(Clean):
    counter = EscapingCounter


class OwnClockMeter(HomeMeter):
    def read_update(self) -> Any:
        reading, is_new = super().read_update()
        return replace(reading, utc=reading.utc.replace(tzinfo=None)), is_new


class UtcWithoutZone(Clean):
    meter = OwnClockMeter


class OtherClockMeter(HomeMeter):
    def read_update(self) -> Any:
        reading, is_new = super().read_update()
        return replace(reading, monotonic_s=reading.utc.timestamp()), is_new


class OtherClock(Clean):
    meter = OtherClockMeter


class NewMeter(HomeMeter):
    def read_update(self) -> Any:
        return super().read_update()[0], True


class AlwaysNew(Clean):
    meter = NewMeter


class OldMeter(HomeMeter):
    def read_update(self) -> Any:
        return super().read_update()[0], False


class NeverNew(Clean):
    meter = OldMeter


class Forgets(Clean):
    def connect(
        self,
        clocks: Any,
    ) -> Any:
        self.made = None
        return super().connect(clocks)


class StaleCounter(Counter):
    last: Sample | None = None

    def look(
        self,
        now_s: float,
    ) -> Sample:
        try:
            self.last = super().look(now_s)
        except MeterLost:
            if self.last is None:
                raise
        assert self.last is not None
        return self.last


class ShowsOldReadings(Clean):
    counter = StaleCounter


class RefusingCounter(Counter):
    def look(
        self,
        now_s: float,
    ) -> Sample:
        try:
            return super().look(now_s)
        except MeterLost as error:
            raise MeterRefused(error.sentence) from error


class LossEndsTheRun(Clean):
    counter = RefusingCounter


class AsksNobody(Clean):
    def connect(
        self,
        clocks: Any,
    ) -> Any:
        if self.made is None:
            self.made = self.meter(self.counter(), clocks)
        return self.made


class UnreachableEscapes(Clean):
    def connect(
        self,
        clocks: Any,
    ) -> Any:
        if not DEVICE.is_there:
            raise TimeoutError("timed out")
        return super().connect(clocks)


class TimelessMeter(HomeMeter):
    def configure(
        self,
        setup: Any,
    ) -> None:
        super().configure(replace(setup, integrator_timer_s=0))


class IgnoresTheTimer(Clean):
    meter = TimelessMeter


class RestlessMeter(HomeMeter):
    def stop(self) -> None:
        """Stop nothing, and say that it did."""
        self.says_stop = True

    def state(self) -> IntegratorState:
        found = super().state()
        says_stop = getattr(self, "says_stop", False)
        is_running = found is IntegratorState.START
        return IntegratorState.STOP if says_stop and is_running else found


class RunsOn(Clean):
    meter = RestlessMeter


class RashMeter(HomeMeter):
    def configure(
        self,
        setup: Any,
    ) -> None:
        self.stop()
        super().configure(setup)


class ResetsWhatRuns(Clean):
    meter = RashMeter


class Restless(Clean):
    """Another serial number at each link."""

    links = 0

    def connect(
        self,
        clocks: Any,
    ) -> Any:
        meter = super().connect(clocks)
        Restless.links += 1
        serial = f"link-{Restless.links}"
        meter.sensor.identity = Identity("ACME", "Plug", serial, "1.0")
        return meter


class TalksOfElsewhere(Clean):
    @staticmethod
    def is_loopback(rest: str) -> bool:
        return False


class BrittleMeter(HomeMeter):
    closed = 0

    def close(self) -> None:
        self.closed += 1
        if self.closed % 2 == 0:
            raise OSError("Bad file descriptor")


class ClosesOnce(Clean):
    meter = BrittleMeter


class TakesAnyAddress(Clean):
    def __init__(
        self,
        rest: str,
    ) -> None:
        super().__init__(rest)
        self.port = int(rest.partition(":")[2])


class ListsHosts(Clean):
    @staticmethod
    def find() -> Any:
        return ["kitchen"]


class WrappingCounter(Counter):
    """Takes each fall of the counter for a wrap."""

    before_wh = 0.0
    wraps = 0

    def shown(
        self,
        wh: float,
        now_s: float,
    ) -> Sample:
        self.wraps += wh < self.before_wh
        self.before_wh = wh
        return super().shown(wh + 65.536 * self.wraps, now_s)


class TakesARestartForAWrap(Clean):
    counter = WrappingCounter


class OwnTermWithoutASize(Clean):
    @staticmethod
    def limits(model: str) -> Limits | None:
        if model != "Plug":
            return None
        own = (OwnTerm("counter-step", "the step of the counter", "page 3"),)
        return Limits(
            0.01, 0.0, 0.0, 0.005, 2500.0, source="data sheet, page 2", own=own
        )


class ClampOfTenPercent(TenPercentTooHigh):
    """Is off by what the driver states as its own."""

    @staticmethod
    def limits(model: str) -> Limits | None:
        if model != "Plug":
            return None
        own = (OwnTerm("clamp", "the clamp", "page 4", share=0.1),)
        return Limits(
            0.01, 0.0, 0.0, 0.005, 2500.0, source="data sheet, page 2", own=own
        )


class DriftingCounter(Counter):
    """A load that is never the same."""

    def shown(
        self,
        wh: float,
        now_s: float,
    ) -> Sample:
        power_w = POWER_W + 0.01 * (now_s % 10)
        return replace(super().shown(wh, now_s), power_w=power_w)


class UnmarkedMeter(HomeMeter):
    """Marks one update of three."""

    marked = 0

    def read_update(self) -> Any:
        reading, is_new = super().read_update()
        self.marked += is_new
        return reading, is_new and self.marked % 3 == 0


class MarksFew(Clean):
    counter = DriftingCounter
    meter = UnmarkedMeter


class SlowCounter(Counter):
    """Takes 0.4 s for an answer."""

    passes: ClassVar[Any] = None

    def look(
        self,
        now_s: float,
    ) -> Sample:
        SlowCounter.passes(0.4)
        return super().look(now_s)


class AnswersSlowly(Clean):
    counter = SlowCounter


class EscapingRubbishCounter(Counter):
    def look(
        self,
        now_s: float,
    ) -> Sample:
        try:
            return super().look(now_s)
        except MeterAnswerError as error:
            raise ValueError(str(error.__cause__)) from error


class LetsRubbishEscape(Clean):
    counter = EscapingRubbishCounter


class ZeroCounter(Counter):
    def look(
        self,
        now_s: float,
    ) -> Sample:
        try:
            return super().look(now_s)
        except MeterAnswerError:
            return self.shown(0.0, now_s)


class TakesRubbishForNothing(Clean):
    counter = ZeroCounter


class SecondsCounter(Counter):
    """Counts once a second."""

    def shown(
        self,
        wh: float,
        now_s: float,
    ) -> Sample:
        second_s = now_s // 1.0 - DEVICE.counts_from_s
        return replace(super().shown(wh, now_s), energy_wh=POWER_W * second_s / 3600)


class CountsEachSecond(Clean):
    counter = SecondsCounter


class StatesTooYoung(CountsEachSecond):
    @staticmethod
    def limits(model: str) -> Limits | None:
        found = Clean.limits(model)
        return found and replace(found, age_s=0.1)


class StatesItsAge(CountsEachSecond):
    @staticmethod
    def limits(model: str) -> Limits | None:
        found = Clean.limits(model)
        return found and replace(found, age_s=1.0)


PLUG = Limits(0.01, 0.0, 0.0, 0.005, 2500.0, source="data sheet, page 2")


class OwnTermOfNoNumber(Clean):
    @staticmethod
    def limits(model: str) -> Limits | None:
        own = (OwnTerm("clamp", "the clamp", "page 4", share=math.nan),)
        return replace(PLUG, own=own) if model == "Plug" else None


class OwnTermTooLarge(Clean):
    @staticmethod
    def limits(model: str) -> Limits | None:
        own = (OwnTerm("clamp", "the clamp", "page 4", energy_wh=1e300),)
        return replace(PLUG, own=own) if model == "Plug" else None


class AgeOfNoNumber(Clean):
    @staticmethod
    def limits(model: str) -> Limits | None:
        return replace(PLUG, age_s=math.nan) if model == "Plug" else None


class LimitsThatChange(Clean):
    asked = 0

    @classmethod
    def limits(cls, model: str) -> Limits | None:
        if model != "Plug":
            return None
        cls.asked += 1
        return replace(PLUG, reading_share=0.01 + cls.asked / 1e4)


class FullCounter(Counter):
    """Shows 0 Wh after each 0.03 Wh, which are 3 s."""

    def shown(
        self,
        wh: float,
        now_s: float,
    ) -> Sample:
        return super().shown(wh % 0.03, now_s)


class ForgetsThatTheCounterIsFull(Clean):
    counter = FullCounter


class LargerCounter(Counter):
    """Shows 0 Wh after each 0.1 Wh, which are 10 s."""

    def shown(
        self,
        wh: float,
        now_s: float,
    ) -> Sample:
        return super().shown(wh % 0.1, now_s)


class UnwrapsTheCounter(Clean):
    counter = LargerCounter
    # From Python 3.14 on, a partial in a class is a method.
    meter = staticmethod(partial(HomeMeter, wrap=Wrap(at_wh=0.1, most_w=40.0)))
