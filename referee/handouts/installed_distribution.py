"""An installed distribution: its metadata, and the files of its package, also where it is installed from a checkout."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

COMPILED = {".pyc", ".so", ".pyd"}
"""Files that are made on this machine or for it alone; a package of Python works without them."""


@dataclass(frozen=True)
class Installed:
    """A distribution with one package, by the names of both."""

    name: str
    package: str
    metadata: Distribution
    folder: Path

    @property
    def version(self) -> str:
        """Return its version."""
        return self.metadata.version

    @property
    def info_folder(self) -> str:
        """Return the name of the folder of its metadata."""
        return f"{self.name.replace('-', '_')}-{self.version}.dist-info"

    @property
    def needs_python(self) -> str:
        """Return what it states of Python's version, as ">=3.8"."""
        return str(self.metadata.metadata.get("Requires-Python", ""))

    def package_files(self) -> dict[str, bytes]:
        """Return the files of its package that run everywhere, by path, in order."""
        # Examples are reached by a link in a checkout, so links are followed.
        return {
            f"{self.package}/{name}": path.read_bytes()
            for name, path in _files(self.folder, "").items()
            if path.suffix not in COMPILED
        }

    def information(self) -> dict[str, bytes]:
        """Return its stated metadata and licences, by path."""
        found = {"METADATA": self.metadata.read_text("METADATA")}
        found["entry_points.txt"] = self.metadata.read_text("entry_points.txt")
        for file in self.metadata.files or []:
            if ".dist-info/licenses/" in file.as_posix():
                inside = file.as_posix().partition(".dist-info/")[2]
                found[inside] = self.metadata.read_text(inside)
        return {
            f"{self.info_folder}/{name}": text.encode()
            for name, text in sorted(found.items())
            if text is not None
        }


def installed(name: str, package: str) -> Installed | None:
    """Return a distribution; None if it is not installed."""
    try:
        metadata = distribution(name)
    except PackageNotFoundError:
        return None
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Installed(name, package, metadata, Path(spec.submodule_search_locations[0]))


def _files(folder: Path, before: str) -> dict[str, Path]:
    found = {}
    for path in sorted(folder.iterdir()):
        name = f"{before}{path.name}"
        if path.is_file():
            found[name] = path
        elif path.name != "__pycache__":
            found |= _files(path, f"{name}/")
    return found
