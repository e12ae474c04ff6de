"""Formats by entry point: the built-in ones, one of another distribution, and those that cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lpirc_testsets import load_test_set, read_ground_truth
from lpirc_testsets.formats import FORMATS, format_named, format_names
from lpirc_testsets.plugins import PluginError
from referee.cli.testset_command import testset as command
from tests.plugins_installed import Installer, plugins_in

GROUP = "lpirc.formats"
SAMPLE = Path(__file__).parents[1] / "plugin_sample" / "lpirc_sample" / "formats.py"


@pytest.fixture
def installer(tmp_path: Path) -> Iterator[Installer]:
    folder = tmp_path / "site"
    folder.mkdir()
    with plugins_in(folder) as installer:
        yield installer


@pytest.fixture
def centres(installer: Installer) -> None:
    installer.install(
        "centre_formats",
        GROUP,
        "centres = centre_formats:FORMAT",
        SAMPLE.read_text(),
    )


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def refused(name: str) -> PluginError:
    with pytest.raises(PluginError) as caught:
        format_named(name)
    return caught.value


def test_the_built_in_formats_are_entry_points() -> None:
    assert format_names() == [
        "classes",
        "coco",
        "ilsvrc",
        "images",
        "labels",
        "masks",
        "open-images",
        "voc",
        "yolo",
    ]
    for name in format_names():
        assert format_named(name).options[0].help


@pytest.mark.usefixtures("centres")
def test_a_format_of_another_distribution_is_imported_by_its_own_command(
    tmp_path: Path,
    jpeg: Callable[..., bytes],
) -> None:
    images = tmp_path / "images"
    labels = tmp_path / "labels"
    images.mkdir()
    labels.mkdir()
    (images / "a.jpg").write_bytes(jpeg((40, 20), seed=1))
    (images / "b.jpg").write_bytes(jpeg((40, 20), seed=2))
    (labels / "a.txt").write_text("1 0.5 0.5 0.5 0.5\n")
    (labels / "b.txt").write_text("")
    names = tmp_path / "names"
    names.write_text("ant\nfox\n")

    out = tmp_path / "set"
    given = ("--annotations", labels, "--classes", names, "--images", images)
    result = run("import", "centres", *given, "--out", out)

    assert result.exit_code == 0, result.output
    assert (
        "2 images (1 without objects), 1 objects in 1 of 2 categories" in result.stdout
    )
    truth = read_ground_truth(out)
    assert truth.category_names == ("ant", "fox")
    assert truth.category.tolist() == [2]
    assert truth.boxes.tolist() == [[10.0, 5.0, 29.0, 14.0]]
    assert [one.file for one in load_test_set(out).images] == ["a.jpg", "b.jpg"]
    assert "centres" in run("import", "--help").stdout


@pytest.mark.usefixtures("centres")
def test_what_a_format_of_another_distribution_finds_wrong_is_listed(
    tmp_path: Path,
    jpeg: Callable[..., bytes],
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.jpg").write_bytes(jpeg((40, 20)))
    (source / "a.txt").write_text("7 0.5 0.5\n")
    (source / "names").write_text("ant\n")
    given = ("--annotations", source, "--classes", source / "names")
    result = run(
        "import", "centres", *given, "--images", source, "--out", tmp_path / "set"
    )
    assert result.exit_code == 1
    assert "a.txt: line 1: '7 0.5 0.5' is not CLASS X Y WIDTH HEIGHT" in str(
        result.exception
    )


def test_an_unknown_format_is_refused_with_those_that_are_installed() -> None:
    error = refused("centres")
    assert error.code == "plugin-unknown"
    assert error.sentence == (
        "There is no format 'centres'; choose one of classes, coco, ilsvrc, images, labels, masks, open-images, "
        "voc, yolo."
    )
    assert run("import", "centres").exit_code == 2


def test_a_format_that_cannot_be_loaded_names_entry_point_and_distribution(
    installer: Installer,
) -> None:
    installer.install(
        "broken", GROUP, "centres = broken:FORMAT", "import no_such_module"
    )
    error = refused("centres")
    assert error.code == "plugin-broken"
    assert error.sentence == (
        "The plug-in lpirc.formats centres = broken:FORMAT of broken 1.0 cannot be used: "
        "ModuleNotFoundError: No module named 'no_such_module'"
    )
    listed = run("import", "--help")
    assert listed.exit_code == 0
    assert "coco" in listed.stdout
    called = run("import", "centres", "--annotations", "x")
    assert str(called.exception) == error.sentence


def test_a_plug_in_that_is_not_a_format_is_refused(installer: Installer) -> None:
    installer.install("other", GROUP, "centres = other:FORMAT", "FORMAT = 5")
    assert refused("centres").sentence == (
        "The plug-in lpirc.formats centres = other:FORMAT of other 1.0 cannot be used: "
        "it is of the type int, not a Format"
    )


def test_two_formats_of_one_name_are_refused_only_to_those_who_ask_for_it(
    installer: Installer,
) -> None:
    for name in ("mine", "yours"):
        installer.install(name, GROUP, f"boxes2 = {name}:FORMAT", "FORMAT = 5")
    error = refused("boxes2")
    assert error.code == "plugin-twice"
    assert "lpirc.formats boxes2 = mine:FORMAT of mine 1.0" in error.sentence
    assert "boxes2 = yours:FORMAT of yours 1.0" in error.sentence
    assert error.sentence.endswith("; uninstall one of them.")
    assert format_named("voc").help


def test_a_plug_in_with_the_name_of_a_built_in_format_is_refused_by_name(
    installer: Installer,
) -> None:
    installer.install("mine", GROUP, "coco = mine:FORMAT", "FORMAT = 5")
    assert format_named("coco").help
    assert FORMATS.refused() == [
        "The plug-in lpirc.formats coco = mine:FORMAT of mine 1.0 cannot be used: lpirc-testsets has the format "
        "'coco' itself; rename yours."
    ]
