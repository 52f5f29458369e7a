//! The yardstick: a minimal page-mapped flash simulation. It has a page map, greedy garbage collection, a FIFO queue
//! for each die and an event for each operation, but no controller, bus, classes, tables or options.
//!
//! The additional cost of the real simulator is the price of its features. The benchmark reports the ratio of flash
//! operations per CPU-second.

use std::collections::VecDeque;

use stripewise_base::Nanos;
use stripewise_base::agenda::Agenda;
use stripewise_base::prng::Prng;

/// The configuration of the yardstick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Members; each host update works on one, or on two with parity.
    pub(crate) members: u32,
    /// Dies of a member, each with one plane here.
    pub(crate) dies: u32,
    /// Blocks of a die.
    pub(crate) blocks: u32,
    /// Pages of a block.
    pub(crate) pages: u32,
    /// Logical pages of a member that are written.
    pub(crate) span: u32,
    /// Number of free blocks of a die at which a block is collected.
    pub(crate) reserve: u32,
    /// Host requests in flight.
    pub(crate) depth: u32,
    /// Whether an update also reads old data and parity and writes parity.
    pub(crate) parity: bool,
    /// Whether all logical pages are written before the clock starts.
    pub(crate) filled: bool,
    /// Page read, program, erase, and transfer.
    pub(crate) read_ns: Nanos,
    pub(crate) program_ns: Nanos,
    pub(crate) erase_ns: Nanos,
}

#[derive(Clone, Copy)]
enum Work {
    Read { request: u32 },
    Write { request: u32, member: u32, page: u32 },
}

#[derive(Default)]
struct Die {
    queue: VecDeque<Work>,
    now: Option<Work>,
    /// The block being collected, and its next page.
    collecting: Option<(u32, u32)>,
    free: Vec<u32>,
    open: u32,
    next: u32,
}

/// The full blocks of each die by their number of valid pages: a list for each number.
struct Written {
    /// Numbers of valid pages that a block may have.
    counts: u32,
    /// First block of each list, plus one; the lists of a die follow those of the die before it.
    heads: Vec<u32>,
    /// The neighbours of each block in its list, plus one.
    next: Vec<u32>,
    before: Vec<u32>,
    /// For each die, a number below which no list has a block.
    least: Vec<u32>,
}

impl Written {
    fn new(dies: u32, blocks: u32, pages: u32) -> Self {
        let (counts, all) = (pages + 1, (dies * blocks) as usize);
        Self {
            counts,
            heads: vec![0; (dies * counts) as usize],
            next: vec![0; all],
            before: vec![0; all],
            least: vec![0; dies as usize],
        }
    }

    fn add(&mut self, die: u32, block: u32, valid: u16) {
        let list = (die * self.counts) as usize + usize::from(valid);
        let first = std::mem::replace(&mut self.heads[list], block + 1);
        if first != 0 {
            self.before[first as usize - 1] = block + 1;
        }
        (self.next[block as usize], self.before[block as usize]) = (first, 0);
        self.least[die as usize] = self.least[die as usize].min(valid.into());
    }

    fn remove(&mut self, die: u32, block: u32, valid: u16) {
        let (next, before) = (self.next[block as usize], self.before[block as usize]);
        match before {
            0 => self.heads[(die * self.counts) as usize + usize::from(valid)] = next,
            _ => self.next[before as usize - 1] = next,
        }
        if next != 0 {
            self.before[next as usize - 1] = before;
        }
    }

    /// Takes a block with the fewest valid pages.
    fn take_least(&mut self, die: u32) -> Option<u32> {
        while self.least[die as usize] < self.counts {
            let least = self.least[die as usize];
            if let Some(block) = self.heads[(die * self.counts + least) as usize].checked_sub(1) {
                self.remove(die, block, least as u16);
                return Some(block);
            }
            self.least[die as usize] += 1;
        }
        None
    }
}

