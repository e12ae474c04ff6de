#!/usr/bin/env python3
"""The second verifier of run bundles, written from docs/bundle.md alone; it needs Python 3.11 and nothing else.

    python3 verify_bundle.py FILE [--testset DIR] [--receipts FILE] [--key HEX] [--head HEX]

It shares no code with the referee, so that an error in one of the two shows. Exit 1 if an item failed.
"""

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
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

FORMAT, METRIC_VERSION, LARGEST_PART, METRICS = 1, 1, 2**30, ("lpirc", "ilsvrc-det")
MANIFEST, ENVELOPE, TRUTH = "manifest.json", "manifest.dsse.json", "ground_truth.json.gz"
PARTS = [MANIFEST, ENVELOPE, "ro-crate-metadata.json", "run.json", "testset.json", "image_order.json", TRUTH]
PARTS += ["posts.jsonl.gz", "bodies.gz", "served.csv.gz", "readings.csv.gz", "events.jsonl.gz"]
PARTS += ["checks.json", "result.json"]
RECEIPT = ("previous", "number", "sha256", "received_utc", "accepted", "received_total")
ITEMS = ["container", "signature", "parts", "testset", "ground-truth", "bodies", "run-chain", "log-chain"]
ITEMS += ["closing", "energy", "score", "judged-event", "map", "map-ilsvrc-det", "receipts"]
ITEMS += ["result-signature", "checks", "interval"]
TERMS = ("images", "window_s", "setup", "meter_identity", "meter_standing", "images_digest")
NUMBER = r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*"
FIELDS = ("image_name", "CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax")
MALFORMED = (LookupError, ValueError, TypeError, AttributeError, RecursionError, struct.error, zlib.error)
Row, Text = tuple[Any, ...], str | None
Fields = dict[str, Any]


@contextmanager
def about(what: str) -> Iterator[None]:
    """Name what is wrong. Raises ValueError."""
    try:
        yield
    except MALFORMED as error:
        words = str(error) if type(error) is ValueError else f"malformed ({error!r})"
        raise ValueError(f"{what}: {words}") from None


def need(holds: object, sentence: str) -> None:
    """Raise ValueError unless it holds."""
    if not holds:
        raise ValueError(sentence)


def need_same(what: str, found: Fields, expected: Fields) -> None:
    """Raise with the keys of which something else was found than expected."""
    wrong = [key for key, value in expected.items() if key not in found or found[key] != value]
    need(not wrong, f"{what} has another {', '.join(wrong)}")


def sha256(content: bytes | str) -> str:
    """In hexadecimal."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def link_of(receipt: Fields) -> str:
    """The link of a body, from its receipt."""
    return sha256(lines("lpirc-receipt-1", *(receipt[key] for key in RECEIPT)))


def close(one: float, other: float) -> bool:
    """Whether they are equal but for the order of a summation."""
    return math.isclose(one, other, rel_tol=1e-12)


def lines(*values: object) -> str:
    """A text of these lines."""
    return "".join(f"{value}\n" for value in values)


# Ed25519, RFC 8032: points in extended coordinates x, y, z, t.
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(p: Row, q: Row) -> Row:
    """The sum of two points of the curve."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    e, f, g, h = (b - a) % P, (d - c) % P, (d + c) % P, (b + a) % P
    return e * f % P, g * h % P, f * g % P, e * h % P


def point(data: bytes) -> Row:
    """The point in 32 bytes. Raises ValueError."""
    sign, y = data[31] >> 7, int.from_bytes(data, "little") & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x * pow(2, (P - 1) // 4, P) % P if (x * x - square) % P else x
    need(y < P and (x * x - square) % P == 0 and (x or not sign), "not a point of the curve")
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def need_signature(text: bytes, signature: bytes, key: bytes) -> None:
    """Raise unless the signature is by the key: S B = R + k A."""
    need((len(key), len(signature)) == (32, 64), "not an Ed25519 signature")
    a, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + text).digest(), "little") % ORDER
    minus_a = (P - a[0], a[1], 1, P - a[3])
    sums, total = ((0, 1, 1, 0), BASE, minus_a, add(BASE, minus_a)), (0, 1, 1, 0)
    for bit in range(252, -1, -1):
        total = add(add(total, total), sums[(s >> bit & 1) + 2 * (k >> bit & 1)])
    same = all((total[axis] - r[axis] * total[2]) % P == 0 for axis in (0, 1))
    need(same and s < ORDER, f"the signature is not by {key.hex()}")


