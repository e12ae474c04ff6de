"""The failures of meters: a stable code, one clear sentence, and a class where a program branches."""

from __future__ import annotations

from typing import ClassVar


class MeterError(Exception):
    """A failure of a meter, of the link to it, or of a request to it.

    `code` is stable and kebab-case ("meter-lost"); the sentence names the value and says what to do. docs/energy.md
    lists the codes.
    """

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


class NamedMeterError(MeterError):
    """A failure whose class fixes its code."""

    CODE: ClassVar[str]

    def __init__(self, sentence: str) -> None:
        super().__init__(self.CODE, sentence)


class PassingMeterError(NamedMeterError):
    """A failure after which a new link may find the meter unchanged."""


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
    """An answer makes no sense."""

    CODE = "meter-answer"


class MeterBusy(NamedMeterError):
    """The meter integrates, or holds an energy; nothing was set."""

    CODE = "meter-busy"


class MeterRangeError(NamedMeterError):
    """The meter does not have what was asked for; nothing was set."""

    CODE = "meter-range"


class MeterRefused(NamedMeterError):
    """The meter does not take a command."""

    CODE = "meter-refused"


class MeterChanged(NamedMeterError):
    """Another meter answers than before."""

    CODE = "meter-changed"


class MeterAddressError(NamedMeterError):
    """The address cannot be that of a meter."""

    CODE = "meter-wrong-address"


class MeterDriverError(NamedMeterError):
    """The driver of another distribution is broken, or two of them claim one scheme."""

    CODE = "meter-driver"


class EnergyUnmeasured(NamedMeterError):
    """The readings do not tell the energy of a loop of inferences."""

    CODE = "energy-unmeasured"
