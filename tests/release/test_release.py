"""A release that was made: equal bytes, a bill that fits its schema, and a signature that others can verify."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import cyclonedx
import jsonschema_rs
import pytest
from packaging.requirements import Requirement

from tests.release import bill, git, provenance
from tests.release.__main__ import DEPLOYED, SUMS, main
from tests.release.building import FIRST, SECOND, built_twice, sha256_of
from tests.release.conftest import NEXT, Keeper
from tests.release.refusal import Refused
from tests.release.requirements import locked, name_and_version
from tests.wheels.building import FOLDERS, ROOT, file_of, requirements_of

GUIDE = ROOT / "docs" / "releasing.md"
SCHEMAS = Path(cyclonedx.__file__).parent / "schema" / "_res"
RELATIVE_LINK = re.compile(r"\]\((?!https?://|#)[^)]*\)")


@pytest.fixture(scope="session")
def folder(released: Keeper) -> Path:
    return released.root / "dist" / f"lpirc-{NEXT}"


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copied"))


def statement(folder: Path) -> dict[str, Any]:
    envelope = json.loads((folder / provenance.NAME).read_text())
    read: dict[str, Any] = json.loads(b64decode(envelope["payload"]))
    return read


def verified(folder: Path, key: Path) -> subprocess.CompletedProcess[str]:
    """The commands of docs/releasing.md, run in the folder of a release."""
    block = GUIDE.read_text().partition("## Verify a release")[2]
    lines = re.findall(
        r"^    (.*)$|^$", block.partition("\n**Build it")[0], re.MULTILINE
    )
    script = "\n".join(lines).replace("/path/to/release-key.pub", str(key))
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_has_every_wheel_and_sdist_and_what_stands_beside_them(folder: Path) -> None:
    names = {one.name for one in folder.iterdir()}
    parts = {name.replace("-", "_") for name in FOLDERS}
    assert names == {
        *(f"{one}-{NEXT}-py3-none-any.whl" for one in parts),
        *(f"{one}-{NEXT}.tar.gz" for one in parts),
        bill.NAME,
        "requirements.txt",
        "release-key.pub",
        SUMS,
        provenance.NAME,
        *DEPLOYED,
    }


def test_another_language_zone_folder_and_umask_leave_no_trace() -> None:
    assert FIRST.umask != SECOND.umask
    assert len(FIRST.folder) != len(SECOND.folder)
    for name in FIRST.settings:
        assert FIRST.settings[name] != SECOND.settings[name]


def test_a_build_that_differs_is_refused(keeper: Keeper, tmp_path: Path) -> None:
    (keeper.root / "power" / "hatch_build.py").write_text(
        "import os\n"
        "from hatchling.builders.hooks.plugin.interface import BuildHookInterface\n"
        "class Zone(BuildHookInterface):\n"
        "    def initialize(self, version, build_data):\n"
        "        with open('lpirc_power/zone.py', 'w') as zone:\n"
        "            zone.write('# ' + os.environ['TZ'])\n"
    )
    keeper.change(
        "power/pyproject.toml",
        "[tool.hatch.build.targets.wheel]",
        "[tool.hatch.build.targets.wheel.hooks.custom]\n\n[tool.hatch.build.targets.wheel]",
    )
    keeper.commit()
    with pytest.raises(
        Refused, match=rf"two builds of lpirc_power-{NEXT}-py3-none-any"
    ):
        built_twice(keeper.root, tmp_path / "work")


def test_what_is_not_committed_does_not_come_in(keeper: Keeper, tmp_path: Path) -> None:
    (keeper.root / "power" / "lpirc_power" / "secret.py").write_text("")
    for file in built_twice(keeper.root, tmp_path / "work"):
        assert b"secret.py" not in file.read_bytes(), file


def test_a_wheel_of_the_sdist_is_that_wheel(folder: Path, tmp_path: Path) -> None:
    for sdist in folder.glob("*.tar.gz"):
        with tarfile.open(sdist) as archive:
            archive.extractall(tmp_path, filter="data")
        unpacked = tmp_path / sdist.name.removesuffix(".tar.gz")
        epoch = str(git.committed_s(folder.parents[1]))
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "--target", "wheel"],
            cwd=unpacked,
            env=os.environ | {"SOURCE_DATE_EPOCH": epoch},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (wheel,) = (unpacked / "dist").iterdir()
        assert sha256_of(wheel) == sha256_of(folder / wheel.name), wheel.name


def test_ours_ask_for_each_other_in_the_same_version(folder: Path) -> None:
    for wheel in folder.glob("*.whl"):
        for line in requirements_of(wheel):
            asked = Requirement(line)
            if asked.name.startswith("lpirc-"):
                assert str(asked.specifier) == f"=={NEXT}", line
                assert asked.name in FOLDERS


def test_the_page_of_a_wheel_has_no_link_that_leads_nowhere(folder: Path) -> None:
    for wheel in folder.glob("*.whl"):
        page = file_of(wheel, "METADATA").decode()
        assert RELATIVE_LINK.findall(page) == [], wheel.name


def test_the_sums_are_those_of_the_files(folder: Path) -> None:
    subprocess.run(
        ["sha256sum", "--check", "--quiet", "--strict", SUMS],
        cwd=folder,
        check=True,
    )
    listed = {line.split()[1] for line in (folder / SUMS).read_text().splitlines()}
    others = {SUMS, provenance.NAME}
    assert listed == {one.name for one in folder.iterdir()} - others


def test_the_bill_fits_its_schema_and_names_every_locked_package(folder: Path) -> None:
    document = json.loads((folder / bill.NAME).read_text())
    validator(document["specVersion"]).validate(document)
    ours = {"==".join(name_and_version(one)) for one in folder.glob("*.whl")}
    others = {f"{one.name}=={one.version}" for one in locked(ROOT)}
    scripts = {"idiomorph==0.8.0", "uplot==1.6.32"}
    assert bill.parts_of(document) == ours | others | scripts
    known = {one["bom-ref"] for one in document["components"]}
    needs = {one["ref"]: one.get("dependsOn", []) for one in document["dependencies"]}
    assert known <= {*needs}
    assert f"lpirc-score=={NEXT}" in needs[f"lpirc-referee=={NEXT}"]
    assert any(one.startswith("flask==") for one in needs[f"lpirc-referee=={NEXT}"])


def validator(version: str) -> jsonschema_rs.Validator:
    """CycloneDX's own schema, which its library ships; it refuses a document that lacks a name."""
    place = "http://cyclonedx.org/schema/"
    others = [
        (place + one.name, json.loads(one.read_text()))
        for one in SCHEMAS.glob("*.SNAPSHOT.schema.json")
        if not one.name.startswith("bom-")
    ]
    schema = json.loads((SCHEMAS / f"bom-{version}.SNAPSHOT.schema.json").read_text())
    registry = jsonschema_rs.Registry(others)
    made = jsonschema_rs.validator_for(schema, registry=registry)
    assert not made.is_valid(
        {"bomFormat": "CycloneDX", "specVersion": version, "components": [{}]}
    )
    return made


