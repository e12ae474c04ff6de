"""Imports a maker's library when a meter is opened, so that a computer without it gets one sentence."""

from __future__ import annotations

import importlib
from types import ModuleType

from lpirc_power.errors import MeterBackendMissing


def library(module: str, install: str) -> ModuleType:
    """Return a module of a library that a driver needs; call it in `connect`, not at the top of the driver.

    `install` is the command that installs the library. Raises MeterBackendMissing (`meter-backend`), also if the
    library is installed and cannot be imported.
    """
    name = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name:
            raise _broken(name, install, error) from error
        raise MeterBackendMissing(
            f"This meter needs the library {name}, which is not installed: {install}"
        ) from error
    except Exception as error:
        raise _broken(name, install, error) from error


def _broken(name: str, install: str, error: Exception) -> MeterBackendMissing:
    why = " ".join(str(error).split()).removesuffix(".")
    return MeterBackendMissing(
        f"The library {name}, which this meter needs, cannot be imported ({type(error).__name__}: {why}); install it "
        f"anew: {install}"
    )
