#!/usr/bin/env python3
"""The second verifier of run bundles: written from docs/bundle.md alone, it shares no code with the referee.

python3 verify_bundle.py FILE [--testset DIR] [--receipts FILE] [--key HEX] [--head HEX]
"""

# fmt: off
from __future__ import annotations

import argparse
import base64
import hashlib
import json
import math
import re
import struct
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

VERSION, FORMAT, METRIC_VERSION, LARGEST_PART, METRICS = "0.1.0", 2, 1, 2**30, ("lpirc", "ilsvrc-det")
AGAIN = "perhaps another program packed it again: ask for the file as it was exported"
MANIFEST, ENVELOPE, TRUTH = "manifest.json", "manifest.dsse.json", "ground_truth.json.gz"
PARTS = [MANIFEST, ENVELOPE, "ro-crate-metadata.json", "run.json", "testset.json", "image_order.json", TRUTH]
PARTS += [f"{one}.gz" for one in ("posts.jsonl", "bodies", "served.csv", "readings.csv", "events.jsonl")]
PARTS += ["checks.json", "result.json"]
RECEIPT = ("previous", "number", "sha256", "received_utc", "accepted", "received_total")
ITEMS = ["container", "signature", "parts", "testset", "ground-truth", "bodies", "run-chain", "log-chain", "closing"]
ITEMS += ["energy", "judged-event", "map", "map-ilsvrc-det", "score", "receipts"]
ITEMS += ["result-signature", "checks", "interval"]
WHY = dict.fromkeys(ITEMS[-3:], "this verifier does not compute it") | {"closing": "it is of an earlier version"}
TERMS = ("images", "window_s", "setup", "meter_identity", "meter_standing", "images_digest")
NUMBER, JPEG = r"(?ai)\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", r"(?is)^(.*[/\\])?([^/\\]*)\.jpe?g\s*$"
FIELDS = ("image_name", "CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax")
Row, Fields = tuple[Any, ...], dict[str, Any]
@contextmanager
def about(what: str, found: dict[str, str] | None = None) -> Iterator[None]:
    """Name what is wrong, in `found`, or else raise ValueError."""
    if found is not None:
        found[what] = ""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever comes of reading what others wrote is a failed item
        words = str(error) if type(error) is ValueError else f"not what belongs there ({error!r:.100})"
        if found is None:
            raise ValueError(f"{what}: {words}") from None
        found[what] = words

def need(holds: object, sentence: str) -> None:
    """Raise ValueError unless it holds."""
    if not holds:
        raise ValueError(sentence)

def _need_same(what: str, found: Fields, expected: Fields) -> None:
    wrong = [key for key, value in expected.items() if key not in found or found[key] != value]
    need(not wrong, f"{what} has another {', '.join(wrong)}")
def _sha256(content: bytes | str) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()
def _lines(*values: object) -> str:
    return "".join(f"{value}\n" for value in values)

# Ed25519, RFC 8032: points in extended coordinates x, y, z, t.
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
def _add(p: Row, q: Row) -> Row:
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    e, f, g, h = (b - a) % P, (d - c) % P, (d + c) % P, (b + a) % P
    return e * f % P, g * h % P, f * g % P, e * h % P

def _point(data: bytes) -> Row:  # The point in 32 bytes. Raises ValueError
    sign, y = data[31] >> 7, int.from_bytes(data, "little") & (2**255 - 1)
    x = pow(square := (y * y - 1) * pow(D * y * y + 1, -1, P) % P, (P + 3) // 8, P)
    x = x * pow(2, (P - 1) // 4, P) % P if (x * x - square) % P else x
    need(y < P and (x * x - square) % P == 0 and (x or not sign), "not a point of the curve")
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P
BASE = _point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))

