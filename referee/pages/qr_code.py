"""QR codes of addresses (ISO/IEC 18004): bytes, versions 1 to 6, error correction M.

Made here, so that a hall without internet and a referee without another package have one. The test reads every size
with a decoder of another maker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_BYTES = 106
QUIET = 4  # modules of blank margin that scanners need

_MASKS = 8
_FIELD = 0x11D  # the polynomial of the field of 256 elements
_FORMAT_GENERATOR = 0x537
_FORMAT_MASK = 0x5412
_FORMAT_BITS = 15
_LEVEL_M = 0
_FINDER = re.compile("(?=00001011101|10111010000)")


@dataclass(frozen=True)
class _Version:
    """The codewords of a version at level M: all its blocks are equally long."""

    number: int
    data: int
    blocks: int
    correction: int  # codewords for each block

    @property
    def size(self) -> int:
        """The number of modules of an edge."""
        return 17 + 4 * self.number


_VERSIONS = (
    _Version(1, 16, 1, 10),
    _Version(2, 28, 1, 16),
    _Version(3, 44, 1, 26),
    _Version(4, 64, 2, 18),
    _Version(5, 86, 2, 24),
    _Version(6, 108, 4, 16),
)
Matrix = list[list[int]]


@dataclass(frozen=True)
class QrCode:
    """A QR code as rows of modules; a dark module is 1."""

    rows: tuple[tuple[int, ...], ...]

    @property
    def edge(self) -> int:
        """The number of modules of an edge, with the margin."""
        return len(self.rows) + 2 * QUIET

    @property
    def path(self) -> str:
        """The dark modules as an SVG path, inside the margin; a unit is a module."""
        return "".join(
            f"M{x + QUIET} {y + QUIET}h1v1h-1z"
            for y, row in enumerate(self.rows)
            for x, is_dark in enumerate(row)
            if is_dark
        )


def qr_code(text: str) -> QrCode | None:
    """Return the smallest QR code of a text; None if it is longer than MOST_BYTES."""
    content = text.encode()
    if len(content) > MOST_BYTES:
        return None
    version = next(one for one in _VERSIONS if len(content) <= one.data - 2)
    codewords = _codewords(content, version)
    masked = [_matrix(version, codewords, mask) for mask in range(_MASKS)]
    best = min(masked, key=_penalty)
    return QrCode(tuple(map(tuple, best)))


def _codewords(content: bytes, version: _Version) -> bytes:
    """Return mode, length, content and padding with their correction, interleaved by block."""
    bits = f"0100{len(content):08b}" + "".join(f"{byte:08b}" for byte in content)
    bits += "0000"
    data = bytearray(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))
    while len(data) < version.data:
        data.append(0xEC)
        if len(data) < version.data:
            data.append(0x11)
    length = version.data // version.blocks
    blocks = [data[at : at + length] for at in range(0, version.data, length)]
    generator = _generator(version.correction)
    corrections = [_remainder(block, generator) for block in blocks]
    return bytes(
        byte
        for parts in (blocks, corrections)
        for column in zip(*parts, strict=True)
        for byte in column
    )


def _product(one: int, other: int) -> int:
    product = 0
    for bit in range(7, -1, -1):
        product = product << 1 ^ (product >> 7) * _FIELD
        product ^= (other >> bit & 1) * one
    return product


def _generator(degree: int) -> list[int]:
    """Return the coefficients of (x - 1)(x - 2)(x - 4)... without the leading one."""
    found = [0] * (degree - 1) + [1]
    root = 1
    for _ in range(degree):
        for at in range(degree):
            found[at] = _product(found[at], root)
            if at + 1 < degree:
                found[at] ^= found[at + 1]
        root = _product(root, 2)
    return found


def _remainder(block: Sequence[int], generator: list[int]) -> bytes:
    rest = [0] * len(generator)
    for byte in block:
        factor = byte ^ rest[0]
        rest = [*rest[1:], 0]
        rest = [
            one ^ _product(coefficient, factor)
            for one, coefficient in zip(rest, generator, strict=True)
        ]
    return bytes(rest)


def _matrix(version: _Version, codewords: bytes, mask: int) -> Matrix:
    """Return the modules with the codewords, all of them masked by this mask."""
    size = version.size
    fixed = _fixed_modules(version)
    rows = [[0] * size for _ in range(size)]
    for (x, y), bit in fixed.items():
        rows[y][x] = bit
    bits = "".join(f"{byte:08b}" for byte in codewords)
    free = (place for place in _course(size) if place not in fixed)
    for at, (x, y) in enumerate(free):
        bit = int(bits[at]) if at < len(bits) else 0
        rows[y][x] = bit ^ _is_inverted(mask, x, y)
    for (x, y), bit in _format_modules(size, mask):
        rows[y][x] = bit
    return rows


def _course(size: int) -> Iterator[tuple[int, int]]:
    """Yield the places in the order of the bits: pairs of columns from the right, up and down by turns."""
    is_upward = True
    for right in (*range(size - 1, 6, -2), 5, 3, 1):
        for step in range(size):
            y = size - 1 - step if is_upward else step
            yield right, y
            yield right - 1, y
        is_upward = not is_upward


def _fixed_modules(version: _Version) -> dict[tuple[int, int], int]:
    """Return the modules that no codeword may take: finders, timing, alignment, and the places of the format."""
    size = version.size
    fixed = {place: 0 for place, _ in _format_modules(size, 0)}
    for at in range(8, size - 8):
        fixed[at, 6] = fixed[6, at] = (at + 1) % 2
    for centre_x, centre_y in ((3, 3), (size - 4, 3), (3, size - 4)):
        fixed |= _rings(centre_x, centre_y, 4, size)
    if version.number > 1:
        centre = size - 7
        fixed |= _rings(centre, centre, 2, size)
    return fixed


def _rings(x: int, y: int, radius: int, size: int) -> dict[tuple[int, int], int]:
    """Return a finder with its border (radius 4) or an alignment pattern (radius 2)."""
    around = range(-radius, radius + 1)
    light = (2, 4) if radius == 4 else (1,)
    return {
        (x + right, y + down): int(max(abs(right), abs(down)) not in light)
        for right in around
        for down in around
        if 0 <= x + right < size and 0 <= y + down < size
    }


def _format_modules(size: int, mask: int) -> list[tuple[tuple[int, int], int]]:
    """Return the places of the format's 15 bits, each of them twice, and the dark module."""
    value = _LEVEL_M << 3 | mask
    rest = value << 10
    for bit in range(_FORMAT_BITS - 1, 9, -1):
        if rest >> bit & 1:
            rest ^= _FORMAT_GENERATOR << bit - 10
    coded = (value << 10 | rest) ^ _FORMAT_MASK
    bits = [coded >> bit & 1 for bit in range(_FORMAT_BITS)]
    down = [0, 1, 2, 3, 4, 5, 7, 8]
    beside_first = [(8, y) for y in down] + [(x, 8) for x in (7, 5, 4, 3, 2, 1, 0)]
    beside_others = [(size - 1 - at, 8) for at in range(8)]
    beside_others += [(8, size - 7 + at) for at in range(7)]
    twice = [*zip(beside_first, bits, strict=True)]
    twice += zip(beside_others, bits, strict=True)
    return [*twice, ((8, size - 8), 1)]


def _is_inverted(mask: int, x: int, y: int) -> bool:
    remainders = (
        (x + y) % 2,
        y % 2,
        x % 3,
        (x + y) % 3,
        (x // 3 + y // 2) % 2,
        x * y % 2 + x * y % 3,
        (x * y % 2 + x * y % 3) % 2,
        ((x + y) % 2 + x * y % 3) % 2,
    )
    return remainders[mask] == 0


def _penalty(rows: Matrix) -> int:
    """Return how hard the modules are to read: runs, squares, likeness of finders, unequal share of dark ones."""
    lines = ["".join(map(str, row)) for row in rows]
    lines += ["".join(map(str, column)) for column in zip(*rows, strict=True)]
    runs = [run for line in lines for run in re.findall("0{5,}|1{5,}", line)]
    penalty = sum(len(run) - 2 for run in runs)
    size = len(rows)
    for y in range(size - 1):
        for x in range(size - 1):
            square = rows[y][x : x + 2] + rows[y + 1][x : x + 2]
            if sum(square) in (0, 4):
                penalty += 3
    penalty += 40 * sum(len(_FINDER.findall(line)) for line in lines)
    dark = sum(map(sum, rows))
    return penalty + 10 * (abs(20 * dark - 10 * size * size) // (size * size))
