"""Who acts on a contest day: teams, an operator, a judge, and mishap. Each is a task; the seed decides what they do."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from random import Random
from urllib.parse import urlencode

from tests.simulation.hall import (
    PASSWORD,
    STATIONS,
    TEAMS,
    Answer,
    Hall,
    NoAnswerError,
    true_boxes,
)
from tests.simulation.machines import Box
from tests.simulation.model import Attempt, Sent

FORM = "application/x-www-form-urlencoded"
FIELDS = ("image_name", "CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax")


class Team:
    """A team and its board: logs in when it can, fetches, posts, asks again where an answer is missing."""

    def __init__(self, hall: Hall, name: str) -> None:
        self.hall = hall
        self.name = name
        self.random: Random = hall.random
        self.is_legacy = self.random.random() < 0.25

    def play(self) -> None:
        while not self.hall.is_over:
            self.hall.scheduler.sleep(self.random.uniform(1, 25))
            try:
                attempt = self._log_in()
                if attempt is not None:
                    self._run(attempt)
            except NoAnswerError:
                continue

    def _log_in(self) -> Attempt | None:
        hall = self.hall
        named = {"team": self.name, "password": PASSWORD}
        answer = hall.ask("POST", "/v1/session", json.dumps(named).encode())
        hall.step(f"{self.name} logs in: {answer.status} {answer.code}")
        if answer.status != 201:
            return None
        told = answer.json
        now_s = hall.scheduler.now_s
        order = self._order(told["run"])
        attempt = hall.model.attempts.setdefault(
            told["run"],
            Attempt(
                told["run"],
                self.name,
                told["token"],
                now_s,
                told["window_s"],
                order,
            ),
        )
        assert attempt.team == self.name, (
            f"run {attempt.run} is {attempt.team}'s and {self.name}'s"
        )
        return attempt

    def _order(self, run: int) -> list[int]:
        sql = "SELECT numbers FROM image_orders WHERE run = ?"
        numbers = self.hall.database.execute(sql, (run,)).fetchone()[0]
        return [*struct.unpack(f"<{len(numbers) // 8}q", numbers)]

    def _run(self, attempt: Attempt) -> None:
        pause_s = self.random.choice((0.5, 2.0, 6.0))
        while not self.hall.is_over and attempt.closed_at_s is None:
            self.hall.scheduler.sleep(self.random.uniform(0, pause_s))
            # Right at the deadline, and on both its sides.
            if self.random.random() < 0.08:
                left_s = (
                    attempt.opened_by_s + attempt.window_s - self.hall.scheduler.now_s
                )
                self.hall.scheduler.sleep(
                    max(left_s + self.random.choice((-0.3, -0.05, 0.0, 0.05, 1.0)), 0)
                )
            try:
                self._act(attempt)
            except NoAnswerError:
                self.hall.step(f"{self.name} gets no answer")
                self.hall.scheduler.sleep(self.random.choice((0.2, 1.0, 5.0)))
        for _ in range(self.random.choice((0, 1, 2))):  # late, and again
            try:
                self._late(attempt)
            except NoAnswerError:
                continue

    def _act(self, attempt: Attempt) -> None:
        kind = self.random.random()
        if kind < 0.25:
            self._image(attempt)
        elif kind < 0.8:
            self._post(attempt, self._sendable(attempt))
        elif kind < 0.87:
            self._at_once(attempt)
        elif kind < 0.96:
            self._look(attempt)
        else:
            self._log_out(attempt)

    def _image(self, attempt: Attempt) -> None:
        ask = self.hall.ask
        if self.random.random() < 0.5:
            number = self.random.randint(1, 5)
            attempt.asked_for.add(number)
            answer = ask("GET", f"/v1/images/{number}", token=attempt.token)
            served = {number}
        else:
            count = self.random.choice((2, 5))
            served = set(range(1, count + 1))
            attempt.asked_for |= served
            answer = ask(
                "GET",
                "/v1/images",
                token=attempt.token,
                query=f"first=1&count={count}",
            )
        self.hall.step(
            f"{self.name} fetches {sorted(served)}: {answer.status} {answer.code}"
        )
        self._note_closed(attempt, answer)
        if answer.status == 200:
            attempt.served |= served

    def _sendable(self, attempt: Attempt) -> Sent:
        """A body that was sent before, or a new one."""
        sent = [one for one in attempt.sent if one.key is not None or not one.receipts]
        if sent and self.random.random() < 0.3:
            return self.random.choice(sent)
        return self._new(attempt)

    def _new(self, attempt: Attempt) -> Sent:
        rows = []
        for _ in range(self.random.choice((1, 2, 5))):
            self.hall.model.serial += 1
            image = self.random.randint(1, 5)
            found = self.random.choice(
                [*true_boxes()[attempt.order[image - 1]], [1, 1, 1, 9, 9]]
            )
            # No two are the same.
            rows.append([image, found[0], self.hall.model.serial / 100000, *found[1:]])
        if self.is_legacy and self.random.random() < 0.5:
            fields = [("token", attempt.token)]
            fields += [
                (name, f"{row[at]:.6g}")
                for at, name in enumerate(FIELDS)
                for row in rows
            ]
            body = urlencode(fields).encode()
            key = "legacy"
        else:
            body = json.dumps(rows).encode()
            key = (
                f"key-{self.hall.model.serial}" if self.random.random() < 0.6 else None
            )
        sent = Sent(self.name, key, body, rows, self.hall.scheduler.now_s)
        attempt.sent.append(sent)
        return sent

    def _post(self, attempt: Attempt, sent: Sent) -> Answer:
        sent.tries += 1
        is_legacy = sent.key == "legacy"
        if is_legacy:
            answer = self.hall.ask("POST", "/result", sent.body, kind=FORM)
        else:
            headers = {} if sent.key is None else {"HTTP_IDEMPOTENCY_KEY": sent.key}
            answer = self.hall.ask(
                "POST",
                "/v1/detections",
                sent.body,
                token=attempt.token,
                headers=headers,
            )
        self.hall.step(
            f"{self.name} posts {sent.key} {len(sent.rows)} rows: {answer.status} {answer.code}"
        )
        if answer.status == 202:
            # The newest link of the contest's log goes on; the receipt of a key stays.
            receipt = {
                name: value for name, value in answer.json.items() if name != "log"
            }
            sent.receipts.append(receipt)
        elif is_legacy and answer.status == 200:
            sent.is_told_stored = True
        else:
            sent.refused = answer.code or "legacy"
            self._note_closed(attempt, answer)
        return answer

    def _at_once(self, attempt: Attempt) -> None:
        """Several bodies at the same time, one of them twice."""
        wanted = [self._sendable(attempt) for _ in range(self.random.choice((2, 4)))]
        if wanted[0].key is not None:
            wanted.append(wanted[0])
        tasks = [
            self.hall.scheduler.spawn("post", self._quietly(attempt, one))
            for one in wanted
        ]
        for task in tasks:
            self.hall.scheduler.join(task)

    def _quietly(
        self,
        attempt: Attempt,
        sent: Sent,
    ) -> Callable[[], None]:
        def post() -> None:
            try:
                self._post(attempt, sent)
            except NoAnswerError:
                self.hall.step(f"{self.name} gets no answer")

        return post

    def _look(self, attempt: Attempt) -> None:
        answer = self.hall.ask("GET", "/v1/session", token=attempt.token)
        if answer.status == 200 and answer.json["phase"] not in ("open", "before"):
            attempt.closed_at_s = attempt.closed_at_s or self.hall.scheduler.now_s

    def _log_out(self, attempt: Attempt) -> None:
        answer = self.hall.ask("DELETE", "/v1/session", token=attempt.token)
        self.hall.step(
            f"{self.name} logs out of {attempt.run}: {answer.status} {answer.code}"
        )
        if answer.status == 200:
            attempt.logout = answer.json
            attempt.closed_at_s = attempt.closed_at_s or self.hall.scheduler.now_s

    def _late(self, attempt: Attempt) -> None:
        self.hall.scheduler.sleep(self.random.choice((0.0, 0.5, 3.0)))
        if attempt.sent and self.random.random() < 0.6:
            self._post(attempt, self.random.choice(attempt.sent))
        else:
            answer = self._post(attempt, self._new(attempt))
            is_over = attempt.closed_at_s is not None
            assert not (is_over and answer.status in (200, 202)), (
                f"run {attempt.run} is over, a new body is taken"
            )

    def _note_closed(self, attempt: Attempt, answer: Answer) -> None:
        if answer.code == "window-closed":
            attempt.closed_at_s = attempt.closed_at_s or self.hall.scheduler.now_s


class Operator:
    """Arms runs and heats, voids and unvoids, freezes the board, has runs judged."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        self.random = hall.random
        self.heats = 0

    def work(self) -> None:
        while not self.hall.is_over:
            self.hall.scheduler.sleep(self.random.uniform(0.5, 12))
            acts: tuple[Callable[[], None], ...] = (
                *(self._arm,) * 5,
                *(self._judge,) * 5,
                *(self._clear_meters,) * 2,
                *(self._heat,) * 3,
                *(
                    self._close,
                    self._void,
                    self._void,
                    self._unvoid,
                    self._board,
                    self._look,
                ),
            )
            try:
                self.random.choice(acts)()
            except NoAnswerError:
                self.hall.step("the operator gets no answer")

    def _runs(self, *states: str) -> list[int]:
        marks = ", ".join("?" * len(states))
        sql = f"SELECT id FROM runs WHERE state IN ({marks}) ORDER BY id"  # noqa: S608 - marks only
        return [row["id"] for row in self.hall.database.execute(sql, states)]

    def _said(self, what: str, answer: Answer) -> Answer:
        self.hall.step(f"the operator: {what}: {answer.status} {answer.code}")
        return answer

    def _arm(self) -> None:
        team = self.random.choice(TEAMS)
        station = self.random.choice([*STATIONS])
        more = {"extra_s": "7"} if self.random.random() < 0.1 else {}
        if self.random.random() < 0.1:
            more["beyond_attempts"] = "yes"
        self._said(
            f"arms {team} at {station}",
            self.hall.operate(
                "/runs",
                team=team,
                station=station,
                **more,
            ),
        )

    def _heat(self) -> None:
        self.heats += 1
        heat = f"heat {self.heats}"
        teams = self.random.sample(TEAMS, 2)
        for team, station in zip(teams, STATIONS, strict=True):
            told = self._said(
                f"arms {team} for {heat}",
                self.hall.operate(
                    "/runs",
                    team=team,
                    station=station,
                    heat=heat,
                ),
            )
            if told.status != 201:
                return
        for _ in range(3):
            self.hall.scheduler.sleep(self.random.uniform(0.5, 8))
            absent = self.random.choice(("start", "refuse"))
            if (
                self._said(
                    f"starts {heat}",
                    self.hall.operate("/heats/start", heat=heat, absent=absent),
                ).status
                == 200
            ):
                return

    def _close(self) -> None:
        if self.random.random() < 0.5 and (runs := self._runs("open")):
            run = self.random.choice(runs)
            self._said(f"closes {run}", self.hall.operate(f"/runs/{run}/close"))

    def _void(self) -> None:
        states = (
            ("armed", "closed", "judged") if self.random.random() < 0.8 else ("open",)
        )
        if runs := self._runs(*states):
            run = self.random.choice(runs)
            answer = self._said(
                f"voids {run}",
                self.hall.operate(f"/runs/{run}/void", reason="a reason"),
            )
            if answer.status == 200:
                self.hall.model.voided.add(run)

    def _unvoid(self) -> None:
        if runs := self._runs("void"):
            run = self.random.choice(runs)
            self.hall.model.voided.discard(run)  # it may be done, and not answered
            self._said(f"unvoids {run}", self.hall.operate(f"/runs/{run}/unvoid"))

    def _judge(self) -> None:
        runs = self._runs("closed") or (
            self._runs("judged") if self.random.random() < 0.2 else []
        )
        if runs:
            run = self.random.choice(runs)
            self.hall.step(f"run {run} is judged: {self.hall.judge(run) or 'done'}")

    def _board(self) -> None:
        if self.random.random() < 0.3:
            self._said("freezes the board", self.hall.operate("/board/freeze"))
        else:
            self._said("unveils", self.hall.operate("/board/unveil", places="all"))

    def _clear_meters(self) -> None:
        """What `meter-busy` asks for: STOP and RESET where someone else has used a meter."""
        for box in self.hall.boxes.values():
            if (
                box.sessions
                and box.sessions[-1].at_panel
                and box.sessions[-1].end_s is None
            ):
                self.hall.step(f"the operator resets {box.serial}")
                self.hall.model.troubles_s.append(self.hall.scheduler.now_s)
                box.press("STOP", "RESET")

    def _look(self) -> None:
        answer = self.hall.ask("GET", "/operator/status", token=self.hall.operator_key)
        assert answer.status == 200, answer.body


