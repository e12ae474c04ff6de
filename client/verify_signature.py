"""Verifies Ed25519 signatures (RFC 8032) in pure Python. A point is (x, y, z, t) in extended coordinates."""

from __future__ import annotations

import hashlib

from verify_formats import Wrong, need

Point = tuple[int, int, int, int]

PRIME = 2**255 - 19
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, PRIME) % PRIME
ROOT_OF_MINUS_1 = pow(2, (PRIME - 1) // 4, PRIME)
NEUTRAL: Point = (0, 1, 1, 0)
NO_POINT = "a value in the signature or key is not a point of the curve Ed25519"


def need_signature(
    text: bytes,
    signature: bytes,
    key: bytes,
) -> None:
    """Raise Wrong unless `signature` (64 bytes) is a signature of `text` by `key` (32 bytes)."""
    need(len(key) == 32, "not an Ed25519 key")
    need(len(signature) == 64, "not an Ed25519 signature")
    first_half = signature[:32]
    public = _point(key)
    commitment = _point(first_half)
    s = _number(signature[32:])
    need(s < GROUP_ORDER, "not an Ed25519 signature")
    digest = hashlib.sha512(first_half + key + text).digest()
    k = _number(digest) % GROUP_ORDER

    # s * BASE must be commitment + k * public.
    left = _times(s, BASE)
    right = _add(commitment, _times(k, public))
    need(_is_same(left, right), f"the signature is not by {key.hex()}")


def _number(data: bytes) -> int:
    """Return the number that these bytes encode, little-endian."""
    return int.from_bytes(data, "little")


def _point(data: bytes) -> Point:
    """Return the curve point that 32 bytes encode. Raises Wrong."""
    sign = _number(data) >> 255
    y = _number(data) & (2**255 - 1)
    need(y < PRIME, NO_POINT)

    x = _root((y * y - 1) * pow(D * y * y + 1, -1, PRIME))
    if x % 2 != sign:
        need(x != 0, NO_POINT)
        x = PRIME - x
    return x, y, 1, x * y % PRIME


def _root(square: int) -> int:
    """Return a square root modulo PRIME. Raises Wrong if there is none."""
    root = pow(square, (PRIME + 3) // 8, PRIME)
    for candidate in (root, root * ROOT_OF_MINUS_1 % PRIME):
        if (candidate * candidate - square) % PRIME == 0:
            return candidate
    raise Wrong(NO_POINT)


def _add(p: Point, q: Point) -> Point:
    """Return the sum of two points."""
    x1, y1, z1, t1 = p
    x2, y2, z2, t2 = q
    a = (y1 - x1) * (y2 - x2)
    b = (y1 + x1) * (y2 + x2)
    c = 2 * D * t1 * t2
    d = 2 * z1 * z2
    e = b - a
    f = d - c
    g = d + c
    h = b + a
    x = e * f % PRIME
    y = g * h % PRIME
    z = f * g % PRIME
    t = e * h % PRIME
    return x, y, z, t


def _times(factor: int, point: Point) -> Point:
    """Return `factor` times a point."""
    total = NEUTRAL
    while factor > 0:
        if factor % 2 == 1:
            total = _add(total, point)
        point = _add(point, point)
        factor //= 2
    return total


def _is_same(p: Point, q: Point) -> bool:
    """Return True if two points are equal: their x / z and their y / z agree."""
    x1, y1, z1, _ = p
    x2, y2, z2, _ = q
    is_same_x = (x1 * z2 - x2 * z1) % PRIME == 0
    is_same_y = (y1 * z2 - y2 * z1) % PRIME == 0
    return is_same_x and is_same_y


BASE_Y = 4 * pow(5, -1, PRIME) % PRIME
BASE = _point(BASE_Y.to_bytes(32, "little"))
