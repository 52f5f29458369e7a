"""A second, independent simulation of write caches in front of SSDs in RAID-0.

`compare_caches.py` runs it and Stripewise on the same requests; they share no code. The model is that of paper 003,
sections 2 and 3, without garbage collection. WOW keeps write groups, of which one at a time leaves; its room is free
when all of it is written. SIW keeps the strips of each SSD apart; the next strips of all SSDs leave together, and wait
a bounded time for SSDs that have none. An SSD has four channels of one die each, which serve pages in the order of
arrival, and a host link for one page at a time. Times are nanoseconds.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

PAGE = 4096
STRIP = 32
"""Pages of a strip of 128 KiB."""

CHANNELS = 4
TRANSFER = (PAGE + 128) * 25
"""A page and its spare bytes on the bus, at 25 ns a byte."""

READ = 25_000 + TRANSFER
PROGRAM = TRANSFER + 200_000
LINK = 1_907
"""A page on the host link, at 238.4 ns for 512 bytes."""

LOW, HIGH = 0.8, 0.9
"""Thresholds of the entries of a cache, as WOW's authors print them."""

ACCESS, SPLITTING = 1_000, 10_000
"""An access of the cache, and what SIW adds to split a request."""


class Clock:
    """Events in order of their times; equal times in the order of the calls."""

    def __init__(self) -> None:
        self.now, self.count = 0, 0
        self.events: list[tuple[int, int, Callable[[], None]]] = []

    def at(self, time: int, what: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.events, (time, self.count, what))

    def run(self) -> None:
        while self.events:
            self.now, _, what = heapq.heappop(self.events)
            what()


