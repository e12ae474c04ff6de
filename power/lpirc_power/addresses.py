"""From an ADDRESS to an open meter: real, simulated by a child process, or one for rehearsing at home."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import IO, Final, cast

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterAddressError, MeterError, MeterLost
from lpirc_power.home.hwmon import Hwmon
from lpirc_power.home.meter import HomeMeter, Sensor
from lpirc_power.home.rapl import Rapl
from lpirc_power.meter import OFFICIAL_MAKER, Driver, Identity, Limits, Meter, Standing
from lpirc_power.operating_system import OWN_GROUP
from lpirc_power.resources import Resource, resource_of, wrong
from lpirc_power.wt300.driver import Wt300Family

_log: Final = logging.getLogger(__name__)

GROUP: Final = "lpirc.meters"
"""The entry point group of meter drivers, each a class that implements `lpirc_power.meter.Driver`."""
BUILT_IN: Final[tuple[type[Driver], ...]] = (Wt300Family,)
"""Found first, and without any installed metadata."""
SIMULATOR: Final = "sim"
DEFAULT_LOAD: Final = "constant:36W"
STARTING_S: Final = 20.0
ENDING_S: Final = 5.0
SYSFS: Final = Path("/sys")
SYSFS_VARIABLE: Final = "METER_SYSFS"
"""Where sysfs is mounted, if not at /sys: a container may see the machine's own elsewhere."""
IDENTITY_PARTS: Final = 4
"""Of an answer to *IDN?: maker, model, serial number, firmware."""
PTYS: Final = "/dev/pts/"
"""Serial ports behind which a program of this machine is."""
_HOME: Final[dict[str, Callable[[str, Path], Sensor]]] = {"rapl": Rapl, "hwmon": Hwmon}


class MeterAddress:
    """An address that is good for any number of links, one after another.

    It owns what outlives a link: the driver, with the settings found in the meter; for `sim:` the simulator, started at
    the first link and ended by `close`; for a meter at home its integrator. A part `@py`, `@ivi` or `@sim` behind a
    VISA resource picks the backend.
    """

    def __init__(self, address: str, sysfs: Path | None = None) -> None:
        """Check the form; MeterError `meter-wrong-address`, with what may have been meant.

        `sysfs` is where the sensors of this machine are shown; without it METER_SYSFS in the environment, else /sys.
        """
        self.address = address
        self._sysfs = sysfs or Path(os.environ.get(SYSFS_VARIABLE) or SYSFS)
        self._kind, _, self._rest = address.partition(":")
        self._child: subprocess.Popen[str] | None = None
        self._home: HomeMeter | None = None
        self._drivers: dict[type[Driver], Driver] = {}
        self._resource = Resource(address)
        if self._kind != SIMULATOR and self._kind not in _HOME:
            self._resource = _visa(address)

    def connect(self, clocks: Clocks) -> Meter:
        """Open a link and identify the meter behind it. The caller closes it."""
        if self._kind in _HOME:
            if self._home is None:
                self._home = HomeMeter(
                    _HOME[self._kind](self._rest, self._sysfs), clocks
                )
            return self._home
        # VISA takes a fifth of a second to import, so it is imported only where a link is opened.
        from lpirc_power.visa.introduction import introduction
        from lpirc_power.visa.link import Link

        resource = self._visa_resource()
        link = Link(resource.name, resource.backend, baud=resource.baud)
        try:
            found = identity(introduction(link, keeps_answers=resource.host is None))
            kind = driver_of(found)
            return self._drivers.setdefault(kind, kind()).meter(link, found, clocks)
        except BaseException:
            link.close()
            raise

    def close(self) -> None:
        """End the simulator, if one was started, or forget the integrator of a meter at home; may be repeated."""
        self._home = None
        child, self._child = self._child, None
        if child is None:
            return
        child.terminate()
        with child:  # which closes its pipes, and waits
            try:
                child.wait(ENDING_S)
            except subprocess.TimeoutExpired:
                child.kill()

    def _visa_resource(self) -> Resource:
        if self._kind != SIMULATOR:
            return self._resource
        if self._child is None:
            self._child, name = _start_simulator(self._rest or DEFAULT_LOAD)
            self._resource = Resource(name)
        elif self._child.poll() is not None:
            raise MeterLost(
                f"The simulated meter started for {self.address} has ended, and its energy with it."
            )
        return self._resource


def drivers() -> Iterator[type[Driver]]:
    """Give every driver: the built-in ones, then those of other distributions. One that cannot be loaded is logged."""
    yield from BUILT_IN
    for point in entry_points(group=GROUP):
        try:
            driver: type[Driver] = point.load()
        except Exception as error:  # noqa: BLE001 - whatever another distribution raises at its import
            _log.warning(
                "The meter driver %s (%s) cannot be loaded: %s",
                point.name,
                point.value,
                error,
            )
            continue
        if driver not in BUILT_IN:
            yield driver


