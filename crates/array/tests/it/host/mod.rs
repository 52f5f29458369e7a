//! A host that knows what it wrote, over members in memory: every operation takes one step.

mod background;

use std::sync::atomic::{AtomicU64, Ordering};

use stripewise_array::format::{Copy, FailReason, Superblock, Uuid, superblock_pages};
use stripewise_array::{
    Array, AssembleError, AssemblyOptions, Class, Controller, HostRequest, Identity, MemberNo, Members,
    Operation, OperationKind, PageMemory, RecoveryReport, RejoinError, Rejoining, RequestKind, Scheme,
    SubmitError, Timing, create,
};

use stripewise_testkit::{Disk, World};

/// The next serving: each assembly has its own.
static SERVINGS: AtomicU64 = AtomicU64::new(1);

/// A host, with an array and its disk.
pub(crate) struct Host {
    pub(crate) array: Array<PageMemory>,
    pub(crate) opened: RecoveryReport,
    world: World,
    scheme: Scheme,
    members: Members,
    now: u64,
    tag: u64,
    /// The operations that [`Self::take_log`] took.
    logged: usize,
}

impl Host {
    /// Assembles the array of `disk`.
    pub(crate) fn open_as(scheme: &str, disk: Disk) -> Self {
        let scheme = Scheme::from_toml("test", scheme).unwrap_or_else(|error| panic!("{error}"));
        let members = Self::members_of(&disk);
        Self::open(scheme, members, disk)
    }

