"""The findings about the rules: refusals at arming, missing settings, settings that leak.

Only values of contest.toml and the number of images are checked. docs/security.md explains the findings in detail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lpirc_score.tasks import BOXES
from lpirc_testsets.truth_marks import NO_TRUTH_SENTENCE
from referee.config import ContestConfig
from referee.config.contest_text import ATTEMPTS, LEAST_MAP, repeated_images
from referee.contest import Contest, require_scorer, require_truth
from referee.contest_rules import DEFAULT
from referee.contest_rules.floors_then_energy import FloorsThenEnergy
from referee.errors import RefereeError
from referee.judging.run_checks import NO_TRUTH
from referee.judging.standings import standings
from referee.runs.arming import images_of_a_run
from referee.seams import Finding

SAFE_IMAGES = 300
"""Minimum images of a run at which a provisional score reveals little: a gain below 0.01 mAP on average."""


def look_at_rules(contest: Contest) -> Iterator[Finding]:
    """Yield the findings about the rules. Only a fault for which arming would be refused is a failure."""
    try:
        images_of_a_run(contest)
    except RefereeError as error:
        yield Finding(error.code, error.sentence)
    yield from _truth_missing(contest)
    yield from rule_advice(contest.config, len(contest.test_set.images))
    yield from _left_out(contest)


def _truth_missing(contest: Contest) -> Iterator[Finding]:
    test_set = contest.test_set
    try:
        require_scorer(contest)
        require_truth(test_set, contest.config.task)
        if contest.config.task == BOXES and not test_set.objects:
            words = f"{NO_TRUTH_SENTENCE} No run has a score or a rank; for a contest import annotated images."
            yield Finding(NO_TRUTH, words, is_advice=True)
    except RefereeError as error:
        yield Finding(error.code, error.sentence)


def _left_out(contest: Contest) -> Iterator[Finding]:
    """Yield advice if judged runs have no rank because the settings were changed since."""
    runs = [one.run for one in standings(contest).left_out if one.judged_by is not None]
    if runs:
        listed = ", ".join(map(str, runs))
        words = f"Run {listed} was judged by another metric, test set or window than contest.toml has now"
        way_out = "put those back, or judge again: referee rejudge --help"
        yield Finding(
            "runs-left-out", f"{words}, so it has no rank; {way_out}.", is_advice=True
        )


def rule_advice(config: ContestConfig, images: int) -> Iterator[Finding]:
    """Yield the advice about the rules for a test set with so many images."""
    found = (
        *_of_the_rule(config),
        *_above_floors(config, images),
        *_missing(config, images),
        *_given_away(config, images),
    )
    for code, sentence in found:
        yield Finding(code, sentence, is_advice=True)


def _of_the_rule(config: ContestConfig) -> Iterator[tuple[str, str]]:
    """Yield what to know of a contest that ranks by another rule than accuracy over energy."""
    rule = config.contest_rule
    if rule == DEFAULT:
        return
    yield (
        "ranked-by",
        f"The contest ranks by {rule.name}. {rule.sentence} Runs have no provisional score, reports have no gap to the "
        "next rank, and no season counts them; runs that are armed already keep their own rule.",
    )
    limits = rule.settings
    if "power_limit_w" in limits and "time_limit_s" not in limits:
        yield (
            "mean-power-by-waiting",
            "power_limit_w without time_limit_s: a team lowers its mean power by waiting until its window ends; write "
            "time_limit_s, too.",
        )
    if rule.takes_idle:
        yield (
            "idle-board-watched",
            "A board that works while its idle power is measured gets too much subtracted; see that it rests when "
            "you arm. A run that draws less than its idle power for long goes into review (below-idle).",
        )
    if rule.quantity is None:
        yield (
            "order-not-known",
            f"How sure an order is cannot be said by {rule.name}, so no prize for the best score is shared.",
        )


def _above_floors(config: ContestConfig, images: int) -> Iterator[tuple[str, str]]:
    """Yield what a contest by the score of the DAC contest gives away."""
    rule = config.contest_rule
    if not isinstance(rule, FloorsThenEnergy):
        return
    if config.least_map is None:
        yield (
            "tenth-without-accuracy",
            f"least_map is not set: by {rule.name} a run of guessed rows keeps a tenth of the score of its energy, and "
            "at 2 J that is as much as a whole run of 1000 J; write least_map, and let a run have so many images that "
            "the best board takes 30 J or more.",
        )
    speed = rule.least_images_per_s or 0.0
    in_a_run = config.images.per_attempt or images
    if in_a_run > speed * config.window_s:
        answered = int(speed * config.window_s)
        yield (
            "window-below-speed",
            f"window_s = {config.window_s:g}: at the floor of {speed:g} images/s a run answers {answered} of its "
            f"{in_a_run} images, and the objects of the others count as missed; write a longer window_s or fewer "
            "images.",
        )


def _stations(names: Sequence[str]) -> str:
    """Return stations for a sentence: with the word, as a name may be any."""
    word = "station" if len(names) == 1 else "stations"
    return f"{word} {' and '.join(map(repr, names))}"


def unguarded(config: ContestConfig) -> str | None:
    """Return a warning that no proxy protects the server on an open network; None if a proxy is configured."""
    if config.trusted_proxy:
        return None
    sentence = (
        "trusted_proxy is not set: no proxy limits the connections of an address, so on an open network some 16,000 "
        "incomplete requests keep everyone out for 75 s; put nginx before the referee as docs/deploy does"
    )
    without = [one.name for one in config.stations if not one.clients]
    if without:
        sentence += (
            f". And no clients are set for {_stations(without)}: log-ins and HTML forms from every address are "
            'accepted; write the board\'s address, as clients = ["192.168.1.30"]'
        )
    return f"{sentence}."


def _missing(config: ContestConfig, images: int) -> Iterator[tuple[str, str]]:
    if config.task != BOXES and config.metric != ContestConfig.metric:
        yield (
            "metric-unused",
            f'task = "{config.task}": its answers are scored by the task itself, and metric = "{config.metric}" is not '
            "used; remove the metric.",
        )
    if not config.attempts:
        yield (
            "attempts-unlimited",
            "attempts = 0: a team may run as often as it is armed, and its best run counts, so a lucky run wins; "
            f"write attempts = {ATTEMPTS} (for one more attempt: referee run arm TEAM --anyway, which is recorded).",
        )
    for key, least in (
        ("least_map", config.least_map),
        ("least_accuracy", config.rule.least_accuracy),
    ):
        if least == 1:
            yield (
                "least-map-unreachable",
                f"{key} = 1: it is an accuracy of 100 %, so no run reaches it; write {key} = 0.01 for 1 %.",
            )
    repeated = repeated_images(config.attempts, config.images.per_attempt, images)
    if repeated is not None:
        yield (
            "images-repeated",
            f"{repeated} Such a run is ranked, with the mark images-seen.",
        )
    is_quotient = config.contest_rule.unit == DEFAULT.unit
    if config.least_map is None and is_quotient:
        yield (
            "least-map-missing",
            "least_map is not set: a hundred guesses and an immediate log-out can win by their small energy; "
            f"write least_map = {LEAST_MAP:g} or more.",
        )
    guard = unguarded(config)
    if guard is not None:
        yield "unguarded", guard
    if not config.backup.folder:
        yield (
            "backup-missing",
            "No backup folder is set: if the disk fails during the contest, every run is lost; "
            "name a folder on another disk as folder in [backup].",
        )


def _given_away(config: ContestConfig, images: int) -> Iterator[tuple[str, str]]:
    if config.teams_see_score:
        yield (
            "score-seen-by-team",
            "teams_see_score = true: while its run is open, a team sees its score over a secret half of its images, "
            "rounded to two digits, every 30 s, and can choose by it when to stop; write teams_see_score = false if "
            "you do not want that.",
        )
    in_a_run = config.images.per_attempt or images
    if (config.teams_see_score or config.public_score) and in_a_run < SAFE_IMAGES:
        yield (
            "score-of-few-images",
            f"A run has {in_a_run} images and its team sees a provisional score. How much that reveals of the ground "
            f"truth was measured only for {SAFE_IMAGES} images or more (docs/security.md); write teams_see_score = "
            "false and public_score = false.",
        )
    if config.public_score:
        yield (
            "score-public",
            "public_score = true: everyone who sees the board, the team itself and its rivals too, sees the score of "
            "an open run, as coarse as with teams_see_score; write public_score = false unless the hall should see it.",
        )
    if config.count_unserved:
        yield (
            "unserved-counted",
            "count_unserved = true: rows are scored for images that a run did not fetch, so a team with the answers "
            "from elsewhere saves the energy of fetching; write count_unserved = false.",
        )
    if not config.shuffle:
        yield (
            "order-known",
            "shuffle = false: an image has the same number in every run, so a team can use the answers of a neighbour "
            "or of an earlier run; write shuffle = true.",
        )
    if config.auto_arm:
        yield (
            "arms-by-itself",
            "auto_arm = true: anyone with a team's password begins a measured run, and uses up an attempt, without an "
            "operator who looks at the board; write auto_arm = false for a contest.",
        )