def driver_of(found: Identity) -> type[Driver]:
    """Return the driver of a meter that identifies itself so; MeterError `meter-wrong-model` if there is none."""
    known = []
    for driver in drivers():
        if driver.matches(found):
            return driver
        known.append(driver.models)
    raise MeterError(
        "meter-wrong-model",
        f"The meter says it is a {found.model}; only {', '.join(known)} are supported.",
    )


def limits_of(model: str) -> Limits | None:
    """Return what is known of the accuracy of a model ("WT310E"); None if nothing is."""
    found = (driver.limits(model) for driver in drivers())
    return next((limits for limits in found if limits is not None), None)


def standing(
    found: Identity, address: str, *, loopback_meter: bool = False
) -> Standing:
    """Return whether a meter counts in a contest; its model is known if a driver states its limits of error.

    `loopback_meter` is the operator's word that a real meter is behind a loopback address, as behind a tunnel.
    """
    if found.maker.strip().upper() != OFFICIAL_MAKER:
        return Standing.OTHER_MAKER
    if not found.official or _is_simulated(address):
        return Standing.SIMULATED
    if limits_of(found.model) is None:
        return Standing.UNKNOWN_MODEL
    if not is_loopback(address):
        return Standing.OFFICIAL
    return Standing.LOOPBACK_ALLOWED if loopback_meter else Standing.LOOPBACK


def is_loopback(address: str) -> bool:
    """Return whether a VISA address leads back to this machine: loopback, a name that stands for it, or a pty."""
    resource = _resource_of_visa(address)
    if resource is None:
        return False
    if (resource.serial_port or "").startswith(PTYS):
        return True
    if resource.host is None:
        return False
    try:
        places = socket.getaddrinfo(resource.host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    found = [
        ipaddress.ip_address(str(place[0]).partition("%")[0]) for *_, place in places
    ]
    # A connection to 0.0.0.0 reaches this machine.
    return any(one.is_loopback or one.is_unspecified for one in found)


def _is_simulated(address: str) -> bool:
    resource = _resource_of_visa(address)
    return resource is not None and resource.is_simulated


def _resource_of_visa(address: str) -> Resource | None:
    try:
        return resource_of(address)
    except MeterAddressError:
        return None


def identity(answer: str) -> Identity:
    """Return who answered *IDN?; MeterError `meter-wrong-model` unless it has four parts.

    Some instruments add more behind the firmware; it is left out.
    """
    parts = [part.strip() for part in answer.split(",")]
    if len(parts) < IDENTITY_PARTS:
        raise MeterError(
            "meter-wrong-model",
            f"The instrument introduces itself as {answer!r}; that is not a meter.",
        )
    return Identity(*parts[:IDENTITY_PARTS])


@contextlib.contextmanager
def open_meter(address: str, clocks: Clocks) -> Iterator[Meter]:
    """Give an identified meter for the length of a with statement; nothing is set in it yet."""
    with (
        contextlib.closing(MeterAddress(address)) as opened,
        contextlib.closing(opened.connect(clocks)) as meter,
    ):
        yield meter


def _visa(address: str) -> Resource:
    """Return the VISA resource that an address names."""
    kind, colon, rest = address.partition(":")
    if colon and kind.lower() == "replay":
        raise wrong(
            address, f"The simulated meter plays recordings: write sim:csv:{rest}."
        )
    if colon and kind.lower() in (SIMULATOR, *_HOME):
        raise wrong(
            address, f"Perhaps {kind.lower()}:{rest} is meant, in small letters."
        )
    return resource_of(address)


def _start_simulator(load: str) -> tuple[subprocess.Popen[str], str]:
    # By module and interpreter, to work however the program was started. Its own session: a Ctrl-C
    # at the terminal must not take the meter away before its energy is read; --parent ends it whatever
    # happens to us.
    command = [sys.executable, "-P", "-m", "lpirc_power", "simulate", "--load", load]
    command += ["--parent", str(os.getpid())]
    child = subprocess.Popen(  # noqa: S603  our own program
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        creationflags=OWN_GROUP,
    )
    if line := _first_line(child):
        return child, line
    child.kill()
    _, complaint = child.communicate()
    reason = complaint.strip().removeprefix("meter: ") or "It did not start."
    raise MeterError("simulator-failed", f"No simulated meter: {reason}")


def _first_line(child: subprocess.Popen[str]) -> str:
    """What it says first; "" if that does not come in time. Read by a thread: Windows selects among sockets only."""
    pipe = cast("IO[str]", child.stdout)
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.append(pipe.readline()), daemon=True)
    reader.start()
    reader.join(STARTING_S)
    return lines[0].strip() if lines else ""