class Mishap:
    """What goes wrong, of these kinds only if there are any; each mishap ends again after a while."""

    def __init__(self, hall: Hall, kinds: Sequence[str] = ()) -> None:
        self.hall = hall
        self.random = hall.random
        self.kinds = kinds

    def happen(self) -> None:
        while not self.hall.is_over:
            self.hall.scheduler.sleep(self.random.uniform(2, 25))
            kinds: tuple[Callable[[], None], ...] = tuple(
                getattr(self, f"_{one}") for one in self.kinds
            ) or (
                *(self._kill,) * 4,
                *(self._restart, self._reboot, self._reboot, self._kill_live),
                *(
                    self._unplug,
                    self._switch_off,
                    self._press,
                    self._press,
                    self._press,
                    self._silence,
                ),
                *(self._fill_disk, self._fill_disk, self._little_room, self._set_clock),
            )
            self.random.choice(kinds)()

    def end(self) -> None:
        """Everything is mended."""
        host = self.hall.host
        host.disk_is_full = host.has_little_room = False
        for box in self.hall.boxes.values():
            box.is_reachable = True
            box.is_silent = False

    def _trouble(self, what: str) -> None:
        self.hall.step(f"MISHAP: {what}")
        self.hall.model.troubles_s.append(self.hall.scheduler.now_s)

    def _lasting(self, *choices: float) -> None:
        self.hall.scheduler.sleep(self.random.choice(choices))
        self.hall.model.troubles_s.append(self.hall.scheduler.now_s)

    def _kill(self) -> None:
        self._busy_moment()
        self._trouble("the server is killed")
        self.hall.kill_server()
        self._up_again()

    def _busy_moment(self) -> None:
        """Mostly it happens while something is written, or waits to be, which takes little of the day."""
        is_writing = self.random.random() < 0.5
        for _ in range(self.random.choice((0, 400, 400))):
            server = self.hall.server
            waits = server is not None and server.contest.store.served.waiting
            if self.hall.host.writer is not None if is_writing else waits:
                return
            self.hall.scheduler.sleep(0.01)

    def _up_again(self) -> None:
        self._lasting(0.3, 2.0, 15.0)
        while self.hall.server is None and not self.hall.is_over:
            self.hall.start_server()
            self._lasting(0.5)

    def _restart(self) -> None:
        self._trouble("the server is stopped in order")
        self.hall.stop_server()
        self._up_again()

    def _reboot(self) -> None:
        self._trouble("the host restarts")
        self.hall.reboot(self.random.uniform(5, 30))
        self._up_again()

    def _kill_live(self) -> None:
        self.hall.step("MISHAP: the live process is killed")
        self.hall.kill_live()
        self.hall.scheduler.sleep(2.0)
        if self.hall.server is not None:
            self.hall.start_live()

    def _box(self) -> Box:
        return self.random.choice([*self.hall.boxes.values()])

    def _unplug(self) -> None:
        box = self._box()
        self._trouble(f"{box.serial} is unplugged")
        box.is_reachable = False
        box.cut()
        self._lasting(0.5, 8.0, 30.0)
        box.is_reachable = True

    def _silence(self) -> None:
        box = self._box()
        self._trouble(f"{box.serial} is silent")
        box.is_silent = True
        self._lasting(1.0, 9.0)
        box.is_silent = False

    def _switch_off(self) -> None:
        box = self._box()
        after = self.random.choice(("keep", "lose", "error"))
        self._trouble(f"{box.serial} is switched off and on: {after}")
        box.switch_off_and_on(after)

    def _press(self) -> None:
        box = self._box()
        if self.random.random() < 0.5:
            self._end_of_run(box)
        keys = self.random.choice(
            (
                ("STOP",),
                ("STOP", "RESET"),
                ("STOP", "RESET", "START"),
                ("RESET",),
                ("RESET", "START"),
            )
        )
        self._trouble(f"at the panel of {box.serial}: {' '.join(keys)}")
        box.press(*keys)

    def _end_of_run(self, box: Box) -> None:
        """Wait until this meter has just been stopped, or its timer is over."""
        for _ in range(150):
            was_running = box.instrument.measuring.integrator.running
            self.hall.scheduler.sleep(0.4)
            box.instrument.tick()
            if was_running and not box.instrument.measuring.integrator.running:
                return

    def _fill_disk(self) -> None:
        self._trouble("the disk is full")
        self.hall.host.disk_is_full = True
        self._lasting(3.0, 12.0)
        self.hall.host.disk_is_full = False

    def _little_room(self) -> None:
        self._trouble("the disk has little room")
        self.hall.host.has_little_room = True
        self._lasting(1.0, 6.0)
        self.hall.host.has_little_room = False

    def _set_clock(self) -> None:
        by_s = self.random.choice((-7200.0, -30.0, 45.0))
        self.hall.step(f"MISHAP: the wall clock is set by {by_s:g} s")
        self.hall.host.wall_is_off_s += by_s