def _need_signature(text: bytes, signature: bytes, key: bytes) -> None:
    need((len(key), len(signature)) == (32, 64), "not an Ed25519 signature")
    a, r, s = _point(key), _point(signature[:32]), int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + text).digest(), "little") % ORDER
    minus_a = (P - a[0], a[1], 1, P - a[3])
    sums, total = ((0, 1, 1, 0), BASE, minus_a, _add(BASE, minus_a)), (0, 1, 1, 0)
    for bit in range(252, -1, -1):
        total = _add(_add(total, total), sums[(s >> bit & 1) + 2 * (k >> bit & 1)])
    same = s < ORDER and all((total[axis] - r[axis] * total[2]) % P == 0 for axis in (0, 1))
    need(same, f"the signature is not by {key.hex()}")

def _unpacked(data: bytes) -> dict[str, bytes]:
    need(data[:4] == b"PK\3\4", "the file is not a bundle")
    parts, written, entries, order, at = dict[str, bytes](), bytearray(), b"", iter(PARTS), 0
    while data[at : at + 4] == b"PK\3\4" and len(data) >= at + 30:
        size, _, length = struct.unpack_from("<LLH", data, at + 18)
        name, at = data[at + 30 : at + 30 + length].decode("ascii", "replace"), at + 30 + length + size
        need(name in order, f"{name[:80]!r} is not a part, or not in its place: {AGAIN}")
        need(at <= len(data), f"cut short in {name}")
        content = parts[name] = data[at - size : at]
        same = (20, 0, 0, 0, 33, zlib.crc32(content), size, size, len(name), 0)
        header = struct.pack("<4s5H3L2H", b"PK\3\4", *same) + name.encode()
        need(data.startswith(header, len(written)), f"{name} is damaged, or {AGAIN}")
        if name == MANIFEST:
            known = _as_json(content, name)["predicate"]["format"]
            need(type(known) is int and 1 <= known <= FORMAT, f"format {known!r} is unknown to this program")
        entries += struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, *same, 0, 0, 0, 0, len(written)) + name.encode()
        written += header + content
    missing = [name for name in PARTS if name not in {*parts, TRUTH}]
    need(not missing, f"it has no part {', '.join(missing)}, or is cut short")
    entries += struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, len(parts), len(parts), len(entries), len(written), 0)
    need(written + entries == data, f"the end is cut short or not that of a bundle: {AGAIN}")
    return parts

def _as_json(text: bytes, name: str) -> Any:  # The value of a canonical JSON text with its line feed
    with about(name):
        value = json.loads(text)
        need(json.dumps(value, allow_nan=False).encode() + b"\n" == text, "not in the form of a bundle")
        return value

def _inflated(content: bytes, size: int, name: str) -> bytes:
    with about(name):
        need(0 <= size <= LARGEST_PART, f"{size} bytes are more than a part may have")
        if name.endswith(".gz"):
            member = zlib.decompressobj(31)
            content = member.decompress(content, size + 1)
            need(member.eof and not member.unused_data, f"more than its {size} bytes, or cut short")
        need(len(content) == size, f"{len(content)} bytes and not {size}")
        return content

def _rows_of(body: bytes, content_type: str) -> tuple[list[Row], bool]:
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/octet-stream":
        return [*struct.iter_unpack("<7f", body)], False
    if kind in ("application/json", "text/plain", "text/csv"):
        split = map(bytes.split, body.replace(b",", b" ").splitlines())
        rows: Any = json.loads(body.strip() or b"[]") if kind == "application/json" else filter(None, split)
        return [tuple(map(float, row)) for row in rows], False
    fields = parse_qsl(body.decode(errors="backslashreplace"), True, errors="backslashreplace")
    if kind == "multipart/form-data":
        form: Any = message_from_bytes(b"Content-Type: %s\r\n\r\n%s" % (content_type.encode(), body))
        named = [(part.get_param("name", header="content-disposition"), part) for part in form.get_payload()]
        fields = [(name, part.get_payload()) for name, part in named if part.get_filename() is None]
    need(kind in ("application/x-www-form-urlencoded", "multipart/form-data"), f"no body is of type {kind!r}")
    lists = [[value for one, value in fields if one == name] for name in FIELDS]
    lists[0] = [re.sub(JPEG, r"\2", value) for value in lists[0]]
    numbers = ([float(one) if re.fullmatch(NUMBER, one) else math.nan for one in texts] for texts in lists)
    return [*zip(*numbers, strict=False)], True

