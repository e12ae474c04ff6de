"""Reads the model files that teams hand in, and stores them in the contest folder under their SHA-256."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from lpirc_score.files.atomic_write import sync_folder, write_atomically
from lpirc_testsets.file_bytes import require_regular
from lpirc_tracks.submissions.second_copies import require_file
from referee.config.tracks import MODELS
from referee.contest import Contest
from referee.errors import ModelFault, RefereeError
from referee.store.model_records import Submission

LARGEST_MODEL_BYTES = 500 << 20


def read_submitted(path: Path, most: int, what: str) -> bytes:
    """Read a file that a team hands in, at most `most` bytes; `what` names it in errors: "model", "result".

    Raises RefereeError `model-unreadable`, `result-unreadable`.
    """
    try:
        require_regular(path)
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        sentence = f"The {what} {path} cannot be read: {error.strerror}."
        raise RefereeError(f"{what}-unreadable", sentence) from error


def model_bytes(path: Path) -> bytes:
    """Read a model that a team hands in. Raises RefereeError `model-unreadable`, `model-too-large`."""
    if not path.name.isprintable():
        sentence = f"The model's name {path.name!r} cannot be printed; rename it."
        raise RefereeError("model-unreadable", sentence)
    data = read_submitted(path, LARGEST_MODEL_BYTES + 1, "model")
    if len(data) > LARGEST_MODEL_BYTES:
        sentence = f"The model {path} is larger than {LARGEST_MODEL_BYTES >> 20} MB."
        raise RefereeError("model-too-large", sentence)
    return data


def _kept_path(folder: Path, sha256: str, model_file: str) -> Path:
    is_onnx = model_file.lower().endswith(".onnx")
    suffix = ".onnx" if is_onnx else ".tflite"
    return folder / MODELS / f"{sha256}{suffix}"


def keep_model(folder: Path, data: bytes, sha256: str, model_file: str) -> Path:
    """Store a model in the contest folder under its SHA-256, replacing a damaged copy."""
    path = _kept_path(folder, sha256, model_file)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    sync_folder(folder)
    if _intact_bytes(path, sha256) is None:
        write_atomically(path, data)
    return path


def _intact_bytes(path: Path, sha256: str) -> bytes | None:
    try:
        data = path.read_bytes() if path.is_file() else None
    except OSError:
        return None
    if data is None or hashlib.sha256(data).hexdigest() != sha256:
        return None
    return data


def kept_model(contest: Contest, made: Submission) -> bytes:
    """Return the stored model of a submission. Raises ModelFault `model-missing`."""
    kept = _kept_path(contest.folder, made.model_sha256, made.model_file)
    with suppress(RefereeError):  # said below
        require_file(contest, kept)
    data = _intact_bytes(kept, made.model_sha256)
    if data is None:
        sentence = f"The model of submission {made.id}, {kept}, is gone or damaged; restore it."
        raise ModelFault("model-missing", sentence)
    return data
