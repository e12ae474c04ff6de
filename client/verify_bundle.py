#!/usr/bin/env python3
"""The second verifier of run bundles, written from docs/bundle.md alone; it needs Python 3.11 and nothing else.

    python3 verify_bundle.py FILE [--testset DIR] [--receipts FILE] [--key HEX] [--head HEX]

It shares no code with the referee, so that an error in one of the two shows. Exit 1 if an item failed.
"""

from __future__ import annotations

import argparse
import base64
import csv
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
TERMS = ("images", "window_s", "setup", "meter_identity", "meter_standing", "images_digest")
NUMBER = r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*"
FIELDS = ("image_name", "CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax")
MALFORMED = (LookupError, ValueError, TypeError, AttributeError, RecursionError, struct.error, zlib.error)
Row = tuple[Any, ...]
Fields = dict[str, Any]


class Unchecked(Exception):
    """An item cannot be checked, for that reason."""


@contextmanager
def about(what: str) -> Iterator[None]:
    """Name what is wrong. Raises ValueError."""
    try:
        yield
    except MALFORMED as error:
        words = str(error) if type(error) is ValueError else f"malformed ({error!r})"
        raise ValueError(f"{what}: {words}") from None


def need(holds: object, sentence: str, kind: type[Exception] = ValueError) -> None:
    """Raise unless it holds."""
    if not holds:
        raise kind(sentence)


def need_same(what: str, found: Fields, expected: Fields) -> None:
    """Raise with the keys of which something else was found than expected."""
    wrong = [key for key, value in expected.items() if key not in found or found[key] != value]
    need(not wrong, f"{what} has another {', '.join(wrong)}")


def sha256(content: bytes | str) -> str:
    """In hexadecimal."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


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
        same = lines(json.dumps(value, allow_nan=False)).encode() == text
        need(same, "its JSON has not the form of a bundle's")
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


def rows_of(body: bytes, content_type: str) -> tuple[list[Row], bool]:
    """The rows of a body, and whether it is a form."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/octet-stream":
        return [*struct.iter_unpack("<7f", body)], False
    if kind == "application/json":
        return [tuple(map(float, row)) for row in json.loads(body.strip() or b"[]")], False
    if kind in ("text/plain", "text/csv"):
        split = [line.split() for line in body.replace(b",", b" ").splitlines()]
        return [tuple(map(float, row)) for row in split if row], False
    if kind == "multipart/form-data":
        form: Any = message_from_bytes(b"Content-Type: %s\r\n\r\n%s" % (content_type.encode(), body))
        named = [(part.get_param("name", header="content-disposition"), part) for part in form.get_payload()]
        fields = [(name, part.get_payload()) for name, part in named if part.get_filename() is None]
    else:
        need(kind == "application/x-www-form-urlencoded", f"no body is of type {kind!r}")
        fields = parse_qsl(body.decode(errors="backslashreplace"), True, errors="backslashreplace")
    lists = [[form_number(name, value) for one, value in fields if one == name] for name in FIELDS]
    return [*zip(*lists, strict=False)], True