def _good_rows(post: Fields, body: bytes, images: int, categories: dict[int, str]) -> list[Row]:
    is_old, refused = post["kind"] == "rows", 0 if post["kind"] == "rows" else post["refused"]
    need(is_old or _sha256(body) == post["sha256"], "it has another SHA-256")
    rows, is_form = ([*struct.iter_unpack("<7d", body)], True) if is_old else _rows_of(body, post["content_type"])
    finite = [row for row in rows if all(map(math.isfinite, row)) and row[1] in categories]
    good = [row for row in finite if 1 <= row[0] <= images and row[0] % 1 == 0]
    boxes = all(len(row) == 7 and row[3] <= row[5] and row[4] <= row[6] for row in good)
    need(is_form or (boxes and len(good) == len(rows)), "it has rows that cannot be accepted")
    need(len(rows) - len(good) == refused, f"{len(rows) - len(good)} rows are to be refused")
    return good

def _average_precision(found: list[Row], objects: dict[int, list[Row]], metric: str) -> float:
    taken, ranks = set[Row](), list[int]()
    for rank, (_, image, _, x1, y1, x2, y2) in enumerate(sorted(found), start=1):
        most, chosen = 0.0, None
        for place, (x, y, far_x, far_y) in enumerate(objects.get(image, ())):
            w, h, width = far_x - x + 1, far_y - y + 1, min(x2, far_x) - max(x1, x) + 1
            height = min(y2, far_y) - max(y1, y) + 1
            if width <= 0 or height <= 0 or (image, place) in taken:
                continue
            overlap = width * height / ((x2 - x1 + 1) * (y2 - y1 + 1) + w * h - width * height)
            enough = 0.5 if metric == "lpirc" else min(0.5, w * h / ((w + 10) * (h + 10)))
            if overlap > most and overlap >= enough:
                most, chosen = overlap, (image, place)
        taken |= {chosen} if chosen else set()
        ranks += [rank] * bool(chosen)
    best = accumulate((j / ranks[j - 1] for j in range(len(ranks), 0, -1)), max)
    return math.fsum(best) / sum(map(len, objects.values()))

