//! Audit of the log of elastic striping: compares the slots on the members with the model and with parity.

use stripewise_array::placement::AcknowledgeWrites;
use stripewise_array::{Array, Controller, MemberNo, PageMemory, Persistence, StripeView};
use stripewise_flash::Flash;

use crate::media::PageMedia;
use crate::model::{Model, Update};
use crate::stamp::{Found, SECTOR};

/// An array with a log, and the content of its members.
pub(crate) struct LogAudit<'a> {
    /// The controller. The audit asks it only for the places of chunks and stripes and for losses.
    pub array: &'a Array<PageMemory>,
    /// The members.
    pub flash: &'a Flash<PageMedia>,
    /// The expected content.
    pub model: &'a Model,
}

/// The location of a chunk, as the controller reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum At {
    /// No location: the chunk reads as zeros.
    #[default]
    Nowhere,
    /// The chunk is lost.
    Lost,
    /// The chunk is in controller memory.
    Memory,
    /// The chunk is on this member, in this page.
    Log(MemberNo, u32),
}

impl LogAudit<'_> {
    /// Number of chunks that hosts may fill.
    pub(crate) fn chunks(&self) -> u64 {
        self.array.capacity() / self.flash.media().page_bytes() as u64
    }

    pub(crate) fn at(&self, chunk: u64) -> At {
        if let Some((member, page)) = self.array.chunk_in_log(chunk) {
            At::Log(member, page)
        } else if self.array.chunk_in_memory(chunk).is_some() {
            At::Memory
        } else if self.array.is_chunk_lost(chunk) {
            At::Lost
        } else {
            At::Nowhere
        }
    }

    /// Whether a power loss would erase the content of controller memory.
    pub(crate) fn is_volatile(&self) -> bool {
        self.array.scheme().placement.buffer_persistence == Persistence::Volatile
    }

    /// Whether an acknowledged write is on the members.
    pub(crate) fn is_durable(&self) -> bool {
        self.array.scheme().elastic.acknowledge == AcknowledgeWrites::Durable
    }

    /// A page, if its member is alive and the page can be read.
    fn read(&self, member: MemberNo, page: u32) -> Option<&[u8]> {
        if self.array.is_failed(member) {
            return None;
        }
        let physical = self.flash.lookup(u32::from(member.number()), page);
        self.flash.media().page(u32::from(member.number()), physical)
    }

    /// The columns of a stripe in the order of its code, with zeros for columns that it does not have or that cannot
    /// be read, and a mask of the latter.
    fn columns(&self, stripe: &StripeView) -> (Vec<Vec<u8>>, u64) {
        let zeros = vec![0; self.flash.media().page_bytes()];
        let mut row = vec![zeros; self.array.geometry().columns as usize];
        let mut lost = 0;
        for &(number, member, page, _) in &stripe.columns {
            match self.read(member, page) {
                Some(bytes) => row[number as usize] = bytes.to_vec(),
                None => lost |= 1 << number,
            }
        }
        (row, lost)
    }

    /// The content of a page of the log, decoded from its stripe if unreadable; `None` if more is lost than the code
    /// tolerates.
    pub(crate) fn content(
        &self,
        member: MemberNo,
        page: u32,
        stripe: Option<&StripeView>,
    ) -> Option<Vec<u8>> {
        if let Some(bytes) = self.read(member, page) {
            return Some(bytes.to_vec());
        }
        let stripe = stripe?;
        let is_it = |&&(_, at, of, _): &&(u32, MemberNo, u32, Option<u64>)| (at, of) == (member, page);
        let number = stripe.columns.iter().find(is_it)?.0;
        let (mut row, lost) = self.columns(stripe);
        let mut slices: Vec<&mut [u8]> = row.iter_mut().map(Vec::as_mut_slice).collect();
        self.array.code()?.decode(&mut slices, lost, lost).ok()?;
        Some(row.swap_remove(number as usize))
    }

    /// Whether the columns in `lost` cannot all be decoded from the rest of their stripe.
    pub(crate) fn is_beyond(&self, lost: u64) -> bool {
        self.array.code().is_none_or(|code| code.sources(lost, lost).is_none())
    }

    /// Checks the parity of a stripe that is wholly written, as far as the code tolerates its losses.
    fn stripe(&self, stripe: &StripeView) -> Result<(), String> {
        let geometry = self.array.geometry();
        let columns = stripe.columns.iter().fold(0u64, |mask, column| mask | 1 << column.0);
        let (data, parity) = (columns & geometry.data_columns(), columns & geometry.parity_columns());
        let due = self.array.code().map_or(0, |code| code.parities_of(data));
        if parity != due || data == 0 {
            let (chunks, parity) = (stripe.columns.len(), parity.count_ones());
            return Err(format!("a stripe of {chunks} chunks has {parity} of parity"));
        }
        let (mut row, lost) = self.columns(stripe);
        let Some(code) = self.array.code() else { return Ok(()) };
        let mut slices: Vec<&mut [u8]> = row.iter_mut().map(Vec::as_mut_slice).collect();
        if code.decode(&mut slices, lost, lost).is_err() {
            return Ok(());
        }
        let (data, parity) = row.split_at(geometry.data as usize);
        let sources: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
        let mut expected = vec![vec![0; self.flash.media().page_bytes()]; parity.len()];
        let mut targets: Vec<&mut [u8]> = expected.iter_mut().map(Vec::as_mut_slice).collect();
        code.encode(&sources, &mut targets);
        match parity.iter().zip(&expected).position(|(found, expected)| found != expected) {
            None => Ok(()),
            Some(nth) => {
                let (_, member, page, _) = stripe.columns[0];
                let name = ["P", "Q"][nth * 2 / geometry.parity().max(2) as usize];
                Err(format!("{name} of the stripe that begins on member {member}, page {page} is wrong"))
            }
        }
    }

    /// Whether `bytes` of `chunk` are versions at least as new as the `floor` of each sector.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn versions(
        &self,
        chunk: u64,
        bytes: &[u8],
        place: &str,
        floor: impl Fn(u64) -> Update,
    ) -> Result<(), String> {
        let first = chunk * (bytes.len() / SECTOR) as u64;
        (first..).zip(bytes.chunks_exact(SECTOR)).try_for_each(|(sector, bytes)| {
            let found = Found::of(bytes);
            let result = self.model.check(sector, found, floor(sector));
            result.map_err(|what| format!("chunk {chunk}, {place}: {what}"))
        })
    }

    /// Whether `chunk` is at its mapped location in an admissible version. Lost chunks are checked elsewhere.
    ///
    /// # Errors
    /// The violation.
    pub(crate) fn chunk(
        &self,
        chunk: u64,
        stripe: Option<&StripeView>,
        floor: impl Fn(u64) -> Update,
    ) -> Result<(), String> {
        match self.at(chunk) {
            At::Lost => Ok(()),
            At::Nowhere => {
                self.versions(chunk, &vec![0; self.flash.media().page_bytes()], "which is nowhere", floor)
            }
            At::Memory => {
                let page = self.array.chunk_in_memory(chunk).ok_or("a chunk left memory meanwhile")?;
                self.versions(chunk, self.array.memory_ref().page(page), "in memory", floor)
            }
            At::Log(member, page) => {
                let Some(bytes) = self.content(member, page, stripe) else { return Ok(()) };
                self.versions(chunk, &bytes, &format!("on member {member}, page {page}"), floor)
            }
        }
    }

    /// The content of each page of the log on the members; `None` for pages that cannot be read.
    pub(crate) fn on_members(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let geometry = self.array.geometry();
        let rows = geometry.rows() as u32 / geometry.groups;
        let pages = (0..geometry.members).flat_map(move |member| (0..rows).map(move |page| (member, page)));
        pages.map(|(member, page)| self.flash.media().page(member, self.flash.lookup(member, page)))
    }

    /// Checks every stripe, the maps, and the device's own state.
    ///
    /// # Errors
    /// The first violation.
    pub(crate) fn everything(&self, stripes: &[StripeView]) -> Result<(), String> {
        self.array.audit_log()?;
        stripes.iter().try_for_each(|stripe| self.stripe(stripe))?;
        let mut slots: Vec<(MemberNo, u32)> = stripes
            .iter()
            .flat_map(|stripe| stripe.columns.iter().map(|column| (column.1, column.2)))
            .collect();
        slots.sort_unstable();
        if let Some(pair) = slots.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("page {} of member {} belongs to two stripes", pair[0].1, pair[0].0));
        }
        self.flash.audit().map_err(|what| format!("the flash disagrees with itself: {what}"))
    }

    /// The largest number of chunks that an array with the current failed members can hold and still always find
    /// space: the bound of `crates/array/src/log/mod.rs`, over the stripes that are possible now.
    pub(crate) fn bound(&self) -> u64 {
        let (geometry, scheme) = (self.array.geometry(), self.array.scheme());
        let rows = u64::from(scheme.elastic.segment_rows);
        let stripes = rows / u64::from(geometry.depth);
        let each = geometry.rows() / u64::from(geometry.groups) / rows;
        let living =
            |group: u32| geometry.group(group).filter(|&member| !self.array.is_failed(member)).count() as u32;
        let data: Vec<u64> = (0..geometry.groups)
            .map(|group| u64::from(geometry.data_on(living(group))))
            .filter(|&data| data > 0)
            .collect();
        let relocation_streams = u64::from(scheme.elastic.classes.tendencies());
        let hosts = u64::from(scheme.tiers()) * relocation_streams;
        let segments = (data.len() as u64 * each).saturating_sub(hosts + 2 * relocation_streams + 1);
        segments * stripes.saturating_sub(relocation_streams) * data.iter().min().copied().unwrap_or(0)
    }
}
