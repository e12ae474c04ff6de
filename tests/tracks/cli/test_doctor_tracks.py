"""What the checks of tracks say on a terminal, and that pages which ask for them write nothing."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import click
import pytest

from lpirc_tracks.cli import doctor_tracks

SENTENCE = "Models are confined."


@pytest.mark.parametrize("in_command", [True, False])
def test_only_a_command_says_on_stderr_how_models_are_confined(
    capsys: pytest.CaptureFixture[str],
    *,
    in_command: bool,
) -> None:
    found = SimpleNamespace(is_in_force=True, sentence=SENTENCE)
    contest = mock.Mock(config=SimpleNamespace(tracks=[object()]))
    with (
        mock.patch.object(doctor_tracks, "wrong_rules", return_value=[]),
        mock.patch.object(doctor_tracks, "takes_models", return_value=True),
        mock.patch.object(doctor_tracks, "hidden_files"),
        mock.patch.object(doctor_tracks, "confinement_of", return_value=found),
        mock.patch.object(doctor_tracks, "unconfined_tracks", return_value=[]),
        mock.patch.object(doctor_tracks, "_look_at_track", return_value=[]),
    ):
        if in_command:
            with click.Context(click.Command("doctor")):
                list(doctor_tracks.look_at_tracks(contest))
        else:
            list(doctor_tracks.look_at_tracks(contest))
    assert (SENTENCE in capsys.readouterr().err) is in_command
