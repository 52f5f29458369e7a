"""A second, independent simulation of the queueing of RAID-5 over the channels of one SSD.

`compare.py` runs it and Stripewise on the same requests; they share no code. The model is that of paper 000, sections
II and III, without garbage collection: a channel is a member; each of its chips serves one page at a time; the bus of
the channel carries one transfer at a time, those of reads first. A write of a part of a row pre-reads by RMW or by RCW,
and writes its data and parity when all pre-reads have returned. One update of a row runs at a time; the writes of the
row that arrive meanwhile become one further update. Times are nanoseconds.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

READ, PROGRAM = 45_000, 700_000
"""Cell times of a page (paper 000, Table II)."""

TRANSFER = 8192 * 5
"""A page of 8 KiB on the bus, at 5 ns a byte."""

COMMAND = 35
"""The command of a read or a program on the bus."""

CHIPS = 4


@dataclass
class Operation:
    """A page that a channel reads or programs."""

    channel: int
    page: int
    is_read: bool
    then: Callable[[], None]


@dataclass
class Channel:
    """A bus, its chips, and the operations that wait for them."""

    reads: deque[Operation] = field(default_factory=deque)
    writes: deque[Operation] = field(default_factory=deque)
    busy: list[bool] = field(default_factory=lambda: [False] * CHIPS)
    bus_free: bool = True
    transfers: tuple[deque[tuple[int, Callable[[], None]]], ...] = field(
        default_factory=lambda: (deque(), deque())
    )
    turn: int = 0
    home: dict[int, int] = field(default_factory=dict)
    reads_inside: int = 0
    writes_inside: int = 0

    def chip_of(self, page: int) -> int:
        """The chip that holds a page: pages were first written in order, chip by chip."""
        return self.home.get(page, page % CHIPS)


@dataclass
class Update:
    """Writes of a row: columns and what to do when they are durable."""

    row: int
    columns: set[int] = field(default_factory=set)
    waiting: list[Callable[[], None]] = field(default_factory=list)


class Array:
    """RAID-5 with left-symmetric parity over `members` channels, a page a chunk."""

    def __init__(self, members: int, policy: str) -> None:
        self.members, self.data, self.policy = members, members - 1, policy
        self.channels = [Channel() for _ in range(members)]
        self.now = 0
        self.events: list[tuple[int, int, Callable[[], None]]] = []
        self.count = 0
        self.running: dict[int, Update] = {}
        self.next: dict[int, Update] = {}
        self.routines = {"rmw": 0, "rcw": 0, "full": 0}

    def at(self, time: int, what: Callable[[], None]) -> None:
        """Has `what` happen at `time`; equal times in the order of the calls."""
        self.count += 1
        heapq.heappush(self.events, (time, self.count, what))

    def place(self, row: int, column: int) -> int:
        """The channel of a column of a row; the last column is parity."""
        parity = self.data - row % self.members
        return parity if column == self.data else (parity + 1 + column) % self.members

    # Requests.

    def run(self, requests: Iterable[tuple[int, bool, int, int]]) -> list[int]:
        """Response times of requests: arrival, whether it writes, first page, pages."""
        responses: list[int] = []
        for arrival, writes, first, pages in requests:
            self.at(arrival, lambda a=arrival, w=writes, f=first, n=pages: self.arrive(a, w, f, n, responses))
        while self.events:
            self.now, _, what = heapq.heappop(self.events)
            what()
        return responses

    def arrive(self, arrival: int, writes: bool, first: int, pages: int, responses: list[int]) -> None:
        rows: dict[int, set[int]] = {}
        for page in range(first, first + pages):
            rows.setdefault(page // self.data, set()).add(page % self.data)
        left = len(rows) if writes else pages

        def done() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                responses.append(self.now - arrival)

        for row, columns in rows.items():
            if not writes:
                for column in columns:
                    self.enqueue(row, column, True, done)
                continue
            update = self.next.setdefault(row, Update(row))
            update.columns |= columns
            update.waiting.append(done)
            if row not in self.running:
                self.begin(row)

    # Updates.

    def begin(self, row: int) -> None:
        update = self.running[row] = self.next.pop(row)
        dirty = sorted(update.columns)
        clean = [column for column in range(self.data) if column not in update.columns]
        routine = self.choose(row, dirty, clean)
        self.routines[routine] += 1
        reads = {"rmw": [*dirty, self.data], "rcw": clean, "full": []}[routine]
        left = len(reads)

        def read() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self.write(update, dirty)

        for column in reads:
            self.enqueue(row, column, True, read)
        if not reads:
            self.write(update, dirty)

    def write(self, update: Update, dirty: list[int]) -> None:
        left = len(dirty) + 1

        def written() -> None:
            nonlocal left
            left -= 1
            if left > 0:
                return
            del self.running[update.row]
            for done in update.waiting:
                done()
            if update.row in self.next:
                self.begin(update.row)

        for column in [*dirty, self.data]:
            self.enqueue(update.row, column, False, written)

    def choose(self, row: int, dirty: list[int], clean: list[int]) -> str:
        """Paper 000: fewer pre-reads (section II-B), or the lower of two costs (Eq. 4 to 9); a tie takes RMW."""
        if not clean:
            return "full"
        if self.policy == "baseline":
            return "rmw" if len(dirty) + 1 <= len(clean) else "rcw"

        def cost(columns: list[int]) -> int:
            channels = [self.channels[self.place(row, column)] for column in columns]
            read = READ + TRANSFER + COMMAND
            wait = max(read * (channel.reads_inside + 1) for channel in channels)
            return wait + sum(read * channel.writes_inside for channel in channels)

        return "rcw" if cost([*dirty, self.data]) > cost(clean) else "rmw"

    # Channels.

    def enqueue(self, row: int, column: int, is_read: bool, then: Callable[[], None]) -> None:
        number = self.place(row, column)
        channel = self.channels[number]
        operation = Operation(number, row, is_read, then)
        if is_read:
            channel.reads.append(operation)
            channel.reads_inside += 1
        else:
            channel.writes.append(operation)
            channel.writes_inside += 1
        self.at(self.now, lambda: self.offer(channel))

    def offer(self, channel: Channel) -> None:
        """Starts what its chips can take: reads first, the oldest of each kind first."""
        for operation in list(channel.reads):
            chip = channel.chip_of(operation.page)
            if not channel.busy[chip]:
                channel.reads.remove(operation)
                self.start_read(channel, chip, operation)
        while channel.writes:
            # A program goes to the next chip in turn that is idle.
            turns = [(channel.turn + step) % CHIPS for step in range(CHIPS)]
            idle = [chip for chip in turns if not channel.busy[chip]]
            if not idle:
                return
            operation = channel.writes.popleft()
            channel.turn = (idle[0] + 1) % CHIPS
            channel.home[operation.page] = idle[0]
            self.start_program(channel, idle[0], operation)

    def start_read(self, channel: Channel, chip: int, operation: Operation) -> None:
        channel.busy[chip] = True

        def sensed() -> None:
            self.transfer(channel, True, TRANSFER, lambda: self.finish(channel, chip, operation))

        self.transfer(channel, True, COMMAND, lambda: self.at(self.now + READ, sensed))

    def start_program(self, channel: Channel, chip: int, operation: Operation) -> None:
        channel.busy[chip] = True

        def loaded() -> None:
            self.at(self.now + PROGRAM, lambda: self.finish(channel, chip, operation))

        self.transfer(channel, False, COMMAND + TRANSFER, loaded)

    def transfer(self, channel: Channel, is_read: bool, time: int, then: Callable[[], None]) -> None:
        channel.transfers[0 if is_read else 1].append((time, then))
        if channel.bus_free:
            self.next_transfer(channel)

    def next_transfer(self, channel: Channel) -> None:
        queue = channel.transfers[0] or channel.transfers[1]
        channel.bus_free = not queue
        if queue:
            time, then = queue.popleft()

            def over() -> None:
                then()
                self.next_transfer(channel)

            self.at(self.now + time, over)

    def finish(self, channel: Channel, chip: int, operation: Operation) -> None:
        channel.busy[chip] = False
        if operation.is_read:
            channel.reads_inside -= 1
        else:
            channel.writes_inside -= 1
        operation.then()
        self.at(self.now, lambda: self.offer(channel))
