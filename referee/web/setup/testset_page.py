"""The step for the test set: a folder on the server's disk, checked whole, or a synthetic set made here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flask import Response

from lpirc_testsets import TestSet, TestSetError, load_test_set
from lpirc_testsets.synthetic_truth import TASKS
from referee.config.contest_problems import foreign_path
from referee.config.toml_edits import Setting
from referee.contest import place_of, require_truth, require_unchanged
from referee.errors import RefereeError
from referee.presence import is_there
from referee.seams import Finding
from referee.web.app_parts import part
from referee.web.judge_process import run_command
from referee.web.setup.form_body import Form, present_form
from referee.web.setup.form_fields import Field, value_of
from referee.web.setup.settings_desk import (
    SettingsDesk,
    settings_blueprint,
    step_page,
    write,
)

MOST_IMAGES = 2000
IMAGES = Field("images", "Images", "whole")
MANIFEST = "manifest.json"

blueprint = settings_blueprint("testset")


@blueprint.get("/testset")
def test_set() -> Response:
    """Answer with the test set as it is, and those that lie near."""
    return _shown()


@blueprint.post("/testset")
def choose() -> Any:
    """Check a test set whole, and write its path."""
    return write("testset", _chosen, _shown, "chosen")


@blueprint.post("/testset/synthetic")
def synthetic() -> Any:
    """Make a synthetic test set in the contest folder, and write its path."""
    return write("testset", _made, _shown, "chosen")


def _chosen(form: Form) -> list[Setting]:
    path = form.text("path")
    if not path:
        raise RefereeError("bad-request", "Write the path of a test-set folder.")
    if words := foreign_path(path):
        raise RefereeError("bad-request", f"{path} {words}.")
    folder = part(SettingsDesk).folder
    found = _sound(folder / path, part(SettingsDesk).config().task)
    return [Setting("testset", place_of(found.folder, folder))]


def _made(form: Form) -> list[Setting]:
    try:
        images = int(value_of(IMAGES, form.text("images")))
    except ValueError as error:
        raise RefereeError("bad-request", f"Images: {error}.") from error
    if not 1 <= images <= MOST_IMAGES:
        words = f"A synthetic set of this page has 1 to {MOST_IMAGES} images"
        raise RefereeError("bad-request", f"{words}, not {images}.")
    folder = part(SettingsDesk).folder
    name = _free_name(folder)
    task = part(SettingsDesk).config().task
    words_ = ["--images", str(images), "--seed", "1", "--out", str(folder / name)]
    if task in TASKS:
        words_ += ["--task", task]
    ended, said = run_command("testset", "synthesize", *words_)
    if ended.returncode:
        shutil.rmtree(folder / name, ignore_errors=True)
        raise RefereeError("testset-not-made", f"The set cannot be made: {said}")
    return [Setting("testset", name)]


def _free_name(folder: Path) -> str:
    number = 1
    name = "testset"
    while is_there(folder / name):
        number += 1
        name = f"testset-{number}"
    return name


def _sound(folder: Path, task: str) -> TestSet:
    """Return a test set that is whole and has ground truth for the task. Raises RefereeError `testset-unfit`."""
    try:
        found = load_test_set(folder)
    except TestSetError as error:
        raise RefereeError("testset-unfit", f"{error.sentence}.") from error
    require_unchanged(found)
    require_truth(found, task)
    return found


def testset_findings(desk: SettingsDesk) -> Iterator[Finding]:
    """Yield what is wrong with the test set; its images were checked when it was chosen."""
    config = desk.config()
    try:
        found = load_test_set(desk.folder / config.testset)
        require_truth(found, config.task)
    except (RefereeError, TestSetError) as error:
        yield Finding(error.code, f"{error.sentence.removesuffix('.')}.")
        return
    for run in desk.store.runs.find():
        if run.testset_digest != found.digest:
            words = f"Run {run.id} used another test set: it can be judged only with that one."
            yield Finding("testset-changed", words, is_advice=True)
            return


def _shown(failure: RefereeError | None = None, form: Form | None = None) -> Response:
    desk = part(SettingsDesk)
    config = desk.config()
    try:
        found = load_test_set(desk.folder / config.testset)
        now = {
            "images": len(found.images),
            "categories": len(found.categories),
            "digest": found.digest[:12],
        }
    except TestSetError:
        now = {}
    return step_page(
        "testset",
        testset_findings(desk),
        failure,
        testset=config.testset,
        now=now,
        near=_near(desk.folder),
        given=present_form().text("path") if form else "",
    )


def _near(folder: Path) -> list[str]:
    """Return the paths of test sets in the contest folder and beside it."""
    near = [*folder.glob(f"*/{MANIFEST}"), *folder.parent.glob(f"*/{MANIFEST}")]
    return [place_of(one.parent, folder) for one in sorted(near)[:50]]
