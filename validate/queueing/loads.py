"""The requests of the comparisons, and the trace by which Stripewise gets them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

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
