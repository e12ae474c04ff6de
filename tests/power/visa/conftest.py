"""A bus for USB meters, in place of libusb, under the real pyusb and pyvisa-py."""

from __future__ import annotations

import contextlib
import importlib
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from pyvisa_py.sessions import Session


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Give pyusb a backend, and let pyvisa-py look again at what it can serve."""

    def use(backend: Any) -> None:
        for library in ("libusb1", "libusb0", "openusb"):
            with warnings.catch_warnings():  # pyusb's, as in lpirc_power.visa.link
                warnings.filterwarnings("ignore", "Due to '_pack_'", DeprecationWarning)
                module = importlib.import_module(f"usb.backend.{library}")
            monkeypatch.setattr(module, "get_backend", lambda *_, **__: backend)
        reload()

    def reload() -> None:
        monkeypatch.setattr(Session, "_session_classes", dict(Session._session_classes))  # noqa: SLF001 - pyvisa-py registers its sessions at import
        monkeypatch.delitem(sys.modules, "pyvisa_py.usb", raising=False)
        with contextlib.suppress(Exception):
            importlib.import_module("pyvisa_py.usb")

    use.reload = reload  # type: ignore[attr-defined]
    return use
