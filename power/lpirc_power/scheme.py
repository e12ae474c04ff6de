"""Extension point for meters of any kind: a scheme opens the meters at addresses SCHEME:REST."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from lpirc_power.clocks import Clocks
from lpirc_power.meter import Limits, Meter


class Scheme(ABC):
    """The meters of one address scheme. Registered as a class in the entry point group `lpirc.meters`.

    The name of the entry point is the scheme: `joulescope` opens `joulescope:001234`. One instance serves one address,
    from its first link to `close`, and keeps what must outlive a link.
    """

    def __init__(self, rest: str) -> None:
        """Check the part after the colon without opening anything; MeterAddressError if no meter can have it."""
        self.rest = rest

    @abstractmethod
    def connect(self, clocks: Clocks) -> Meter:
        """Open a link and return the identified meter, which the caller closes; MeterError if there is none."""

    def close(self) -> None:  # noqa: B027 - most have nothing to release
        """Release everything that outlives a link; a second call does nothing."""

    @staticmethod
    def find() -> Iterable[str]:
        """Return the addresses of connected meters, scheme included, for `meter find`."""
        return ()

    @staticmethod
    def limits(model: str) -> Limits | None:
        """Return the limits of error of a model; None if the model is unknown or has no stated uncertainty."""
        return None

    @staticmethod
    def is_simulated(rest: str) -> bool:
        """Return True if the meter at the address is simulated or for rehearsals, so never official."""
        return False

    @staticmethod
    def is_loopback(rest: str) -> bool:
        """Return True if the address leads back to this machine, where any program can answer."""
        return False
