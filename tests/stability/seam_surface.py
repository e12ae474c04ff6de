"""Public seams: the groups of entry points, and the names that each distribution has in them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.wheels.building import FOLDERS


def lines(root: Path) -> list[str]:
    """Return a line for each command, extra and entry point of a distribution."""
    found = []
    for name, folder in FOLDERS.items():
        text = (root / folder / "pyproject.toml").read_text()
        project = tomllib.loads(text)["project"]
        found.append(f"{name}: Python {project['requires-python']}")
        found += [f"{name}: command {one}" for one in project.get("scripts", {})]
        extras = project.get("optional-dependencies", {})
        found += [f"{name}: extra {one}" for one in extras]
        for group, points in project.get("entry-points", {}).items():
            found += [f"{name}: {group} {one}" for one in points]
    return sorted(found)