pub(crate) struct Yardstick {
    setting: Setting,
    map: Vec<u32>,
    owner: Vec<u32>,
    valid: Vec<u16>,
    written: Written,
    dies: Vec<Die>,
    agenda: Agenda,
    random: Prng,
    /// For each request: operations that it still waits for, and whether its writes were issued; then its member and
    /// page.
    requests: Vec<(u32, bool, u32, u32)>,
    turn: u32,
    operations: u64,
    finished: u64,
}

/// Serves `requests` host writes of one page at uniformly random addresses; returns the flash operations done.
pub(crate) fn run(mut yardstick: Yardstick, requests: u64) -> u64 {
    let depth = u64::from(yardstick.setting.depth).min(requests);
    for request in 0..depth {
        yardstick.begin(request as u32, 0);
    }
    let mut sent = depth;
    while yardstick.finished < requests {
        let Some((now, die)) = yardstick.agenda.pop() else { break };
        if let Some(request) = yardstick.step(now, die)
            && sent < requests
        {
            sent += 1;
            yardstick.begin(request, now);
        }
    }
    yardstick.operations
}

const OPEN: u16 = 1 << 15;
const FREE: u16 = u16::MAX;

/// Zeros whose memory the kernel has handed out.
fn in_use(count: usize) -> Vec<u32> {
    let mut all = vec![1; count];
    all.fill(0);
    all
}

impl Yardstick {
    /// The device before the clock starts. The memory of its maps is in use.
    pub(crate) fn new(setting: &Setting) -> Self {
        let dies = setting.members * setting.dies;
        let per_member = setting.dies * setting.blocks * setting.pages;
        let pages = (setting.members * per_member) as usize;
        let mut yardstick = Self {
            setting: *setting,
            map: in_use(pages),
            owner: in_use(pages),
            valid: vec![FREE; (dies * setting.blocks) as usize],
            written: Written::new(dies, setting.blocks, setting.pages),
            dies: (0..dies)
                .map(|_| Die { free: (1..setting.blocks).rev().collect(), ..Die::default() })
                .collect(),
            agenda: Agenda::new(),
            random: Prng::new(1),
            requests: vec![(0, false, 0, 0); setting.depth as usize],
            turn: 0,
            operations: 0,
            finished: 0,
        };
        for die in 0..dies {
            yardstick.valid[(die * setting.blocks) as usize] = OPEN;
        }
        if setting.filled {
            for member in 0..setting.members {
                for page in 0..setting.span {
                    let die = member * setting.dies + page % setting.dies;
                    yardstick.place(die, member, page);
                }
            }
        }
        yardstick
    }

    fn begin(&mut self, request: u32, now: Nanos) {
        let page = self.random.below(u64::from(self.setting.span)) as u32;
        let member = self.random.below(u64::from(self.setting.members)) as u32;
        if self.setting.parity {
            self.requests[request as usize] = (2, false, member, page);
            let parity = (member + 1) % self.setting.members;
            self.issue(self.die_of(member, page), Work::Read { request }, now);
            self.issue(self.die_of(parity, page), Work::Read { request }, now);
        } else {
            self.requests[request as usize] = (1, true, member, page);
            self.write(request, member, page, now);
        }
    }

    fn write(&mut self, request: u32, member: u32, page: u32, now: Nanos) {
        self.turn = (self.turn + 1) % self.setting.dies;
        let die = member * self.setting.dies + self.turn;
        self.issue(die, Work::Write { request, member, page }, now);
    }

    fn die_of(&self, member: u32, page: u32) -> u32 {
        let slot = self.map[self.logical(member, page)];
        if slot == 0 {
            member * self.setting.dies
        } else {
            (slot - 1) / (self.setting.blocks * self.setting.pages)
        }
    }

    fn logical(&self, member: u32, page: u32) -> usize {
        (member * self.setting.dies * self.setting.blocks * self.setting.pages + page) as usize
    }

    fn issue(&mut self, die: u32, work: Work, now: Nanos) {
        let state = &mut self.dies[die as usize];
        if state.now.is_none() && state.collecting.is_none() {
            self.start(die, work, now);
        } else {
            state.queue.push_back(work);
        }
    }