# The container and its texts.
def packed(parts: dict[str, bytes]) -> bytes:
    """The container of these parts."""
    files, directory = bytearray(), b""
    for name, content in parts.items():
        fixed = (20, 0, 0, 0, 33, zlib.crc32(content), len(content), len(content), len(name), 0)
        directory += struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, *fixed, 0, 0, 0, 0, len(files)) + name.encode()
        files += struct.pack("<4s5H3L2H", b"PK\3\4", *fixed) + name.encode() + content
    sizes = (len(parts), len(parts), len(directory), len(files), 0)
    return bytes(files + directory + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, *sizes))


def unpacked(data: bytes) -> dict[str, bytes]:
    """The parts of a container, which must be just what `packed` makes of them."""
    need(data[:4] == b"PK\3\4", "this is not a bundle")
    parts, at, order = dict[str, bytes](), 0, iter(PARTS)
    while data[at : at + 4] == b"PK\3\4" and len(data) >= at + 30:
        size, _, length = struct.unpack_from("<LLH", data, at + 18)
        name, at = data[at + 30 : at + 30 + length].decode("ascii", "replace"), at + 30 + length + size
        need(name in order, f"{name!r} is not a part, or not in its place")
        need(at <= len(data), f"cut short in {name}")
        parts[name] = data[at - size : at]
        if name == MANIFEST:
            known = as_json(parts[name], name)["predicate"]["format"]
            need(type(known) is int and 1 <= known <= FORMAT, f"format {known!r} is unknown to this program")
    need({*PARTS} - {*parts} <= {TRUTH}, f"cut short after {[*parts][-1]}")
    need(packed(parts) == data, "its bytes are not those of its parts in their form")
    return parts


def as_json(text: bytes, name: str) -> Any:
    """The value of a canonical JSON text with its line feed."""
    with about(name):
        value = json.loads(text)
        need(json.dumps(value, allow_nan=False).encode() + b"\n" == text, "not in the form of a bundle")
        return value


def inflated(content: bytes, size: int, name: str) -> bytes:
    """The content of a part: of its one gzip member, or as it is."""
    with about(name):
        need(0 <= size <= LARGEST_PART, f"{size} bytes are more than a part may have")
        if name.endswith(".gz"):
            member = zlib.decompressobj(31)
            content = member.decompress(content, size + 1)
            need(member.eof and not member.unused_data, f"more than its {size} bytes, or cut short")
        need(len(content) == size, f"{len(content)} bytes and not {size}")
        return content


# From bodies to rows: image, category, confidence, xmin, ymin, xmax, ymax.
def form_number(name: str, text: str) -> float:
    """The number in a field of a form, NaN where there is none; an image may be the name of its JPEG."""
    if name == FIELDS[0]:
        text = re.sub(r"(?is)^(.*[/\\])?([^/\\]*)\.jpe?g\s*$", r"\2", text)
    return float(text) if re.fullmatch(NUMBER, text, re.ASCII | re.IGNORECASE) else math.nan


def form_rows(body: bytes, kind: str, content_type: str) -> list[Row]:
    """The rows of a form, as many as the shortest of its lists."""
    fields = parse_qsl(body.decode(errors="backslashreplace"), True, errors="backslashreplace")
    if kind == "multipart/form-data":
        form: Any = message_from_bytes(b"Content-Type: %s\r\n\r\n%s" % (content_type.encode(), body))
        named = [(part.get_param("name", header="content-disposition"), part) for part in form.get_payload()]
        fields = [(name, part.get_payload()) for name, part in named if part.get_filename() is None]
    lists = [[form_number(name, value) for one, value in fields if one == name] for name in FIELDS]
    return [*zip(*lists, strict=False)]


