"""pyusb's structures are deprecated since Python 3.14; USB meters stay there for who makes warnings errors."""

from __future__ import annotations

import subprocess
import sys

import pytest

OF_PYUSB = "Due to '_pack_', the '_usb_descriptor_header' Structure will use memory layout compatible with MSVC"
OF_OTHERS = (
    "Due to '_pack_', the 'Own' Structure will use memory layout compatible with MSVC"
)
WARNING_AS_ON_3_14 = """
import sys
import warnings

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "usb.backend.libusb0":
            warnings.warn(sys.argv[1], DeprecationWarning)

sys.meta_path.insert(0, Finder())
import lpirc_power.visa.link
print("usb.backend.libusb0" in sys.modules)
print(any(one[1] and "_pack_" in one[1].pattern for one in warnings.filters if hasattr(one[1], "pattern")))
"""


@pytest.mark.parametrize(
    ("message", "is_imported"),
    [
        (OF_PYUSB, "True"),
        (OF_OTHERS, "False"),
    ],
)
def test_the_deprecation_of_pyusbs_structures_and_no_other_is_let_pass(
    message: str,
    is_imported: str,
) -> None:
    command = [
        sys.executable,
        "-W",
        "error::DeprecationWarning",
        "-c",
        WARNING_AS_ON_3_14,
        message,
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [is_imported, "False"]