    fn start(&mut self, die: u32, work: Work, now: Nanos) {
        self.operations += 1;
        self.dies[die as usize].now = Some(work);
        let time = match work {
            Work::Read { .. } => self.setting.read_ns,
            Work::Write { member, page, .. } => {
                self.place(die, member, page);
                self.setting.program_ns
            }
        };
        self.agenda.schedule(now + time, die);
    }

    /// Maps a page to the next slot of a die.
    fn place(&mut self, die: u32, member: u32, page: u32) {
        let (blocks, pages) = (self.setting.blocks, self.setting.pages);
        let logical = self.logical(member, page);
        let old = self.map[logical];
        if old != 0 {
            self.owner[old as usize - 1] = 0;
            let block = (old - 1) / pages;
            let valid = &mut self.valid[block as usize];
            *valid -= 1;
            if *valid < OPEN {
                self.written.remove(block / blocks, block, *valid + 1);
                self.written.add(block / blocks, block, *valid);
            }
        }
        let state = &mut self.dies[die as usize];
        let block = die * blocks + state.open;
        let slot = block * pages + state.next;
        self.map[logical] = slot + 1;
        self.owner[slot as usize] = logical as u32 + 1;
        self.valid[block as usize] += 1;
        state.next += 1;
        if state.next == pages {
            self.valid[block as usize] &= !OPEN;
            self.written.add(die, block, self.valid[block as usize]);
            state.open = state.free.pop().expect("collection keeps a block free");
            state.next = 0;
            self.valid[(die * blocks + state.open) as usize] = OPEN;
        }
    }

    /// Finishes the current operation of a die, and starts the next. Returns the request that is thereby finished.
    fn step(&mut self, now: Nanos, die: u32) -> Option<u32> {
        let done = self.dies[die as usize].now.take();
        let mut finished = None;
        if let Some(work) = done {
            let (Work::Read { request } | Work::Write { request, .. }) = work;
            let state = &mut self.requests[request as usize];
            state.0 -= 1;
            if state.0 == 0 && !state.1 {
                let (_, _, member, page) = *state;
                *state = (2, true, member, page);
                self.write(request, member, page, now);
                self.write(request, (member + 1) % self.setting.members, page, now);
            } else if state.0 == 0 {
                self.finished += 1;
                finished = Some(request);
            }
        }
        if self.dies[die as usize].now.is_none()
            && !self.collect(die, now)
            && let Some(work) = self.dies[die as usize].queue.pop_front()
        {
            self.start(die, work, now);
        }
        finished
    }

    /// Continues a collection, or begins one if few blocks are free. Returns whether the die is busy with it.
    fn collect(&mut self, die: u32, now: Nanos) -> bool {
        let (blocks, pages) = (self.setting.blocks, self.setting.pages);
        let state = &mut self.dies[die as usize];
        let (block, mut page) = match state.collecting {
            Some(at) => at,
            None if state.free.len() as u32 > self.setting.reserve => return false,
            None => {
                let victim = self.written.take_least(die).expect("a die without free blocks has full ones");
                // It is in no list, so it counts as open until it is erased.
                self.valid[victim as usize] |= OPEN;
                (victim - die * blocks, 0)
            }
        };
        let first = (die * blocks + block) * pages;
        while page < pages && self.owner[(first + page) as usize] == 0 {
            page += 1;
        }
        if page < pages {
            let logical = self.owner[(first + page) as usize] - 1;
            let per_member = self.setting.dies * blocks * pages;
            self.place(die, logical / per_member, logical % per_member);
            self.operations += 2;
            self.dies[die as usize].collecting = Some((block, page + 1));
            self.agenda.schedule(now + self.setting.read_ns + self.setting.program_ns, die);
        } else {
            self.operations += 1;
            let state = &mut self.dies[die as usize];
            self.valid[(die * blocks + block) as usize] = FREE;
            state.free.push(block);
            state.collecting = None;
            // The erase keeps the die busy like an operation without a waiting request.
            self.agenda.schedule(now + self.setting.erase_ns, die);
        }
        true
    }
}