    /// Assembles the array of `disk`, which uses `pages` pages of each member: members may have grown since.
    pub(crate) fn open_grown(scheme: &str, disk: Disk, pages: u32, read_only: bool) -> Self {
        let scheme = Scheme::from_toml("test", scheme).unwrap_or_else(|error| panic!("{error}"));
        let members = Members { pages, ..Self::members_of(&disk) };
        let opening = AssemblyOptions { read_only, ..AssemblyOptions::default() };
        Self::open_so(scheme, members, disk, opening).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The findings of assembling the array of `disk`.
    pub(crate) fn opened_as(scheme: &str, mut disk: Disk, opening: AssemblyOptions) -> RecoveryReport {
        let scheme = Scheme::from_toml("test", scheme).unwrap_or_else(|error| panic!("{error}"));
        let members = Self::members_of(&disk);
        let memory = PageMemory::new(members.page_bytes);
        let opened = Array::open(&scheme, members, memory, &mut disk, opening);
        opened.unwrap_or_else(|error| panic!("{error}")).1
    }

    /// The reason why the array of `disk` is not assembled.
    pub(crate) fn refusal(scheme: &str, disk: Disk) -> String {
        let opened = Self::try_open_as(scheme, disk, AssemblyOptions::default());
        opened.err().map(|error| error.to_string()).unwrap_or_default()
    }

    /// Assembles the array of `disk` with `opening`.
    pub(crate) fn try_open_as(
        scheme: &str,
        disk: Disk,
        opening: AssemblyOptions,
    ) -> Result<Self, AssembleError> {
        let scheme = Scheme::from_toml("test", scheme).unwrap_or_else(|error| panic!("{error}"));
        let members = Self::members_of(&disk);
        Self::open_so(scheme, members, disk, opening)
    }

    pub(crate) fn copy_of_disk(&self) -> Disk {
        self.world.disk.clone()
    }

    /// Completes one operation.
    pub(crate) fn complete_one(&mut self) {
        self.array.dispatch(&mut self.world);
        self.step();
    }

    fn members_of(disk: &Disk) -> Members {
        Members::opaque(disk.members.len() as u32, disk.page_bytes, disk.used_pages())
    }

    pub(crate) fn create(scheme: &str, disk: Disk) -> Self {
        Self::create_named(scheme, disk, Uuid([7; 16]))
    }

    /// Creates an array with this identifier.
    pub(crate) fn create_named(scheme: &str, mut disk: Disk, array: Uuid) -> Self {
        Self::try_create(scheme, &mut disk, array).unwrap_or_else(|error| panic!("{error}"));
        Self::open_as(scheme, disk)
    }

    /// The reason why an array is not created.
    pub(crate) fn refused_creation(scheme: &str, mut disk: Disk) -> String {
        let created = Self::try_create(scheme, &mut disk, Uuid([7; 16]));
        created.err().map(|error| error.to_string()).unwrap_or_default()
    }

    fn try_create(scheme: &str, disk: &mut Disk, array: Uuid) -> Result<(), AssembleError> {
        let scheme = Scheme::from_toml("test", scheme).unwrap_or_else(|error| panic!("{error}"));
        let members = Self::members_of(disk);
        let identity = Identity {
            array,
            members: (0..members.count).map(|member| Uuid([member as u8 + 1; 16])).collect(),
            name: "test".into(),
        };
        create(&scheme, members, &identity, disk)
    }

    fn open(scheme: Scheme, members: Members, disk: Disk) -> Self {
        Self::open_so(scheme, members, disk, AssemblyOptions::default())
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn open_so(
        scheme: Scheme,
        members: Members,
        mut disk: Disk,
        opening: AssemblyOptions,
    ) -> Result<Self, AssembleError> {
        let memory = PageMemory::new(members.page_bytes);
        let serving = SERVINGS.fetch_add(1, Ordering::Relaxed);
        let opening = AssemblyOptions { serving, ..opening };
        let (array, opened) = Array::open(&scheme, members, memory, &mut disk, opening)?;
        Ok(Self::over(array, opened, scheme, members, disk))
    }

    /// Uses a disk of zeros without creating an array on it. Arrays that creation refuses can serve this way, like arrays
    /// that an older version created.
    pub(crate) fn without_create(scheme: &str, disk: Disk) -> Self {
        let scheme = Scheme::from_toml("test", scheme).unwrap_or_else(|error| panic!("{error}"));
        let members = Self::members_of(&disk);
        let array = Array::new(&scheme, members, PageMemory::new(members.page_bytes));
        let array = array.unwrap_or_else(|error| panic!("{error}"));
        Self::over(array, RecoveryReport::default(), scheme, members, disk)
    }

    fn over(
        array: Array<PageMemory>,
        opened: RecoveryReport,
        scheme: Scheme,
        members: Members,
        disk: Disk,
    ) -> Self {
        Self { array, opened, world: World::new(disk), scheme, members, now: 0, tag: 0, logged: 0 }
    }

    pub(crate) fn disk(&mut self) -> &mut Disk {
        &mut self.world.disk
    }

    /// Assembles the array again, without a clean stop.
    pub(crate) fn lose_power(self) -> Self {
        Self::open(self.scheme, self.members, self.world.disk)
    }

    /// Mismatches that were charged to each member.
    pub(crate) fn charged(&self) -> &[u64] {
        &self.world.mismatches
    }

    /// Pre-reads since the array was assembled.
    pub(crate) fn pre_reads(&self) -> u64 {
        self.world.started.iter().filter(|operation| operation.class == Class::PreRead).count() as u64
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.array.capacity() / u64::from(self.members.page_bytes)
    }

    /// Submits a request and returns its tag.
    fn submit(&mut self, kind: RequestKind, chunk: u64, payload: Box<[u8]>) -> u64 {
        let page = u64::from(self.members.page_bytes);
        self.tag += 1;
        let (tag, bytes) = (self.tag, payload.len() as u32);
        let host = HostRequest { kind, offset: chunk * page, bytes, arrival: self.now, tag };
        self.array
            .submit(self.now, host, payload, &mut self.world)
            .unwrap_or_else(|(error, _)| panic!("{error}"));
        tag
    }

    /// Begins a request and returns its tag.
    pub(crate) fn begin(&mut self, kind: RequestKind, chunk: u64, payload: Box<[u8]>) -> u64 {
        let tag = self.submit(kind, chunk, payload);
        self.array.dispatch(&mut self.world);
        tag
    }

    /// Issues all possible operations. If the request of a tag has ended, returns the bytes that it returned, or `None` if
    /// it failed.
    pub(crate) fn ended(&mut self, tag: u64) -> Option<Option<Box<[u8]>>> {
        self.array.dispatch(&mut self.world);
        let nth = self.world.acknowledged.iter().position(|&(other, ..)| other == tag)?;
        let (_, failed, payload) = self.world.acknowledged.swap_remove(nth);
        Some((!failed).then_some(payload))
    }

    /// Completes a request: the bytes that it returned, or `None` if it failed.
    pub(crate) fn ask(&mut self, kind: RequestKind, chunk: u64, payload: Box<[u8]>) -> Option<Box<[u8]>> {
        let tag = self.submit(kind, chunk, payload);
        loop {
            if let Some(end) = self.ended(tag) {
                return end;
            }
            self.step();
        }
    }

    /// The answer of a request, if it comes within this number of events: whether it succeeded.
    pub(crate) fn answer_within(&mut self, tag: u64, events: u32) -> Option<bool> {
        for _ in 0..events {
            if let Some(end) = self.ended(tag) {
                return Some(end.is_some());
            }
            if self.world.in_flight.is_empty() && !self.world.has_timer() {
                return None;
            }
            self.step();
        }
        None
    }

    /// Flushes, and calls `between` before each operation completes, with the operation's number. Returns whether the
    /// flush succeeded.
    pub(crate) fn flush_while(&mut self, mut between: impl FnMut(&mut Self, u32)) -> bool {
        let tag = self.submit(RequestKind::Flush, 0, Box::default());
        for nth in 0.. {
            if let Some(end) = self.ended(tag) {
                return end.is_some();
            }
            between(self, nth);
            if self.world.acknowledged.iter().all(|&(other, ..)| other != tag) {
                self.step();
            }
        }
        false
    }

    /// Completes everything in flight.
    pub(crate) fn finish(&mut self) {
        self.finish_within(u32::MAX);
    }

    /// Completes at most `operations` operations in flight.
    pub(crate) fn finish_within(&mut self, operations: u32) {
        self.array.dispatch(&mut self.world);
        for _ in 0..operations {
            if self.world.in_flight.is_empty() {
                break;
            }
            self.complete_one();
            self.array.dispatch(&mut self.world);
        }
    }

    fn step(&mut self) {
        self.now += 1;
        let Some((id, outcome)) = self.world.end(0, self.array.memory()) else {
            let next = self.world.take_timer();
            self.now = self.now.max(next.unwrap_or_else(|| panic!("request {} is never answered", self.tag)));
            return self.array.timer(self.now, &mut self.world);
        };
        self.array.completed(self.now, id, outcome, Timing::default(), &mut self.world);
    }

    /// The content of `chunks` chunks whose bytes are all `value`.
    pub(crate) fn chunks(&self, chunks: u64, value: u8) -> Box<[u8]> {
        vec![value; chunks as usize * self.members.page_bytes as usize].into()
    }

    pub(crate) fn write(&mut self, chunk: u64, value: u8) {
        assert!(
            self.ask(RequestKind::Write, chunk, self.chunks(1, value)).is_some(),
            "the write of chunk {chunk} failed"
        );
    }

    pub(crate) fn trim(&mut self, chunk: u64, chunks: u64) {
        assert!(self.ask(RequestKind::Trim, chunk, self.chunks(chunks, 0)).is_some());
    }

    pub(crate) fn flush(&mut self) {
        assert!(self.ask(RequestKind::Flush, 0, Box::default()).is_some(), "the flush failed");
    }

    /// The value of a chunk, whose bytes must all be equal; `None` if it cannot be read.
    pub(crate) fn read(&mut self, chunk: u64) -> Option<u8> {
        let content = self.ask(RequestKind::Read, chunk, self.chunks(1, 0xee))?;
        assert!(content.iter().all(|&byte| byte == content[0]), "chunk {chunk} is mixed");
        Some(content[0])
    }

    /// Another host over a copy of the disk, assembled again.
    pub(crate) fn copy(&self) -> Self {
        Self::open(self.scheme.clone(), self.members, self.world.disk.clone())
    }

    /// Every write to a member since the last call, and every flush of one (page `u32::MAX`), in order.
    pub(crate) fn take_log(&mut self) -> Vec<(u16, u32)> {
        let logged = std::mem::replace(&mut self.logged, self.world.started.len());
        let change = |operation: &Operation| match operation.kind {
            OperationKind::Write => Some((operation.member.number(), operation.page)),
            OperationKind::Flush => Some((operation.member.number(), u32::MAX)),
            OperationKind::Read | OperationKind::Trim => None,
        };
        self.world.started[logged..].iter().filter_map(change).collect()
    }

    /// Assembles a copy of the disk with `opening`.
    pub(crate) fn try_open(&self, opening: AssemblyOptions) -> Result<Self, AssembleError> {
        Self::open_so(self.scheme.clone(), self.members, self.world.disk.clone(), opening)
    }

    /// Assembles `disk` itself, which has the writes of the assembly.
    pub(crate) fn try_open_of(&self, disk: &mut Disk, opening: AssemblyOptions) -> Result<(), AssembleError> {
        let memory = PageMemory::new(self.members.page_bytes);
        Array::open(&self.scheme, self.members, memory, disk, opening).map(|_| ())
    }

    pub(crate) fn try_write(&mut self, chunk: u64, value: u8) -> Result<(), SubmitError> {
        let page = u64::from(self.members.page_bytes);
        let (offset, bytes) = (chunk * page, page as u32);
        let host = HostRequest { kind: RequestKind::Write, offset, bytes, arrival: self.now, tag: u64::MAX };
        let payload = vec![value; bytes as usize].into();
        self.array.submit(self.now, host, payload, &mut self.world).map_err(|(error, _)| error)
    }

    /// Changes one copy of a member's superblock, which takes one page of 4 KiB or several smaller ones.
    pub(crate) fn change_superblock(&mut self, member: usize, copy: Copy, change: &dyn Fn(&mut Superblock)) {
        let page_bytes = self.members.page_bytes as usize;
        let span = superblock_pages(self.members.page_bytes) as usize;
        let pages = &mut self.disk().members[member].pages;
        let first = if copy == Copy::Front { 0 } else { pages.len() - span };
        let mut bytes = pages[first..first + span].concat();
        let mut superblock = Superblock::parse(&bytes).unwrap_or_else(|error| panic!("{error}"));
        change(&mut superblock);
        superblock.encode(copy, &mut bytes);
        for (page, content) in pages[first..first + span].iter_mut().zip(bytes.chunks(page_bytes)) {
            page.copy_from_slice(content);
        }
    }

    pub(crate) fn fail(&mut self, member: u16) {
        self.disk().members[member as usize].is_gone = true;
        self.array.member_failed(self.now, MemberNo::new(member), FailReason::Requested, &mut self.world);
    }

    /// The member stays where it is, and is failed for a reason.
    pub(crate) fn fail_for(&mut self, member: u16, reason: FailReason) {
        self.array.member_failed(self.now, MemberNo::new(member), reason, &mut self.world);
    }

    /// How `member` rejoins, by its own superblocks.
    pub(crate) fn returned(&self, member: u16) -> Rejoining {
        let disk = &self.world.disk;
        let pages = &disk.members[member as usize].pages;
        let span = superblock_pages(self.members.page_bytes) as usize;
        let parse = |first: usize| Superblock::parse(&pages[first..first + span].concat()).ok();
        let (front, back) = (parse(0), parse(pages.len() - span));
        let stamp = self.array.stamp_of(MemberNo::new(member), [front.as_ref(), back.as_ref()]);
        Rejoining::Returned { pages: pages.len() as u32, stamp }
    }

    /// Stops the array cleanly, and returns the disk.
    pub(crate) fn stop(mut self) -> Disk {
        self.array.drain(self.now, &mut self.world);
        self.array.checkpoint(self.now, &mut self.world);
        self.finish();
        self.flush();
        self.finish();
        self.array.stop(self.now, &mut self.world);
        self.finish();
        self.copy_of_disk()
    }

    pub(crate) fn try_rejoin(&mut self, member: u16, how: Rejoining) -> Result<(), RejoinError> {
        self.array.rejoin(self.now, MemberNo::new(member), how, &mut self.world)
    }

    pub(crate) fn rejoin(&mut self, member: u16, how: Rejoining) {
        self.try_rejoin(member, how).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Resumes interrupted work, as the program that assembled the array does first.
    pub(crate) fn resume(&mut self) {
        self.array.resume(self.now, &mut self.world);
    }

    /// Whether a member has any operation in flight.
    pub(crate) fn is_busy(&self, member: u16) -> bool {
        self.world.in_flight.iter().any(|one| one.operation.member == MemberNo::new(member))
    }

    /// Begins a checkpoint, without waiting for it.
    pub(crate) fn begin_checkpoint(&mut self) {
        self.array.checkpoint(self.now, &mut self.world);
    }
}