def test_the_bill_is_built_twice_with_equal_bytes(
    released: Keeper, folder: Path
) -> None:
    files = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    again = bill.bill_text(released.root, NEXT, git.committed_s(released.root), files)
    assert (folder / bill.NAME).read_text() == again


def test_the_statement_names_the_commit_and_every_file(
    released: Keeper, folder: Path
) -> None:
    said = statement(folder)
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["predicateType"] == "https://slsa.dev/provenance/v1"
    subjects = {one["name"]: one["digest"]["sha256"] for one in said["subject"]}
    others = [one for one in folder.iterdir() if one.name != provenance.NAME]
    assert subjects == {one.name: sha256_of(one) for one in others}
    definition = said["predicate"]["buildDefinition"]
    source = definition["resolvedDependencies"][0]
    assert source["digest"] == {"gitCommit": git.commit(released.root)}
    assert definition["externalParameters"] == {"version": NEXT, "tag": f"v{NEXT}"}
    details = said["predicate"]["runDetails"]
    assert details["metadata"]["startedOn"] <= details["metadata"]["finishedOn"]


def test_a_release_is_made_once(
    released: Keeper, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["make", NEXT, "--key", str(released.key)], released.root) == 1
    assert "a release is made once" in capsys.readouterr().err


def test_the_commands_of_the_page_verify_it(released: Keeper, folder: Path) -> None:
    done = verified(folder, released.root / "release-key.pub")
    assert done.returncode == 0, done.stderr
    assert git.commit(released.root) in done.stdout


