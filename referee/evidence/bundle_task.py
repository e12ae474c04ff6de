"""Whether the task of a bundle can be recomputed here."""

from __future__ import annotations

from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_score.tasks.offered import task_engine, task_missing, task_names
from referee.evidence.bundle_values import Bundle
from referee.evidence.verification_items import NotChecked


def require_installed(bundle: Bundle) -> None:
    """Raise NotChecked unless the task of the run is installed as the result's signature names it.

    Raises PluginTaskFailed for one that is broken.
    """
    task = bundle.run.task
    engine = None
    if bundle.result is not None:
        engine = signature_parts(str(bundle.result["signature"])).get("engine")
    elif task in task_names():
        engine = task_engine(task)
    missing = task_missing(task, engine)
    if missing:
        raise NotChecked(missing)
