"""Installs small distributions with entry points, as a plug-in does, for the time of a test."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lpirc_testsets.plugins import forget_plugins


class Installer:
    """Puts distributions into a folder that Python imports from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[str] = []

    def install(
        self,
        name: str,
        group: str,
        entries: str,
        source: str,
    ) -> None:
        """Install the distribution `name` 1.0: one module of that name, and entry points, one a line."""
        (self.folder / f"{name}.py").write_text(source)
        info = self.folder / f"{name}-1.0.dist-info"
        info.mkdir()
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        (info / "METADATA").write_text(about)
        (info / "entry_points.txt").write_text(f"[{group}]\n{entries}\n")
        self.modules.append(name)
        forget_plugins()

    def change(self, name: str, source: str) -> None:
        """Replace the code of an installed distribution, at the same version, as an editable install allows."""
        (self.folder / f"{name}.py").write_text(source)
        sys.modules.pop(name, None)
        shutil.rmtree(self.folder / "__pycache__", ignore_errors=True)
        forget_plugins()

    def uninstall(self, name: str) -> None:
        """Remove a distribution."""
        shutil.rmtree(self.folder / f"{name}-1.0.dist-info")
        (self.folder / f"{name}.py").unlink()
        sys.modules.pop(name, None)
        forget_plugins()


@contextmanager
def plugins_in(folder: Path) -> Iterator[Installer]:
    """Install plug-ins into this folder, and forget them at the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        installer = Installer(folder)
        yield installer
    for module in installer.modules:
        sys.modules.pop(module, None)
    forget_plugins()