def good_rows(post: Fields, body: bytes, images: int, categories: set[int]) -> list[Row]:
    """The rows of a post that are taken."""
    if post["kind"] == "rows":
        return [*struct.iter_unpack("<7d", body)]
    kind = post["content_type"].partition(";")[0].strip().lower()
    if is_form := kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        rows = form_rows(body, kind, post["content_type"])
    elif kind == "application/octet-stream":
        rows = [*struct.iter_unpack("<7f", body)]
    elif kind == "application/json":
        rows = [tuple(map(float, row)) for row in json.loads(body.strip() or b"[]")]
    else:
        need(kind in ("text/plain", "text/csv"), f"no body is of type {kind!r}")
        rows = [
            tuple(map(float, line.split())) for line in body.replace(b",", b" ").splitlines() if line.split()
        ]
    finite = [row for row in rows if all(map(math.isfinite, row)) and row[1] in categories]
    good = [row for row in finite if 1 <= row[0] <= images and row[0] % 1 == 0]
    boxes = all(len(row) == 7 and row[3] <= row[5] and row[4] <= row[6] for row in good)
    need(is_form or (boxes and len(good) == len(rows)), "it has rows that cannot be accepted")
    need(len(rows) - len(good) == post["refused"], f"{len(rows) - len(good)} rows are to be refused")
    return good


# The metrics.
def average_precision(found: list[Row], objects: dict[int, list[Row]], metric: str) -> float:
    """AP of a category, from its detections (-confidence, image, arrival, corners) and its boxes by image."""
    taken, ranks, best, highest = set[Row](), list[int](), list[float](), 0.0
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
        if chosen:
            taken.add(chosen)
            ranks.append(rank)
    for j in range(len(ranks), 0, -1):
        highest = max(highest, j / ranks[j - 1])
        best.append(highest)
    return math.fsum(best) / sum(map(len, objects.values()))


