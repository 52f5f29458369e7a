"""The requests of the comparisons, and the trace by which Stripewise gets them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import stripewise

PAGE = 8192

Request = tuple[int, bool, int, int]
"""Arrival in ns, whether it writes, first page, pages."""


@dataclass(frozen=True)
class Load:
    """Requests of a Poisson process, at uniform addresses."""

    rate: float
    """Requests a second."""
    writes: float
    """Share of writes."""
    sizes: tuple[int, ...]
    """Sizes in pages, equally likely."""
    span: int
    """Pages that are addressed."""
    is_aligned: bool = False
    """Whether addresses are multiples of the request's size."""

    def requests(self, count: int, seed: int) -> list[Request]:
        """Times are multiples of 100 ns, as in MSR traces."""
        prng = random.Random(seed)
        made, now = [], 0.0
        for _ in range(count):
            now += prng.expovariate(self.rate) * 1e7
            pages = prng.choice(self.sizes)
            writes = prng.random() < self.writes
            places = self.span // pages if self.is_aligned else self.span - pages
            first = prng.randrange(places) * (pages if self.is_aligned else 1)
            made.append((int(now) * 100, writes, first, pages))
        return made


def write_trace(path: Path, requests: Iterable[Request], page: int) -> None:
    """Writes `requests` over pages of `page` bytes as an MSR trace."""
    path.write_text(
        "".join(
            f"{128_166_372_000_000_000 + at // 100},h,0,{'Write' if writes else 'Read'},{first * page},{pages * page},0\n"
            for at, writes, first, pages in requests
        )
    )


@dataclass(frozen=True)
class Slice:
    """Requests of a real trace, faster and on fewer pages: the touched pieces of 64 KiB of all volumes, one after the other."""

    trace: Path
    """A trace in any format that Stripewise reads."""
    times: float
    """How many times as fast the requests arrive."""

    PAGES = 8
    """Pages of 8 KiB in a piece."""

    @property
    def span(self) -> int:
        """Pages that are addressed."""
        return len(self._pieces()) * self.PAGES

    def requests(self, count: int, seed: int = 0) -> list[Request]:
        """The first `count` reads and writes, as whole pages; there is nothing random, so `seed` is unused."""
        pieces = self._pieces()
        made = []
        for at, volume, first, pages, writes in self._read()[:count]:
            # The pieces of a request are neighbours: all of them are touched.
            start = pieces[volume, first // self.PAGES] * self.PAGES + first % self.PAGES
            made.append((int(at / self.times) // 100 * 100, writes, start, pages))
        return made

    @cache
    def _pieces(self) -> dict[tuple[int, int], int]:
        """The place of each piece that is touched, by volume and number."""
        touched = {
            (volume, piece)
            for _, volume, first, pages, _ in self._read()
            for piece in range(first // self.PAGES, (first + pages - 1) // self.PAGES + 1)
        }
        return {piece: place for place, piece in enumerate(sorted(touched))}

    @cache
    def _read(self) -> list[tuple[int, int, int, int, bool]]:
        """Arrival in ns, volume, first page, pages and whether it writes, of each read and write."""
        rows = stripewise.open_trace(self.trace).requests().to_pyarrow().to_pylist()
        return [
            (
                row["time_ns"],
                row["volume"],
                row["offset_bytes"] // PAGE,
                (row["offset_bytes"] + row["size_bytes"] - 1) // PAGE - row["offset_bytes"] // PAGE + 1,
                row["kind"] == "write",
            )
            for row in rows
            if row["kind"] in ("read", "write")
        ]