class Verifier:
    """`found` is by item what is wrong, empty where it holds. Raises if a text cannot be read."""

    def __init__(self, data: bytes, given: Fields) -> None:
        self.found, self.parts, self.counted, self.head = {"container": ""}, _unpacked(data), list[Row](), ""
        self.why, self.figures = WHY | {"receipts": "it needs --receipts"}, "the score was not computed here"
        manifest = _as_json(self.parts[MANIFEST], MANIFEST)
        self.subject, self.predicate = manifest["subject"], manifest["predicate"]
        sizes, self.key = self.predicate["sizes"], self.predicate["public_key"]
        need([MANIFEST, ENVELOPE, *sizes] == [*self.parts], f"{MANIFEST}: it is of other parts")
        self.texts = {name: _inflated(self.parts[name], size, name) for name, size in sizes.items()}
        of = {name: _as_json(text, name) for name, text in self.texts.items() if name.endswith(".json")}
        self.contest, self.run = of["run.json"]["contest"], of["run.json"]["run"]
        self.set, self.order, self.result = of["testset.json"], of["image_order.json"], of["result.json"]
        self.truth = self.texts.get(TRUTH) if given.get("truth") is None else given["truth"]
        split = {name: self.texts[name].splitlines(keepends=True) for name in ("posts.jsonl.gz", "events.jsonl.gz")}
        self.posts, (before, *events) = ([_as_json(one, name) for one in lines] for name, lines in split.items())
        self.links, self.events = [before["previous"]], list[Row]()
        for event in events:
            text = json.dumps(["lpirc-event-1", *map(event.get, ("utc", "run", "kind", "detail"))])
            of_event = self.links[-1], event.get("digest") or _sha256(text)
            self.links.append(_sha256(_lines("lpirc-log-1", *of_event)))
            if "digest" not in event:
                need(event["run"] == self.run["id"], "events.jsonl.gz: an event of another run")
                detail = json.loads(event["detail"]) | {"closed_utc": event["utc"]}
                self.events.append((event["kind"], detail, self.links[-1]))
        self._origin(given.get("key"))
        self._bodies()
        self._log(given.get("head"))
        self._result() if self.result else self._leave("the run is not judged yet")
        if given.get("receipts") is not None:
            self._receipts(given["receipts"])

    def _last(self, kind: str) -> tuple[Fields, str]:  # of the run's events: detail and link
        return next(((detail, link) for each, detail, link in self.events[::-1] if each == kind), ({}, ""))
    def _leave(self, why: str, names: tuple[str, ...] = ("map", "map-ilsvrc-det", "score")) -> None:
        self.why |= dict.fromkeys(("judged-event", *names), why)

    def _origin(self, key: str | None) -> None:
        run, images, categories = self.run, self.set["images"], self.set["categories"]
        with about("signature", self.found):
            payload, kind = self.parts[MANIFEST], "application/vnd.in-toto+json"
            signature = base64.b64decode(_as_json(self.parts[ENVELOPE], ENVELOPE)["signatures"][0]["sig"])
            form: Fields = {"payload": base64.b64encode(payload).decode(), "payloadType": kind}
            form["signatures"] = [{"keyid": self.key, "sig": base64.b64encode(signature).decode()}]
            need(self.parts[ENVELOPE] == _lines(json.dumps(form)).encode(), "it is of another manifest")
            text = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
            _need_signature(text, signature, bytes.fromhex(self.key))
            need(key in (None, self.key), f"it is by {self.key}, not by {key}")
        with about("parts", self.found):
            subject = [{"name": name, "digest": {"sha256": _sha256(self.parts[name])}} for name in self.texts]
            wrong = [one["name"] for one in subject if one not in self.subject]
            need(subject == self.subject, f"not of their SHA-256: {wrong}")
            of = {"run": run["id"], "ground_truth": "included" if TRUTH in self.parts else "secret"}
            _need_same(MANIFEST, self.predicate, of | {"contest": self.contest["id"]})
        with about("testset", self.found):
            content = {"format": "lpirc-testset", "version": 1, "images": [one[3] for one in images]}
            content |= {"ground_truth": self.set["ground_truth_sha256"], "categories": categories}
            digest = _sha256(json.dumps(content, sort_keys=True, separators=(",", ":")))
            need(digest == self.set["digest"], "its digest is not that of its content")
            armed, judged = run["testset_digest"], self._last("judged")[0]
            corrected = judged.get("testset_digest"), judged.get("armed_with")
            need(digest == armed or corrected == (digest, armed), "the run was armed with another one")
            shown = [[[one[0], one[3]] for one in images], [one[0] for one in categories]]
            need(run["images_digest"] in (None, _sha256(json.dumps(shown))), "its images are not the run's")
            known = len({*self.order} & {*range(1, len(images) + 1)})
            need(known == len(self.order) == run["images"], "image_order.json has not the run's images")
        self.why["ground-truth"] = "it is still secret: it needs --testset"
        if self.truth is not None:
            with about("ground-truth", self.found):
                need(_sha256(self.truth) == self.set["ground_truth_sha256"], "it is not that of the test set")

    def _bodies(self) -> None:
        bodies, at, total, served = self.texts["bodies.gz"], 0, 0, self.texts["served.csv.gz"].decode()
        with about("bodies", self.found):
            images = {int(line.partition(",")[0]) for line in served.splitlines()[1:]}
            for place, post in enumerate(self.posts, start=1):
                with about(f"body {place}"):
                    body, at = bodies[at : at + post["bytes"]], at + post["bytes"]
                    rows = _good_rows(post, body, self.run["images"], dict(self.set["categories"]))
                    total += len(rows)
                    _need_same("its line", post, {"accepted": len(rows), "received_total": total})
                rows = [row for row in rows if self.contest["count_unserved"] or row[0] in images]
                self.counted += [(self.order[int(row[0]) - 1], *row[1:]) for row in rows]
            need(at == len(bodies), "bodies.gz has bytes of no body")
        with about("run-chain", self.found):
            of_run = [self.run[key] for key in ("id", "nonce", "team", "testset_digest")]
            start = self.head = _sha256(json.dumps(["lpirc-run-1", self.contest["id"], *of_run]))
            for place, post in enumerate(self.posts, start=1):
                if post["number"] is not None or self.head != start:
                    link = _sha256(_lines("lpirc-receipt-1", *map(post.get, RECEIPT)))
                    _need_same(f"body {place}", post, {"number": place, "previous": self.head, "link": link})
                    self.head = link

    def _log(self, head: str | None) -> None:
        closed, read = self._last("closed")[0], self._last("energy-read")[0]
        with about("log-chain", self.found):
            need(self.links[-1] == self.predicate["log_head"], f"it does not lead to the head of {MANIFEST}")
            times = [detail["closed_utc"][:19] for _, detail, _ in self.events] or ["?"]
            words = f"{head} is not among its links, from {times[0]} to {times[-1]} UTC: for one shown before or"
            words += " after ask for `referee log --head` or a newer bundle; if within, the log was rewritten"
            need(head is None or any(link.startswith(head) for link in self.links), words)
        if "head" in closed or (self.posts and self.posts[-1]["number"]):
            with about("closing", self.found):
                terms = _sha256(json.dumps([*map(self.run.get, TERMS), self.order]))
                now = {"terms_sha256": terms, "posts": len(self.posts), "head": self.head}
                now |= {f"{of}_sha256": _sha256(self.texts[f"{of}.csv.gz"]) for of in ("readings", "served")}
                _need_same("the event `closed`", closed, now)
                keys = ["elapsed_s", "closed_utc", *["meter_changes"][closed["energy_wh"] is None :]]
                _need_same("run.json", self.run, {key: closed[key] for key in keys})
        with about("energy", self.found):
            of = closed if closed.get("energy_wh") is not None else read
            keys = [key for key in ("energy_wh", "integrator_s") if key in of]
            _need_same("run.json", self.run, {"energy_wh": None} | {key: of[key] for key in keys})

    def _result(self) -> None:
        result, energy, metric = self.result, self.run["energy_wh"], self.contest["metric"]
        with about("judged-event", self.found):
            figures = {key: result[key] for key in ("map", "energy_wh", "score", "signature")}
            _need_same("the event `judged`", self._last("judged")[0], figures)
        failed = [name for name in ("ground-truth", "bodies") if self.found.get(name)]
        if self.truth is None or failed or self.predicate["metric_version"] != METRIC_VERSION:
            odd = f"it rests on {failed[0]}, which failed" if failed else "its metric_version is unknown"
            return self._leave(self.why["ground-truth"] if self.truth is None else odd)
        self._leave("an earlier version did not compute it", ("map-ilsvrc-det",))
        if result["map_ilsvrc_det"] is not None:
            with about("map-ilsvrc-det", self.found):
                self._aps("ilsvrc-det", result["map_ilsvrc_det"])
        if metric not in METRICS:
            return self._leave(f"this verifier does not compute {metric}", ("map", "score"))
        with about("map", self.found):
            ap = self._aps(metric, result["map"])
            stated = {int(one): value for one, value in result["ap"].items() if value is not None}
            wrong = [one for one in {*ap, *stated} if not math.isclose(ap[one], stated[one], rel_tol=1e-12)]
            need(not wrong, f"result.json has another AP of {wrong}")
            _need_same("result.json", result, {"detections": len(self.counted), "images": len(self.order)})
        if self.found["map"]:
            return self._leave("it rests on map, which failed", ("score",))
        with about("score", self.found):
            score = result["map"] / energy if energy is not None and 0 < energy < math.inf else None
            _need_same("result.json", result, {"energy_wh": energy, "score": score})
            of = f" {score:.6g} = {result['map']:.6g} / {energy:.6g} Wh" if score is not None else ": none"
            self.figures = f"score{of}, computed here"
        return None

    def _aps(self, metric: str, stated: float) -> dict[int, float]:
        images, boxes, found = {*self.order}, defaultdict[int, Any](dict), defaultdict[int, list[Row]](list)
        for one in json.loads(self.truth)["annotations"]:
            if one["image_id"] in images and not one.get("iscrowd", 0):
                x, y, w, h = one["bbox"]
                boxes[one["category_id"]].setdefault(one["image_id"], []).append((x, y, x + w - 1, y + h - 1))
        for arrival, (image, category, confidence, *corners) in enumerate(self.counted):
            found[int(category)].append((-confidence, image, arrival, *corners))
        ap = {category: _average_precision(found[category], of, metric) for category, of in boxes.items()}
        mean = math.fsum(ap.values()) / max(1, len(ap))
        need(math.isclose(mean, stated, rel_tol=1e-12), f"result.json has {stated!r}, it is {mean!r}")
        return ap

    def _receipts(self, text: bytes) -> None:
        with about("receipts", self.found):
            need((lines := text.decode("utf-8-sig")).strip(), "the file holds no receipts")
            for place, line in enumerate(lines.split("\n"), start=1):
                with about(f"line {place} of the file of receipts"):
                    self._receipt(json.loads(line)) if line.strip() else None

    def _receipt(self, one: Fields) -> None:
        now = {"posts": len(self.posts), "head": self.head, "log": self._last("closed")[1], "public_key": self.key}
        of, number = one.get("closing", one), one.get("number", 0)
        need(of["run"] == self.run["id"], f"it is of run {of['run']}, not of {self.run['id']}")
        if of is not one:
            _need_same("the bundle", now, {key: of[key] for key in now})
            text = _lines("lpirc-close-1", of["run"], of["posts"], of["head"], of["log"])
            return _need_signature(text.encode(), *map(bytes.fromhex, (of["signature"], of["public_key"])))
        link = _sha256(_lines("lpirc-receipt-1", *(one[key] for key in RECEIPT)))
        need(one["link"] == link, f"that of body {number} does not have its own link: it was altered")
        need(0 < number <= len(self.posts), f"body {number} is missing in the bundle")
        return _need_same(f"body {number}", self.posts[number - 1], {key: one[key] for key in RECEIPT})

