"""Recomputes the results of a bundle's records: rows, judgement and interval, with the judge's own functions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_score import COCO
from lpirc_score.analysis.halves import half_maps
from lpirc_score.errors import MetricFailed, PluginTaskFailed
from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_score.metrics.offered import not_installed
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.task_kinds import Truth
from lpirc_score.tasks.truth_reading import truth_of
from lpirc_testsets import TestSetError
from lpirc_testsets.coco_reader import parse_coco
from lpirc_testsets.errors import Problems
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.truth_marks import has_no_truth
from referee.errors import RefereeError
from referee.evidence.accepted_rows import rows_of
from referee.evidence.bundle_container import FORMAT_OF_BUDGETS, GROUND_TRUTH
from referee.evidence.bundle_task import require_installed
from referee.evidence.bundle_values import Bundle, PostLine
from referee.evidence.earlier_sums import with_stated_rounding
from referee.evidence.verification_items import Failure, NotChecked
from referee.judging.bound_rules import rule_of
from referee.judging.run_case import (
    Case,
    counted_of,
    judgement_of,
    scoring_input,
)
from referee.judging.score_uncertainty import interval_from
from referee.judging.scoring_job import scored_detections
from referee.judging.task_scoring import answers_of
from referee.store.hash_links import (
    READINGS_START,
    event_digest,
    log_link,
    meter_link,
    receipt_link,
    run_start,
)
from referee.store.post_table import ROW
from referee.store.records import HALF_SAMPLING, RUN_CLOSED, Score

Rows = NDArray[np.float64]


class Recomputed:
    """All values recomputed from a bundle, each once. A given `ground_truth` replaces the one in the bundle."""

    def __init__(self, bundle: Bundle, ground_truth: bytes | None) -> None:
        self.bundle = bundle
        self._ground_truth = (
            bundle.ground_truth if ground_truth is None else ground_truth
        )

    @cached_property
    def category_ids(self) -> NDArray[np.int64]:
        """The category ids, ascending."""
        return np.array(
            sorted(one.id for one in self.bundle.test_set.categories), np.int64
        )

    @cached_property
    def taken(self) -> list[tuple[Rows | list[int], int, list[tuple[int, str]]]]:
        """Return (rows (n, 7), number of refused rows, first refused rows) for each body.

        In place of the rows there is the image of each answer, in a task other than boxes. Raises Failure, and
        NotChecked for a task that is not installed.
        """
        places = enumerate(
            zip(self.bundle.posts, self.bundle.bodies, strict=True), start=1
        )
        if self.bundle.run.task != BOXES:
            require_installed(self.bundle)
            return [(self._answers(place, *one), 0, []) for place, one in places]
        return [self._taken(place, post, body) for place, (post, body) in places]

    def _answers(self, place: int, post: PostLine, body: bytes) -> list[int]:
        bundle = self.bundle
        _require_acknowledged(place, post, body)
        given = [(body, post.content_type or "")]
        try:
            answers = answers_of(bundle.run.task, given, bundle.test_set, bundle.order)
            return [one.image for one in answers]
        except PluginTaskFailed:
            raise
        except RefereeError as error:
            raise _unacceptable(place, error) from None

    def _taken(
        self, place: int, post: PostLine, body: bytes
    ) -> tuple[Rows, int, list[tuple[int, str]]]:
        if (
            post.kind == "rows"
            and post.number is None
            and len(body) == post.accepted * 7 * ROW.itemsize
        ):
            rows = np.frombuffer(body, ROW).astype(np.float64).reshape(-1, 7)
            if not (
                np.isin(rows[:, 0], np.arange(1, self.bundle.run.images + 1)).all()
                and np.isfinite(rows).all()
            ):
                raise Failure(
                    "bodies.gz",
                    f"Body {place} has rows of images that the run does not have.",
                )
            return (
                rows,
                post.refused,
                [(line, reason) for line, reason in post.refused_rows],
            )
        _require_acknowledged(place, post, body)
        try:
            rows, refused = rows_of(
                body, post.content_type or "", self.bundle.run.images, self.category_ids
            )
        except RefereeError as error:
            raise _unacceptable(place, error) from None
        return (
            rows,
            refused.total,
            [(line, reason) for line, reason, _ in refused.first],
        )

    @cached_property
    def head(self) -> str:
        """Return the head of the run's chain. Raises Failure."""
        run = self.bundle.run
        posts = "posts.jsonl.gz"
        known = self.bundle.contest
        rules_sha256 = None if run.rules is None else run.rules.sha256
        of_run = (run.id, run.nonce, run.team, run.testset_digest, rules_sha256)
        link = run_start(known["id"], *of_run)
        is_begun = False
        for place, post in enumerate(self.bundle.posts, start=1):
            if (
                post.number is None
                and post.previous is None
                and post.link is None
                and not is_begun
            ):
                continue
            is_begun = True
            if post.number != place:
                raise Failure(
                    posts,
                    f"Body {place} has number {post.number}, but must have {place}.",
                )
            if post.previous != link.hex():
                raise Failure(posts, _not_following(place))
            binds_readings = {post.meter is not None, post.readings is not None}
            if binds_readings != {run.rules is not None}:
                raise Failure(
                    posts,
                    f"Body {place} must have `readings` and `meter` if the run has rules, and neither otherwise.",
                )
            meter = None if post.meter is None else bytes.fromhex(post.meter)
            fields = post.sha256, post.received_utc, post.accepted, post.received_total
            link = receipt_link(link, place, *fields, post.readings, meter)
            if post.link != link.hex():
                raise Failure(
                    posts, f"The link of body {place} does not match its other fields."
                )
        return link.hex()

    @cached_property
    def meter(self) -> list[str]:
        """Return the links of the meter's readings: the start link, then one for each reading."""
        link = READINGS_START
        links = [link.hex()]
        for line in self.bundle.readings.decode().split("\n")[1:-1]:
            link = meter_link(link, f"{line}\n")
            links.append(link.hex())
        return links

    @cached_property
    def log(self) -> list[str]:
        """Return the links of the log: the link before the first event, then one for each event."""
        link = self.bundle.log_before
        links = [link.hex()]
        for event in self.bundle.events:
            if "kind" in event:
                digest = event_digest(
                    event["utc"], event["run"], event["kind"], event["detail"]
                )
            else:
                digest = bytes.fromhex(event["digest"])
            link = log_link(link, digest)
            links.append(link.hex())
        return links

    @property
    def closing_link(self) -> str | None:
        """Return the log's link of the run's last event `closed`, or None."""
        closed = [
            link
            for event, link in zip(self.bundle.events, self.log[1:], strict=True)
            if event.get("kind") == RUN_CLOSED
        ]
        return closed[-1] if closed else None

    @cached_property
    def truth_text(self) -> bytes:
        """Return the file of the ground truth, which is that of the test set. Raises NotChecked, Failure."""
        if self._ground_truth is None:
            until = self.bundle.contest.get("ground_truth_secret_until")
            raise NotChecked(
                f"The ground truth is secret until {until}; give --testset."
            )
        if (
            hashlib.sha256(self._ground_truth).hexdigest()
            != self.bundle.test_set.ground_truth_sha256
        ):
            digest = self.bundle.test_set.digest[:12]
            sentence = f"The ground truth is not that of the test set {digest}: its SHA-256 differs."
            raise Failure(GROUND_TRUTH, sentence)
        return self._ground_truth

    @cached_property
    def truth(self) -> Truth:
        """Return the truth of the run's task, other than boxes. Raises NotChecked, Failure."""
        text = self.truth_text
        require_installed(self.bundle)
        try:
            with TemporaryDirectory() as folder:
                test_set = replace(self.bundle.test_set, folder=Path(folder))
                test_set.ground_truth_path.write_bytes(text)
                return truth_of(self.bundle.run.task, test_set)
        except PluginTaskFailed:
            raise
        except (RefereeError, TestSetError) as error:
            raise Failure(
                GROUND_TRUTH, f"The ground truth cannot be read: {error}"
            ) from None

    @cached_property
    def ground_truth(self) -> GroundTruth:
        """Return the ground truth of the whole test set. Raises NotChecked, Failure."""
        truth_text = self.truth_text
        problems = Problems()
        try:
            text = truth_text.decode("utf-8-sig")
            document = parse_coco(
                Path(GROUND_TRUTH),
                problems,
                without_objects=has_no_truth(text),
                text=text,
            )
            problems.raise_if_any("ground-truth-invalid")
        except (TestSetError, UnicodeDecodeError) as error:
            raise Failure(
                GROUND_TRUTH, f"The ground truth cannot be read: {error}"
            ) from None
        return document.ground_truth

    @cached_property
    def case(self) -> Case:
        """Return the inputs of the run's judgement. Raises NotChecked, Failure."""
        bundle = self.bundle
        is_of_boxes = bundle.run.task == BOXES
        sent = [part for part, _, _ in self.taken]
        refused = [
            {"elapsed_s": post.elapsed_s, "line": line, "reason": reason}
            for post, (_, _, first) in zip(bundle.posts, self.taken, strict=True)
            for line, reason in first
        ]
        return Case(
            run=bundle.run,
            metric=bundle.contest["metric"],
            count_unserved=bundle.contest["count_unserved"],
            test_set=bundle.test_set,
            ground_truth=self.ground_truth if is_of_boxes else None,
            order=bundle.order,
            rows=np.concatenate([np.empty((0, 7)), *(sent if is_of_boxes else ())]),
            served=bundle.served_images,
            readings=bundle.meter_readings,
            events=list(bundle.own_events()),
            refused=sum(refused for _, refused, _ in self.taken),
            refused_rows=refused,
            limits=bundle.limits,
            task=bundle.run.task,
            truth=None if is_of_boxes else self.truth,
            bodies=() if is_of_boxes else self._bodies,
            is_before_budgets=bundle.manifest["format"] < FORMAT_OF_BUDGETS,
        )

    @property
    def _bodies(self) -> list[tuple[bytes, str]]:
        posts = zip(self.bundle.posts, self.bundle.bodies, strict=True)
        return [(body, post.content_type or "") for post, body in posts]

    @property
    def judged(self) -> Score:
        """Return the judgement. Raises NotChecked, also if an item that the judgement depends on failed."""
        if isinstance(self._judged, NotChecked):
            raise self._judged
        return self._judged

    @cached_property
    def _judged(self) -> Score | NotChecked:
        if self.bundle.result is None:
            return NotChecked("The run is not judged yet.")
        parts = signature_parts(str(self.bundle.result["signature"]))
        try:
            rule_of(self.bundle.run)
        except RefereeError as unknown:
            return NotChecked(unknown.sentence)
        try:
            missing = ""
            if self.bundle.run.task == BOXES:
                engine = parts.get("engine")
                missing = not_installed(self.bundle.contest["metric"], engine)
            if missing:
                return NotChecked(missing)
            judged = judgement_of(self.case, self.bundle.result["judged_utc"])
        except NotChecked as reason:
            return reason
        except (MetricFailed, PluginTaskFailed) as error:
            return NotChecked(error.sentence)
        except Failure as failure:
            return NotChecked(f"It depends on {failure.part}, which failed.")
        return self._as_stated(judged, self.bundle.result)

    def _as_stated(self, judged: Score, result: Mapping[str, Any]) -> Score:
        """Return a judgement without what the version that made the stated one did not know."""
        bundle = self.bundle
        if "energy_budget" not in result:  # up to format 5
            judged = replace(judged, energy_budget=None)
        if bundle.contest["metric"] == COCO and bundle.run_row.get("rules") is None:
            judged = with_stated_rounding(judged, result, bundle.checks)
        is_bound = bundle.run.rules is not None
        if not is_bound and result.get("energy_known_by") is None:
            # It was judged by a version that knew only the meter's limit.
            figures = next(
                (one.figures for one in judged.checks if one.code == "accuracy"), {}
            )
            return replace(judged, energy_limit=figures.get("uncertainty"))
        return judged

    def interval(self) -> dict[str, object]:
        """Return the interval of the judgement; this takes seconds. Raises NotChecked, Failure."""
        judged = self.judged
        metric = self.bundle.contest["metric"]
        stated = self.bundle.result["interval"] if self.bundle.result else None
        if stated is None:
            raise NotChecked("The result has no interval.")
        if stated.get("method") != HALF_SAMPLING:
            raise NotChecked(
                "The interval is a bootstrap by an earlier version; this version does not compute bootstraps."
            )
        if self.case.truth is not None:
            given = scoring_input(self.case)
            halves = given.with_halves(given.scored()).halves
            return asdict(interval_from(np.asarray(halves)[0], judged))
        ground_truth, rows = counted_of(self.case)
        return asdict(
            interval_from(
                half_maps(ground_truth, scored_detections(rows, metric), metric), judged
            )
        )


def _require_acknowledged(place: int, post: PostLine, body: bytes) -> None:
    if post.kind != "body" or post.refused_rows:
        sentence = f"Body {place} has a receipt, but the bundle does not have the body as it was received."
        raise Failure("posts.jsonl.gz", sentence)
    if hashlib.sha256(body).hexdigest() != post.sha256:
        raise Failure(
            "bodies.gz",
            f"Body {place} is not the acknowledged one: its SHA-256 differs.",
        )


def _unacceptable(place: int, error: RefereeError) -> Failure:
    sentence = f"Body {place} would never be accepted: {error.sentence}"
    return Failure("bodies.gz", sentence)


def _not_following(place: int) -> str:
    if place > 1:
        return f"Body {place} does not continue the chain: its `previous` is not the `link` of body {place - 1}."
    own = "the contest id, number, nonce, team, test set or rules in run.json"
    return (
        f"Body 1 does not begin the run's chain: its `previous` does not match {own}."
    )