class Verifier:
    """What was found, by item: empty, or what is wrong. Raises ValueError if a text cannot be read."""

    def __init__(self, data: bytes, truth: bytes | None) -> None:
        self.found, self.counted, self.head = dict[str, str](), list[Row](), ""
        with about("container"):
            self.parts = unpacked(data)
        self.manifest = as_json(self.parts[MANIFEST], MANIFEST)
        self.predicate = self.manifest["predicate"]
        sizes, self.key = self.predicate["sizes"], self.predicate["public_key"]
        need([MANIFEST, ENVELOPE, *sizes] == [*self.parts], f"{MANIFEST}: it is of other parts")
        self.texts = {name: inflated(self.parts[name], size, name) for name, size in sizes.items()}
        of = {name: as_json(text, name) for name, text in self.texts.items() if name.endswith(".json")}
        self.contest, self.run = of["run.json"]["contest"], of["run.json"]["run"]
        self.set, self.order, self.result = of["testset.json"], of["image_order.json"], of["result.json"]
        self.truth = self.texts.get(TRUTH, truth)
        self.posts, (before, *events) = (self._lines(f"{name}.jsonl.gz") for name in ("posts", "events"))
        self.links, self.events = [before["previous"]], list[Row]()
        for event in events:
            text = json.dumps(["lpirc-event-1", *map(event.get, ("utc", "run", "kind", "detail"))])
            digest = event.get("digest") or sha256(text)
            self.links.append(sha256(lines("lpirc-log-1", self.links[-1], digest)))
            if "digest" not in event:
                need(event["run"] == self.run["id"], "events.jsonl.gz: an event of another run")
                self.events.append((event["kind"], json.loads(event["detail"]), self.links[-1]))

    def _lines(self, name: str) -> list[Fields]:
        return [as_json(line, name) for line in self.texts[name].splitlines(keepends=True)]

    def _last(self, kind: str) -> tuple[Fields, str]:
        # The detail and the link of the run's last event of that kind.
        return next(((detail, link) for each, detail, link in self.events[::-1] if each == kind), ({}, ""))

    @contextmanager
    def _item(self, name: str) -> Iterator[None]:
        try:
            with about(name):
                yield
            self.found[name] = ""
        except ValueError as error:
            self.found[name] = str(error)

    def check_origin(self, key: str | None) -> None:
        """Whose bundle it is, and of which test set."""
        run, images, categories = self.run, self.set["images"], self.set["categories"]
        with self._item("signature"):
            payload, kind = self.parts[MANIFEST], "application/vnd.in-toto+json"
            envelope = as_json(self.parts[ENVELOPE], ENVELOPE)
            signature = base64.b64decode(envelope["signatures"][0]["sig"])
            signatures = [{"keyid": self.key, "sig": base64.b64encode(signature).decode()}]
            form = {"payload": base64.b64encode(payload).decode(), "payloadType": kind}
            need(json.dumps(envelope) == json.dumps(form | {"signatures": signatures}), "of another manifest")
            text = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
            need_signature(text, signature, bytes.fromhex(self.key))
            need(key in (None, self.key), f"it is by {self.key}, not by {key}")
        with self._item("parts"):
            subject = [{"name": name, "digest": {"sha256": sha256(self.parts[name])}} for name in self.texts]
            wrong = [one["name"] for one in subject if one not in self.manifest["subject"]]
            need(subject == self.manifest["subject"], f"not of their SHA-256: {wrong}")
            of = {"run": run["id"], "ground_truth": "included" if TRUTH in self.parts else "secret"}
            need_same(MANIFEST, self.predicate, of | {"contest": self.contest["id"]})
        with self._item("testset"):
            content = {"format": "lpirc-testset", "version": 1, "images": [one[3] for one in images]}
            content |= {"ground_truth": self.set["ground_truth_sha256"], "categories": categories}
            digest = sha256(json.dumps(content, sort_keys=True, separators=(",", ":")))
            need(digest == self.set["digest"], "its digest is not that of its content")
            armed, judged = run["testset_digest"], self._last("judged")[0]
            corrected = judged.get("testset_digest"), judged.get("armed_with")
            need(digest == armed or corrected == (digest, armed), "the run was armed with another one")
            shown = [[[one[0], one[3]] for one in images], [one[0] for one in categories]]
            need(run["images_digest"] in (None, sha256(json.dumps(shown))), "its images are not the run's")
            known = len({*self.order} & {*range(1, len(images) + 1)})
            need(known == len(self.order) == run["images"], "image_order.json has not the run's images")
        if self.truth:
            with self._item("ground-truth"):
                need(sha256(self.truth) == self.set["ground_truth_sha256"], "it is not that of the test set")

    def check_bodies(self) -> None:
        """What was received, and the rows that count."""
        bodies, at, total, served = self.texts["bodies.gz"], 0, 0, self.texts["served.csv.gz"].decode()
        with self._item("bodies"):
            images = {int(line.partition(",")[0]) for line in served.splitlines()[1:]}
            for place, post in enumerate(self.posts, start=1):
                with about(f"body {place}"):
                    body, at = bodies[at : at + post["bytes"]], at + post["bytes"]
                    need(post["kind"] == "rows" or sha256(body) == post["sha256"], "it has another SHA-256")
                    rows = good_rows(post, body, self.run["images"], dict(self.set["categories"]))
                    total += len(rows)
                    of = {"accepted": len(rows), "received_total": total, "bytes": len(body)}
                    need_same("its line", post, of)
                rows = [row for row in rows if self.contest["count_unserved"] or row[0] in images]
                self.counted += [(self.order[int(row[0]) - 1], *row[1:]) for row in rows]
            need(at == len(bodies), "bodies.gz has bytes of no body")
        with self._item("run-chain"):
            of_run = [self.run[key] for key in ("id", "nonce", "team", "testset_digest")]
            start = self.head = sha256(json.dumps(["lpirc-run-1", self.contest["id"], *of_run]))
            for place, post in enumerate(self.posts, start=1):
                if post["number"] is not None or self.head != start:
                    of = {"number": place, "previous": self.head, "link": link_of(post)}
                    need_same(f"body {place}", post, of)
                    self.head = post["link"]

    def check_log(self, head: str | None) -> None:
        """What was noted, and the energy."""
        closed, read = self._last("closed")[0], self._last("energy-read")[0]
        with self._item("log-chain"):
            need(self.links[-1] == self.predicate["log_head"], f"it does not lead to the head of {MANIFEST}")
            need(any(link.startswith(head or "") for link in self.links), f"{head} is not in the log")
        if "head" in closed or (self.posts and self.posts[-1]["number"]):
            with self._item("closing"):
                terms = sha256(json.dumps([*(self.run[key] for key in TERMS), self.order]))
                now: Fields = {"posts": len(self.posts), "head": self.head, "terms_sha256": terms}
                for name in ("readings", "served"):
                    now[f"{name}_sha256"] = sha256(self.texts[f"{name}.csv.gz"])
                need_same("the event `closed`", closed, now)
                need_same("run.json", self.run, {key: closed[key] for key in ("elapsed_s", "meter_changes")})
        with self._item("energy"):
            of = closed if closed.get("energy_wh") is not None else read
            keys = [key for key in ("energy_wh", "integrator_s") if key in of]
            need_same("run.json", self.run, {"energy_wh": None} | {key: of[key] for key in keys})

    def check_result(self) -> None:
        """What was judged."""
        result, metric, energy, score = self.result, self.contest["metric"], self.run["energy_wh"], None
        if not result:
            return
        with self._item("score"):
            if energy is not None and 0 < energy < math.inf:
                score = result["map"] / energy
            need_same("result.json", result, {"energy_wh": energy, "score": score})
        with self._item("judged-event"):
            figures = {key: result[key] for key in ("map", "energy_wh", "score", "signature")}
            need_same("the event `judged`", self._last("judged")[0], figures)
        if not self.truth or self.predicate["metric_version"] != METRIC_VERSION:
            return
        with self._item("map-ilsvrc-det"):
            self._need_map("ilsvrc-det", result["map_ilsvrc_det"])
        if metric in METRICS:
            with self._item("map"):
                ap = self._need_map(metric, result["map"])
                stated = {int(one): value for one, value in result["ap"].items() if value is not None}
                wrong = [one for one in {*ap, *stated} if not close(ap[one], stated[one])]
                need(not wrong, f"result.json has another AP of {wrong}")
                need_same("result.json", result, {"detections": len(self.counted), "images": len(self.order)})

    def _need_map(self, metric: str, stated: float) -> dict[int, float]:
        images, boxes, found = {*self.order}, defaultdict[int, Any](dict), defaultdict[int, list[Row]](list)
        for one in json.loads(self.truth or "")["annotations"]:
            if one["image_id"] in images and not one.get("iscrowd", 0):
                x, y, w, h = one["bbox"]
                of_image = boxes[one["category_id"]].setdefault(one["image_id"], [])
                of_image.append((x, y, x + w - 1, y + h - 1))
        for arrival, (image, category, confidence, *corners) in enumerate(self.counted):
            found[int(category)].append((-confidence, image, arrival, *corners))
        ap = {category: average_precision(found[category], of, metric) for category, of in boxes.items()}
        mean = math.fsum(ap.values()) / max(1, len(ap))
        need(close(mean, stated), f"result.json has {stated!r}, it is {mean!r}")
        return ap

    def check_receipts(self, text: str) -> None:
        """What a team was acknowledged for, and what its run was closed with."""
        now: Fields = {"posts": len(self.posts), "head": self.head, "public_key": self.key}
        now["log"] = self._last("closed")[1]
        with self._item("receipts"):
            for one in map(json.loads, filter(str.strip, text.splitlines())):
                of, number, run = one.get("closing", one), one.get("number", 0), self.run["id"]
                need(of["run"] == run, f"they are of run {of['run']}, the bundle is of run {run}")
                if of is one:
                    need(one["link"] == link_of(one), f"that of body {number} does not have its own link")
                    need(0 < number <= len(self.posts), f"body {number} is missing")
                    stated = {key: one[key] for key in (*RECEIPT, "link")}
                    need_same(f"body {number}", self.posts[number - 1], stated)
                else:
                    need_same("the bundle", now, {key: of[key] for key in now})
                    text = lines("lpirc-close-1", *(of[key] for key in ("run", "posts", "head", "log")))
                    need_signature(text.encode(), *map(bytes.fromhex, (of["signature"], of["public_key"])))


