"""Imports every module of the packages that are named, but those that run models."""

import importlib
import pkgutil
import sys

for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for found in pkgutil.walk_packages(package.__path__, f"{name}."):
        if ".harness" not in found.name and not found.name.endswith(
            (".__main__", ".cluster", ".cluster_client")
        ):
            importlib.import_module(found.name)
print(*sorted(one for one in sys.modules if one.split(".")[0] in sys.argv), sep="\n")  # noqa: T201 - for the test that runs it