class Server:
    """Serves one customer at a time, first come, first served."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.free = clock, 0

    def serve(self, time: int, then: Callable[[], None]) -> None:
        self.free = max(self.free, self.clock.now) + time
        self.clock.at(self.free, then)


class Ssd:
    """A link, and a die on each channel; a page always goes to the same channel."""

    def __init__(self, clock: Clock) -> None:
        self.link = Server(clock)
        self.dies = [Server(clock) for _ in range(CHANNELS)]

    def write(self, page: int, then: Callable[[], None]) -> None:
        self.link.serve(LINK, lambda: self.dies[page % CHANNELS].serve(PROGRAM, then))

    def read(self, page: int, then: Callable[[], None]) -> None:
        self.dies[page % CHANNELS].serve(READ, lambda: self.link.serve(LINK, then))


@dataclass
class Entry:
    """A write group of WOW, or a strip of SIW."""

    pages: dict[int, None] = field(default_factory=dict)
    """Pages that have not left, in the order of their arrival."""

    leaving: set[int] = field(default_factory=set)
    """Pages of writes in flight."""

    room: int = 0
    """Pages of room that those took, until all are written."""

    is_recent: bool = False
    is_sequential: bool = False
    writer: int = -1


class Part:
    """A cache, or the part of one that keeps the strips of one SSD."""

    def __init__(self, room: int, entry_pages: int) -> None:
        self.room, self.used = room, 0
        self.entries: dict[int, Entry] = {}
        self.pointer, self.under_way = 0, 0
        self.low = int(room * LOW) // entry_pages
        self.high = int(room * HIGH) // entry_pages

    def holds(self, position: int, page: int) -> bool:
        entry = self.entries.get(position)
        return entry is not None and (page in entry.pages or page in entry.leaving)

    def has_room(self, position: int, page: int) -> bool:
        """Whether a page may enter. One that is in the cache and not leaving is overwritten."""
        entry = self.entries.get(position)
        return self.used < self.room or entry is not None and page in entry.pages

    def put(self, position: int, page: int, writer: int, is_sequential: bool) -> None:
        entry = self.entries.get(position)
        if entry is None:
            entry = self.entries[position] = Entry(writer=writer, is_sequential=is_sequential)
        elif entry.writer != writer:
            entry.is_recent |= not is_sequential
            entry.writer, entry.is_sequential = writer, is_sequential
        if page not in entry.pages:
            entry.pages[page] = None
            self.used += 1

    def first(self) -> int | None:
        """The first entry that may leave, in order of address from the pointer on."""
        ready = (position for position, entry in self.entries.items() if entry.pages and not entry.leaving)
        return min(ready, key=lambda at: (at < self.pointer, at), default=None)

    def next(self) -> int | None:
        """The first entry that was not hit since the pointer last passed it; moves the pointer behind it."""
        while True:
            position = self.first()
            if position is None:
                return None
            self.pointer = position + 1
            entry = self.entries[position]
            if not entry.is_recent:
                return position
            entry.is_recent = False

    def leave(self, position: int) -> list[int]:
        entry = self.entries[position]
        pages = list(entry.pages)
        entry.leaving, entry.room, entry.pages = set(pages), len(pages), {}
        self.under_way += 1
        return pages

    def arrived(self, position: int, page: int) -> None:
        """A page of the entry is written, and no longer read from the cache; its room is free when all are written."""
        entry = self.entries[position]
        entry.leaving.remove(page)
        if entry.leaving:
            return
        self.used -= entry.room
        self.under_way -= 1
        if not entry.pages:
            del self.entries[position]


class Array:
    """RAID-0 over `members` SSDs behind a cache of `size` bytes; `policy` is "wow" or "siw"."""

    def __init__(self, members: int, policy: str, size: int, wait: int = 5_000_000) -> None:
        self.members, self.policy, self.wait = members, policy, wait
        self.clock = Clock()
        self.ssds = [Ssd(self.clock) for _ in range(members)]
        pages = size // PAGE
        if policy == "wow":
            self.parts = [Part(pages, STRIP * members)]
        else:
            self.parts = [Part(pages // members, STRIP) for _ in range(members)]
        self.queue: deque[tuple[int, int, deque[int], bool]] = deque()
        """Writes that wait: arrival, number, pages that are not in the cache yet, whether they are sequential."""
        self.is_pressed = self.was_sequential = False
        self.nominees: list[tuple[int, int] | None] = [None] * members
        self.tails: deque[int] = deque([-1] * 8, maxlen=8)
        self.responses: list[int] = []

    # Addresses: a page of the array is a page of one SSD; its entry is a group of strips or one strip.

    def place(self, page: int) -> tuple[int, int]:
        strip, rest = divmod(page, STRIP)
        return strip % self.members, strip // self.members * STRIP + rest

    def entry_of(self, page: int) -> tuple[Part, int]:
        member, inside = self.place(page)
        return self.parts[0 if self.policy == "wow" else member], inside // STRIP

    # Requests.

    def run(self, requests: Iterable[tuple[int, bool, int, int]]) -> list[int]:
        """Response times of requests: arrival, whether it writes, first page, pages."""
        for number, (arrival, writes, first, pages) in enumerate(requests):
            self.clock.at(arrival, lambda n=number, w=writes, f=first, p=pages: self.arrive(n, w, f, p))
        self.clock.run()
        return self.responses

    def arrive(self, number: int, writes: bool, first: int, pages: int) -> None:
        if not writes:
            return self.read(range(first, first + pages))
        is_sequential = first in self.tails
        if is_sequential:
            self.tails[self.tails.index(first)] = first + pages
        else:
            self.tails.append(first + pages)
        self.queue.append((self.clock.now, number, deque(range(first, first + pages)), is_sequential))
        self.settle()
        return None

    def read(self, pages: Iterable[int]) -> None:
        """Reads pages that are not in the cache from their SSDs; reads wait for no write."""
        arrival = self.clock.now
        missing = []
        for page in pages:
            part, position = self.entry_of(page)
            if not part.holds(position, page):
                missing.append(page)
        left = len(missing)
        if left == 0:
            self.responses.append(ACCESS)
            return

        def done() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self.responses.append(self.clock.now - arrival)

        for page in missing:
            member, inside = self.place(page)
            self.ssds[member].read(inside, done)

    # The cache.

    def settle(self) -> None:
        """Sends what is due, then takes what has room, until neither changes anything."""
        while self.destage() or self.take():
            pass

    def take(self) -> bool:
        """Puts pages of the waiting writes into the cache, in order of arrival and address."""
        any_taken = False
        while self.queue:
            arrival, number, pages, is_sequential = self.queue[0]
            while pages:
                part, position = self.entry_of(pages[0])
                self.is_pressed = not part.has_room(position, pages[0])
                if self.is_pressed:
                    return any_taken
                part.put(position, pages.popleft(), number, is_sequential)
                any_taken = True
            self.queue.popleft()
            self.responses.append(
                self.clock.now - arrival + ACCESS + (SPLITTING if self.policy == "siw" else 0)
            )
        return any_taken

    def is_due(self) -> bool:
        """Linear threshold scheduling with one entry at a time: one above the low threshold, or at the high one."""
        return self.is_full() or max(len(part.entries) for part in self.parts) > self.parts[0].low

    def is_full(self) -> bool:
        return self.is_pressed or max(len(part.entries) for part in self.parts) >= self.parts[0].high

    def destage(self) -> bool:
        if self.policy == "wow":
            return self.destage_group()
        return self.is_due() and self.destage_strips()

    def destage_group(self) -> bool:
        """Sends the next group. Sequential groups continue below the threshold (WOW's authors)."""
        [part] = self.parts
        first = part.first()
        continues = self.was_sequential and first is not None and part.entries[first].is_sequential
        if part.under_way > 0 or not (self.is_due() or continues):
            return False
        position = part.next()
        if position is None:
            return False
        self.was_sequential = part.entries[position].is_sequential
        self.send(part, position)
        return True

    def destage_strips(self) -> bool:
        waits = False
        for member, part in enumerate(self.parts):
            if self.nominees[member] is None and part.under_way == 0:
                position = part.next()
                if position is not None:
                    self.nominees[member] = (position, self.clock.now)
            # A busy SSD has its strip; only an SSD without any is waited for.
            waits |= self.nominees[member] is None and part.under_way == 0
        found = [nominee for nominee in self.nominees if nominee is not None]
        if not found:
            return False
        until = min(since for _, since in found) + self.wait
        if waits and self.clock.now < until and not self.is_full():
            self.clock.at(until, self.settle)
            return False
        for member, nominee in enumerate(self.nominees):
            if nominee is not None:
                self.nominees[member] = None
                self.send(self.parts[member], nominee[0])
        return True

    def send(self, part: Part, position: int) -> None:
        def written(page: int) -> None:
            part.arrived(position, page)
            self.settle()

        for page in part.leave(position):
            member, inside = self.place(page)
            self.ssds[member].write(inside, lambda page=page: written(page))