def good_rows(post: Fields, body: bytes, images: int, categories: set[int]) -> list[Row]:
    """The rows of a post that are taken; as many as it says are not."""
    if post["kind"] == "rows":
        return [*struct.iter_unpack("<7d", body)]
    rows, is_form = rows_of(body, post["content_type"])
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
    """The list of items, with what was found. All texts are read first. Raises ValueError where that fails."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked, self.found, self.counted, self.head = asked, list[tuple[str, str, str]](), list[Row](), ""
        with about("container"):
            self.parts = unpacked(asked.file.read_bytes())
        self.manifest = as_json(self.parts[MANIFEST], MANIFEST)
        self.predicate = self.manifest["predicate"]
        sizes, self.key = self.predicate["sizes"], self.predicate["public_key"]
        need([MANIFEST, ENVELOPE, *sizes] == [*self.parts], f"{MANIFEST}: it is of other parts")
        self.texts = {name: inflated(self.parts[name], size, name) for name, size in sizes.items()}
        of = {name: as_json(text, name) for name, text in self.texts.items() if name.endswith(".json")}
        self.run, self.contest = of["run.json"]["run"], of["run.json"]["contest"]
        self.set, self.order, self.result = (
            of[f"{name}.json"] for name in ("testset", "image_order", "result")
        )
        self.posts, (before, *events) = (self._lines(f"{name}.jsonl.gz") for name in ("posts", "events"))
        self.truth = self.texts.get(TRUTH)
        if not self.truth and asked.testset:
            self.truth = (asked.testset / "ground_truth.json").read_bytes()
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

    def _table(self, name: str) -> list[dict[str, str]]:
        return [*csv.DictReader(self.texts[name].decode().splitlines())]

    def _last(self, kind: str) -> tuple[Fields, str]:
        """The detail and the link of the run's last event of that kind."""
        return next(((detail, link) for each, detail, link in self.events[::-1] if each == kind), ({}, ""))

    @contextmanager
    def _item(self, name: str) -> Iterator[None]:
        outcome, why = "ok", ""
        try:
            with about(name):
                yield
        except Unchecked as reason:
            outcome, why = "not checked", str(reason)
        except ValueError as error:
            outcome, why = "failed", str(error)
        self.found.append((name, outcome, why))

    def check(self) -> None:
        """Go through all items."""
        with self._item("container"):
            need(self.parts, "it is read")
        self._check_origin()
        self._check_bodies()
        self._check_log()
        self._check_result()
        with self._item("receipts"):
            self._check_receipts()
        for name in ("result-signature", "checks", "interval"):
            with self._item(name):
                raise Unchecked("this program leaves it out")

    def _check_origin(self) -> None:
        with self._item("signature"):
            payload, kind = self.parts[MANIFEST], "application/vnd.in-toto+json"
            sig = as_json(self.parts[ENVELOPE], ENVELOPE)["signatures"][0]["sig"]
            signature, text = base64.b64decode(sig), b"DSSEv1 %d %s %d %s"
            text %= len(kind), kind.encode(), len(payload), payload
            need_signature(text, signature, bytes.fromhex(self.key))
            signatures = [{"keyid": self.key, "sig": base64.b64encode(signature).decode()}]
            form = {
                "payload": base64.b64encode(payload).decode(),
                "payloadType": kind,
                "signatures": signatures,
            }
            need(self.parts[ENVELOPE] == lines(json.dumps(form)).encode(), f"{ENVELOPE}: not of {MANIFEST}")
            need(self.asked.key in (None, self.key), f"it is by {self.key}, not by {self.asked.key}")
        with self._item("parts"):
            subject = [{"name": name, "digest": {"sha256": sha256(self.parts[name])}} for name in self.texts]
            wrong = [one["name"] for one in subject if one not in self.manifest["subject"]]
            need(subject == self.manifest["subject"], f"not of their SHA-256: {wrong}")
            truth = "included" if TRUTH in self.parts else "secret"
            of = {"contest": self.contest["id"], "run": self.run["id"], "ground_truth": truth}
            need_same(MANIFEST, self.predicate, of)
        with self._item("testset"):
            images, categories = self.set["images"], self.set["categories"]
            content = {"format": "lpirc-testset", "version": 1, "images": [one[3] for one in images]}
            content |= {"ground_truth": self.set["ground_truth_sha256"], "categories": categories}
            digest = sha256(json.dumps(content, sort_keys=True, separators=(",", ":")))
            need_same("testset.json", self.set, {"digest": digest})
            armed, judged = self.run["testset_digest"], self._last("judged")[0]
            corrected = judged.get("testset_digest"), judged.get("armed_with")
            need(digest == armed or corrected == (digest, armed), "the run was armed with another one")
            shown = [[[one[0], one[3]] for one in images], [one[0] for one in categories]]
            need(
                self.run["images_digest"] in (None, sha256(json.dumps(shown))), "its images are not the run's"
            )
            known = len({*self.order} & {*range(1, len(images) + 1)})
            need(known == len(self.order) == self.run["images"], "image_order.json has not the run's images")
        with self._item("ground-truth"):
            need(self.truth, "it is secret: give --testset", Unchecked)
            need_same("testset.json", self.set, {"ground_truth_sha256": sha256(self.truth or b"")})

    def _check_bodies(self) -> None:
        with self._item("bodies"):
            bodies, at, total = self.texts["bodies.gz"], 0, 0
            served = {int(row["image"]) for row in self._table("served.csv.gz")}
            categories = {one[0] for one in self.set["categories"]}
            for place, post in enumerate(self.posts, start=1):
                with about(f"body {place}"):
                    body, at = bodies[at : at + post["bytes"]], at + post["bytes"]
                    need(post["kind"] == "rows" or sha256(body) == post["sha256"], "it has another SHA-256")
                    rows = good_rows(post, body, self.run["images"], categories)
                    total += len(rows)
                    of = {"accepted": len(rows), "received_total": total, "bytes": len(body)}
                    need_same("its line", post, of)
                rows = [row for row in rows if self.contest["count_unserved"] or row[0] in served]
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

    def _check_log(self) -> None:
        with self._item("log-chain"):
            need_same(MANIFEST, self.predicate, {"log_head": self.links[-1]})
            among = any(link.startswith(self.asked.head or "") for link in self.links)
            need(among, f"{self.asked.head} is not in the log")
        closed, of, keys = (
            self._last("closed")[0],
            self._last("energy-read")[0],
            ("energy_wh", "integrator_s"),
        )
        with self._item("closing"):
            need("head" in closed, "it was not closed, or by an earlier version", Unchecked)
            terms = [self.run[key] for key in TERMS]
            now = {f"{name}_sha256": sha256(self.texts[f"{name}.csv.gz"]) for name in ("readings", "served")}
            now |= {"terms_sha256": sha256(json.dumps([*terms, self.order])), "posts": len(self.posts)}
            now |= {key: self.run[key] for key in ("elapsed_s", "meter_changes")} | {"head": self.head}
            need_same("the event `closed`", closed, now)
        with self._item("energy"):
            if closed.get("energy_wh") is not None:
                of, keys = closed, keys if "head" in closed else keys[:1]
                reading = self._table("readings.csv.gz")[-1]
                need_same(
                    "the last reading",
                    {key: float(reading[key]) for key in keys},
                    {key: of[key] for key in keys},
                )
            need_same("run.json", self.run, {key: of.get(key) for key in keys})

    def _check_result(self) -> None:
        result, energy, score = self.result or {}, self.run["energy_wh"], None
        with self._item("map"):
            ap = self._aps(self.contest["metric"], "map")
            need_same("result.json", result, {"images": self.run["images"], "detections": len(self.counted)})
            for one, stated in result["ap"].items():
                same = math.isclose(ap.pop(int(one), -1.0), -1.0 if stated is None else stated, rel_tol=1e-12)
                need(same, f"result.json has another AP of category {one}")
            need(not ap, f"result.json has no AP of {[*ap]}")
        with self._item("map-ilsvrc-det"):
            self._aps("ilsvrc-det", "map_ilsvrc_det")
        with self._item("score"):
            need(result, "the run is not judged", Unchecked)
            if energy is not None and 0 < energy < math.inf:
                score = result["map"] / energy
            need_same("result.json", result, {"energy_wh": energy, "score": score})
        with self._item("judged-event"):
            need(result, "the run is not judged", Unchecked)
            of = {key: result[key] for key in ("map", "energy_wh", "score", "signature")}
            need_same("the event `judged`", self._last("judged")[0], of)

    def _aps(self, metric: str, key: str) -> dict[int, float]:
        """AP by category; their mean is compared with the result's."""
        known = metric in METRICS and self.predicate["metric_version"] == METRIC_VERSION
        need(known, f"this program does not know {metric}", Unchecked)
        need(self.result and self.truth, "there is no result, or no ground truth", Unchecked)
        images, things, found = {*self.order}, defaultdict[int, Any](dict), defaultdict[int, list[Row]](list)
        for one in json.loads(self.truth or "")["annotations"]:
            if one["image_id"] in images and not one.get("iscrowd", 0):
                x, y, w, h = one["bbox"]
                box = (x, y, x + w - 1, y + h - 1)
                things[one["category_id"]].setdefault(one["image_id"], []).append(box)
        for arrival, (image, category, confidence, *corners) in enumerate(self.counted):
            found[int(category)].append((-confidence, image, arrival, *corners))
        ap = {of: average_precision(found[of], boxes, metric) for of, boxes in things.items()}
        mean = math.fsum(ap.values()) / max(1, len(ap))
        need(math.isclose(mean, self.result[key], rel_tol=1e-12), f"{key} in result.json is not {mean!r}")
        return ap

    def _check_receipts(self) -> None:
        need(self.asked.receipts, "give --receipts", Unchecked)
        now = {
            "posts": len(self.posts),
            "head": self.head,
            "public_key": self.key,
            "log": self._last("closed")[1],
        }
        for one in map(json.loads, filter(str.strip, self.asked.receipts.read_text().splitlines())):
            of, number = one.get("closing", one), one.get("number", 0)
            need(of["run"] == self.run["id"], f"the receipts are of run {of['run']}, not of {self.run['id']}")
            if "closing" in one:
                need_same("the bundle", now, {key: of[key] for key in now})
                text = lines("lpirc-close-1", of["run"], of["posts"], of["head"], of["log"])
                need_signature(text.encode(), bytes.fromhex(of["signature"]), bytes.fromhex(of["public_key"]))
                continue
            need(one["link"] == link_of(one), f"the receipt of body {number} does not have its own link")
            need(0 < number <= len(self.posts), f"body {number} is missing")
            need_same(f"body {number}", self.posts[number - 1], {key: one[key] for key in (*RECEIPT, "link")})


def link_of(receipt: Fields) -> str:
    """The link of a body, from its receipt."""
    return sha256(lines("lpirc-receipt-1", *(receipt[key] for key in RECEIPT)))


def verify(asked: argparse.Namespace) -> list[tuple[str, str, str]]:
    """(item, ok / failed / not checked, why) of each item."""
    try:
        verifier = Verifier(asked)
    except MALFORMED as error:
        return [("container", "failed", str(error))]
    verifier.check()
    return verifier.found


def main() -> None:
    """Verify the bundle that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("file", "--testset", "--receipts"):
        parser.add_argument(name, type=Path)
    for name in ("--key", "--head"):
        parser.add_argument(name)
    found = verify(parser.parse_args())
    sys.stdout.writelines(f"{outcome:12} {item:16} {why}\n" for item, outcome, why in found)
    sys.exit(any(outcome == "failed" for _, outcome, _ in found))


if __name__ == "__main__":
    main()
