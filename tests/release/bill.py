"""The bill of materials in CycloneDX 1.6: our distributions, what the locks install beside them, the pages' scripts.

It is a function of the commit and of the files: built twice, its bytes are equal.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from itertools import chain
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.release.building import sha256_of
from tests.release.requirements import Locked, locked, name_and_version
from tests.wheels.building import requirements_of

NAME = "sbom.cdx.json"
LICENCE = "MIT"
WITH_SCRIPTS = "lpirc-referee"


def bill_text(root: Path, version: str, made_s: int, files: Sequence[Path]) -> str:
    """Return the bill of a release whose commit was made at `made_s` (seconds since 1970)."""
    wheels = {name_and_version(one)[0]: one for one in files if one.suffix == ".whl"}
    project = _component("lpirc", version, is_ours=True, kind=ComponentType.APPLICATION)
    ours = {name: _ours(wheel) for name, wheel in wheels.items()}
    known = {name: [one] for name, one in ours.items()}
    for package in locked(root):  # several versions where they differ by Python
        known.setdefault(package.name, []).append(_other(package))
    scripts = [*_scripts(root)]
    bom = Bom(
        components=[*chain(*known.values()), *scripts],
        serial_number=_serial_number(version, made_s, files),
        metadata=BomMetaData(
            component=project,
            timestamp=datetime.fromtimestamp(made_s, UTC),
        ),
    )
    bom.register_dependency(project, ours.values())
    for name, versions in known.items():
        asked = requirements_of(wheels[name]) if name in wheels else _installed(name)
        needs = [*chain(*(known.get(need, []) for need in sorted(_names(asked))))]
        if name == WITH_SCRIPTS:
            needs += scripts
        for one in versions:
            bom.register_dependency(one, needs)
    return _json(bom)


def _json(bom: Bom) -> str:
    written = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6)
    document = json.loads(written.output_as_string())
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _serial_number(version: str, made_s: int, files: Sequence[Path]) -> uuid.UUID:
    sums = "".join(f"{one.name} {sha256_of(one)}\n" for one in files)
    return uuid.uuid5(uuid.NAMESPACE_OID, f"lpirc {version} {made_s}\n{sums}")


def _ours(wheel: Path) -> Component:
    name, version = name_and_version(wheel)
    one = _component(name, version, is_ours=True)
    one.hashes.add(HashType(alg=HashAlgorithm.SHA_256, content=sha256_of(wheel)))
    return one


def _other(package: Locked) -> Component:
    one = _component(package.name, package.version, is_ours=False)
    optional = package.is_optional
    one.scope = ComponentScope.OPTIONAL if optional else ComponentScope.REQUIRED
    licence = _licence(package.name)
    if licence is not None:
        one.licenses.add(licence)
    return one


def _component(
    name: str,
    version: str,
    *,
    is_ours: bool,
    kind: ComponentType = ComponentType.LIBRARY,
) -> Component:
    one = Component(name=name, version=version, type=kind, bom_ref=f"{name}=={version}")
    if is_ours:
        one.licenses.add(LicenseExpression(LICENCE))
    else:
        one.purl = PackageURL("pypi", None, name, version)
    return one


def _scripts(root: Path) -> Iterator[Component]:
    """The front-end pieces that lie in the referee's wheel."""
    listed = json.loads((root / "referee/pages/vendor.json").read_text())
    for name, piece in listed.items():
        version = piece["version"]
        yield Component(
            name=name,
            version=version,
            bom_ref=f"npm:{name}@{version}",
            purl=PackageURL("npm", None, name, version),
        )


def _licence(name: str) -> LicenseExpression | None:
    """What an installed package states as an SPDX expression; None if it states none."""
    try:
        stated = metadata.metadata(name).get("License-Expression")
    except metadata.PackageNotFoundError:
        return None
    return LicenseExpression(stated) if stated else None


def _installed(name: str) -> list[str]:
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []  # of another system, or of an extra that is not installed here


def _names(requirements: Sequence[str]) -> set[str]:
    return {canonicalize_name(Requirement(one).name) for one in requirements}


def parts_of(document: Mapping[str, object]) -> set[str]:
    """Return "name==version" of each component of a bill that was read."""
    listed = document["components"]
    assert isinstance(listed, list)
    return {f"{one['name']}=={one['version']}" for one in listed}
