"""Finds tasks by name: the entry points of `lpirc.tasks`, each a `SummedTask` or a `WholeTask`.

    [project.entry-points."lpirc.tasks"]
    counting = "my_tasks:COUNTING"

The name of the entry point is the name of the task. For a task of another distribution, the signature names that
distribution and its version. The task `boxes` only has its words here: detections keep their own protocol and metrics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from lpirc_score.errors import CodedError, PluginTaskFailed, TaskFailed
from lpirc_score.metrics.evaluation_result import DIGEST_LENGTH, VERSION
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.task_kinds import SummedTask, Task, WholeTask
from lpirc_testsets.close_names import did_you_mean
from lpirc_testsets.errors import TestSetError
from lpirc_testsets.plugins import (
    Plugin,
    PluginError,
    Seam,
    UnknownPlugin,
    one_line,
)

HOME = "lpirc-score"
SEAM = Seam("lpirc.tasks", "task", HOME)

NOT_IN_WORDS = frozenset("%{}<>&\"'\\")
"""Characters that the words of a task cannot have, since templates and formats give them a meaning."""

WORDS = ("title", "accuracy", "answer", "answers", "category_accuracy")
"""The attributes of a task that are words; the last one may be empty."""

FUNCTIONS = ("read", "read_truth")
OWN_FUNCTIONS = {SummedTask: ("statistics", "figures"), WholeTask: ("evaluate",)}
CONTENT_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+")

TASK_RULES_VERSION = 1
"""Version of the scoring of the built-in tasks, raised whenever a figure could change."""


def task_names() -> tuple[str, ...]:
    """Return the names of all installed tasks, `boxes` first."""
    others = (name for name in SEAM.names() if name != BOXES)
    return (BOXES, *others)


def task_named(name: str) -> Task:
    """Return the task of that name.

    Raises `CodedError` `unknown-task`, or TaskFailed for one that cannot be used.
    """
    value: Task = _plugin(name).value
    return value


def task_engine(name: str) -> str | None:
    """Return the distribution that scores a task, such as `my-tasks-1.2`, or None if it is this one."""
    plugin = _plugin(name)
    return None if _is_ours(plugin) else plugin.distribution.replace(" ", "-")


def task_signature(
    name: str,
    ground_truth_digest: str,
) -> str:
    """Return one line such as `classification|gt:9f86d081|rules:1|v:1.0.0`. Raises as `task_named`."""
    engine = task_engine(name)
    parts = [name, f"gt:{ground_truth_digest[:DIGEST_LENGTH]}"]
    if engine is not None:
        parts.append(f"engine:{engine}")
    return "|".join([*parts, f"rules:{TASK_RULES_VERSION}", f"v:{VERSION}"])


def task_missing(
    name: str,
    engine: str | None,
) -> str:
    """Return a sentence saying that the `engine` of a task, as a signature names it, is not installed here.

    The sentence is empty if it is installed; an `engine` of None is this distribution.
    """
    if name not in task_names():
        here = "which is not installed here"
    elif task_engine(name) != engine:
        here = f"but here {task_engine(name) or HOME} is installed"
    else:
        return ""
    by = engine or HOME
    return f"The task {name} was scored by {by}, {here}; install {by} and verify again."


@contextmanager
def running_task(name: str, function: str) -> Iterator[None]:
    """Raise TaskFailed, with plug-in, function and line, for any unexpected exception of a task's code."""
    plugin = _plugin(name)
    try:
        with plugin.running(CodedError, TestSetError, what=f"its {function}"):
            yield
    except PluginError as error:
        raise _failure(plugin)(error.sentence) from error


def task_failed(
    name: str,
    problem: str,
) -> CodedError:
    """Return the error for a task whose functions gave something that the interface does not allow."""
    plugin = _plugin(name)
    return _failure(plugin)(plugin.broken(one_line(problem)).sentence)


def told(value: object) -> str:
    """Return what a task gave, as the beginning of its `repr`."""
    try:
        return one_line(f"{value!r:.80}")
    except Exception:  # noqa: BLE001 - a class of the task's own
        return f"a {type(value).__name__}"


def _is_ours(plugin: Plugin) -> bool:
    return plugin.distribution.split()[0] == HOME


def _failure(plugin: Plugin) -> type[TaskFailed]:
    return TaskFailed if _is_ours(plugin) else PluginTaskFailed


def _word_problem(task: Task) -> str:
    """Return what is wrong with the words of a task, or an empty text; they stand in pages and sentences."""
    for name in WORDS:
        word = getattr(task, name)
        if name == "category_accuracy" and not word:
            continue
        if not isinstance(word, str) or not word.strip() or not word.isprintable():
            return f"its {name} is {word!r:.40}, which is no word"
        if NOT_IN_WORDS & {*word}:
            return f"its {name} {word!r:.40} has a character of {''.join(sorted(NOT_IN_WORDS))}"
    return ""


@lru_cache(maxsize=64)  # it is asked for with every image
def _form_problem(task: Task) -> str:
    """Return what is wrong with the functions, content types and bound of a task, or an empty text."""
    for name in (*FUNCTIONS, *OWN_FUNCTIONS.get(type(task), ())):
        if not callable(getattr(task, name)):
            return f"its {name} is {told(getattr(task, name))}, which is no function"
    kinds = task.content_types
    if not isinstance(kinds, (tuple, list)) or not kinds:
        return f"its content_types are {told(kinds)}, which is no tuple of texts"
    for kind in kinds:
        if not isinstance(kind, str) or not CONTENT_TYPE.fullmatch(kind):
            return f"its content type {told(kind)} is none in small letters without parameters"
    most = task.largest_body_bytes
    if type(most) is not int or most < 1:
        return (
            f"its largest_body_bytes is {told(most)}, which is no whole number above 0"
        )
    return ""


def _plugin(name: str) -> Plugin:
    try:
        plugin = SEAM.load(name)
    except UnknownPlugin as error:
        known = ", ".join(task_names())
        meant = did_you_mean(name, task_names())
        sentence = f"There is no task {name!r}; choose one of {known}.{meant}"
        raise CodedError("unknown-task", sentence) from error
    except PluginError as error:
        raise PluginTaskFailed(error.sentence) from error
    found = plugin.value
    problem = ""
    if not isinstance(found, (SummedTask, WholeTask)) and name != BOXES:
        problem = (
            f"it is of the type {type(found).__name__}, not a SummedTask or WholeTask"
        )
    elif found.name != name:
        problem = f"its task is named {found.name!r}"
    else:
        problem = _word_problem(found) or _form_problem(found)
    if problem:
        raise _failure(plugin)(plugin.broken(problem).sentence)
    return plugin
