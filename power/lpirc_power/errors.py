"""Errors of meters: each has a stable code and one clear sentence, and a class if a program handles it specially."""

from __future__ import annotations

from typing import ClassVar


class MeterError(Exception):
    """A failure of a meter, of the link to it, or of a request to it.

    `code` is stable and kebab-case ("meter-lost"); the sentence names the value concerned and says what to do.
    docs/energy.md lists the codes.
    """

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


class NamedMeterError(MeterError):
    """A failure whose code is fixed by its class."""

    CODE: ClassVar[str]

    def __init__(self, sentence: str) -> None:
        super().__init__(self.CODE, sentence)


class PassingMeterError(NamedMeterError):
    """A failure that may be temporary: a new link may find the meter as it was."""


class MeterLost(PassingMeterError):
    """The link broke."""

    CODE = "meter-lost"


class MeterUnreachable(PassingMeterError):
    """No link can be opened."""

    CODE = "meter-unreachable"


class MeterTimeout(PassingMeterError):
    """No answer came in time."""

    CODE = "meter-timeout"


class MeterLocked(PassingMeterError):
    """Another program has locked the meter."""

    CODE = "meter-locked"


class MeterAnswerError(PassingMeterError):
    """An answer has no meaning."""

    CODE = "meter-answer"


class MeterBusy(NamedMeterError):
    """The meter integrates or still holds an energy; no setting was changed."""

    CODE = "meter-busy"


class MeterRangeError(NamedMeterError):
    """The meter does not support a requested value; no setting was changed."""

    CODE = "meter-range"


class MeterRefused(NamedMeterError):
    """The meter refuses a command."""

    CODE = "meter-refused"


class MeterChanged(NamedMeterError):
    """The meter at the address is not the one that answered before."""

    CODE = "meter-changed"


class MeterAddressError(NamedMeterError):
    """The address cannot belong to a meter."""

    CODE = "meter-wrong-address"


class MeterDriverError(NamedMeterError):
    """A driver from another Python distribution is broken, or two drivers have the same scheme."""

    CODE = "meter-driver"


class EnergyUnmeasured(NamedMeterError):
    """The energy of a loop of inferences cannot be determined from the readings."""

    CODE = "energy-unmeasured"


class MeterBackendMissing(NamedMeterError):
    """A library that the meter needs is not installed; the sentence has the command that installs it."""

    CODE = "meter-backend"