def verify(data: bytes, **given: Any) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """What is wrong by item, why one is left out, and more; `given` are bytes `receipts`, `truth`; `key`, `head`."""
    found = dict[str, str]()
    with about("container", found):
        one = Verifier(data, given)
        signed = [f"signed by {one.key}: compare it with the board"] * (given.get("key") is None)
        return one.found, one.why, [one.figures, *signed]
    return found, dict.fromkeys(ITEMS, "the bundle cannot be read"), []

def _digits(option: str, text: str | None, least: int) -> str | None:
    text = text and text.strip().rstrip("…").lower()
    if text is not None and not re.fullmatch(rf"[0-9a-f]{{{least},64}}", text):
        sys.exit(f"{option} {text!r} is not {'64' if least == 64 else f'{least} to 64'} hexadecimal digits")
    return text
def _file(path: str | None, *inside: str) -> Any:
    try:
        return None if path is None else Path(path, *inside).read_bytes()
    except (OSError, ValueError) as error:
        sys.exit(f"{Path(path or '', *inside)} cannot be read: {getattr(error, 'strerror', None) or error}")

def main() -> None:
    """Verify the bundle that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", action="version", version=f"%(prog)s {VERSION}")
    for name in ("file", "--testset", "--receipts", "--key", "--head"):
        parser.add_argument(name)
    asked = parser.parse_args()
    given = {"truth": _file(asked.testset, "ground_truth.json"), "receipts": _file(asked.receipts)}
    given |= {"key": _digits("--key", asked.key, 64), "head": _digits("--head", asked.head, 12)}
    found, why, shown = verify(_file(asked.file), **given)
    lines = {name: f"failed: {words}" if words else "ok" for name, words in found.items()}
    shown = [f"{name:17} {lines.get(name) or f'not checked: {why[name]}'}" for name in ITEMS] + shown
    failed, left = [name for name in found if found[name]], [name for name in ITEMS if name not in found]
    shown.append(f"does not hold: {', '.join(failed)}" if failed else f"holds; not checked: {', '.join(left)}")
    sys.stdout.write(_lines(*shown))
    sys.exit(bool(failed))
if __name__ == "__main__":
    main()