def a_changed_wheel(folder: Path) -> None:
    wheel = next(folder.glob("lpirc_power*.whl"))
    wheel.write_bytes(wheel.read_bytes() + b" ")


def a_wheel_and_its_sum(folder: Path) -> None:
    wheel = next(folder.glob("lpirc_power*.whl"))
    before = sha256_of(wheel)
    a_changed_wheel(folder)
    sums = folder / SUMS
    sums.write_text(sums.read_text().replace(before, sha256_of(wheel)))


def everything_but_the_signature(folder: Path) -> None:
    a_wheel_and_its_sum(folder)
    said = statement(folder)
    for one in said["subject"]:
        one["digest"]["sha256"] = sha256_of(folder / one["name"])
    file = folder / provenance.NAME
    envelope = json.loads(file.read_text())
    envelope["payload"] = b64encode(json.dumps(said).encode()).decode()
    file.write_text(json.dumps(envelope))


def a_file_that_is_gone(folder: Path) -> None:
    next(folder.glob("lpirc_power*.whl")).unlink()


def a_file_too_many(folder: Path) -> None:
    (folder / "lpirc_more-1.0.0-py3-none-any.whl").write_bytes(b"")


def a_type_that_is_another(folder: Path) -> None:
    file = folder / provenance.NAME
    file.write_text(file.read_text().replace("vnd.in-toto", "vnd.in-other"))


def another_name_of_the_key(folder: Path) -> None:
    file = folder / provenance.NAME
    file.write_text(file.read_text().replace('"keyid": "', '"keyid": "0'))


def another_name_of_a_field(folder: Path) -> None:
    file = folder / provenance.NAME
    file.write_text(file.read_text().replace('"keyid"', '"keyie"'))


@pytest.mark.parametrize(
    "spoil",
    [
        another_name_of_the_key,
        another_name_of_a_field,
        a_changed_wheel,
        a_wheel_and_its_sum,
        everything_but_the_signature,
        a_file_that_is_gone,
        a_file_too_many,
        a_type_that_is_another,
    ],
)
def test_what_somebody_changed_fails(
    released: Keeper, copied: Path, spoil: Any
) -> None:
    key = released.root / "release-key.pub"
    spoil(copied)
    assert verified(copied, key).returncode != 0


def test_another_key_fails(copied: Path, tmp_path: Path) -> None:
    private = tmp_path / "other"
    public = tmp_path / "other.pub"
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True
    )
    subprocess.run(
        ["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True
    )
    shutil.copy(
        public, copied / "release-key.pub"
    )  # what lies beside it does not count
    assert verified(copied, public).returncode != 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_pip_installs_all_of_it_by_hash_and_the_program_says_its_version(
    folder: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "venv" / "bin"
    subprocess.run([sys.executable, "-m", "venv", programs.parent], check=True)
    pip = [programs / "pip", "install", "-qq", "--disable-pip-version-check"]
    by_hash = ["--no-compile", "--require-hashes", "-r", "requirements.txt"]
    subprocess.run([*pip, *by_hash], cwd=folder, check=True)
    subprocess.run([programs / "pip", "check", "-qq"], check=True)
    said = subprocess.run(
        [programs / "referee", "--version"], capture_output=True, text=True, check=True
    )
    assert said.stdout == f"referee {NEXT}\n"