def verify(
    data: bytes, key: Text = None, head: Text = None, receipts: Text = None, truth: bytes | None = None
) -> dict[str, str]:
    """By item what is wrong, empty where it holds; an item that is not there was not checked."""
    try:
        verifier = Verifier(data, truth)
    except MALFORMED as error:
        return {"container": str(error)}
    verifier.found["container"] = ""
    verifier.check_origin(key)
    verifier.check_bodies()
    verifier.check_log(head)
    verifier.check_result()
    if receipts is not None:
        verifier.check_receipts(receipts)
    return verifier.found


def main() -> None:
    """Verify the bundle that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("file", "--testset", "--receipts"):
        parser.add_argument(name, type=Path)
    for name in ("--key", "--head"):
        parser.add_argument(name)
    asked = parser.parse_args()
    truth = (asked.testset / "ground_truth.json").read_bytes() if asked.testset else None
    receipts = asked.receipts.read_text() if asked.receipts else None
    found = verify(asked.file.read_bytes(), asked.key, asked.head, receipts, truth)
    words = ((name, found.get(name, "not checked")) for name in ITEMS)
    sys.stdout.writelines(f"{name:17} {outcome or 'ok'}\n" for name, outcome in words)
    sys.exit(any(found.values()))


if __name__ == "__main__":
    main()
