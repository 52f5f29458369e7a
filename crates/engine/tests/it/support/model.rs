//! The admissible answers of an array. Every sector is a register, and each write has a number that its content
//! contains.
//!
//! A read may return a version unless a later version replaced it permanently: one that was submitted after the version
//! was acknowledged, and acknowledged before the read was submitted. A write in flight makes either version admissible.
//! A trim may or may not clear its range, so it replaces nothing, but zeros become admissible.

use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a sector.
pub const SECTOR: usize = 512;

/// One write, trim or initial state of one sector.
#[derive(Clone, Copy, Debug)]
struct Version {
    /// The number in its content; 0 for zeros.
    number: u64,
    submitted: u64,
    acknowledged: Option<u64>,
    /// Whether the sector surely has this version once it is acknowledged.
    replaces: bool,
}

/// A request in flight.
#[derive(Clone, Debug)]
struct InFlight {
    sectors: Range<usize>,
    submitted: u64,
    is_read: bool,
}

/// All sectors of an array.
#[derive(Debug)]
pub struct Model<Ticket> {
    sectors: Vec<Vec<Version>>,
    in_flight: BTreeMap<Ticket, InFlight>,
    /// Counts events: submissions and acknowledgements.
    now: u64,
    writes: u64,
}

impl<Ticket: Ord> Model<Ticket> {
    /// An array of `bytes` zeros.
    pub fn new(bytes: u64) -> Self {
        let zeros = Version { number: 0, submitted: 0, acknowledged: Some(0), replaces: true };
        Self {
            sectors: vec![vec![zeros]; bytes as usize / SECTOR],
            in_flight: BTreeMap::new(),
            now: 0,
            writes: 0,
        }
    }

    /// Sectors of the array.
    pub fn len(&self) -> usize {
        self.sectors.len()
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Content for a write of `sectors`, unique among all writes.
    pub fn fresh(&mut self, sectors: Range<usize>) -> Box<[u8]> {
        self.writes += 1;
        sectors.flat_map(|sector| content(self.writes, sector)).collect()
    }

    /// Notes that the write of the last [`Model::fresh`] content was submitted.
    pub fn write_submitted(&mut self, ticket: Ticket, sectors: Range<usize>) {
        self.submitted(ticket, sectors, Some((self.writes, true)));
    }

    /// Notes that a trim was submitted.
    pub fn trim_submitted(&mut self, ticket: Ticket, sectors: Range<usize>) {
        self.submitted(ticket, sectors, Some((0, false)));
    }

    /// Notes that a read was submitted.
    pub fn read_submitted(&mut self, ticket: Ticket, sectors: Range<usize>) {
        self.submitted(ticket, sectors, None);
    }

    fn submitted(&mut self, ticket: Ticket, sectors: Range<usize>, version: Option<(u64, bool)>) {
        self.now += 1;
        let submitted = self.now;
        if let Some((number, replaces)) = version {
            for sector in sectors.clone() {
                self.sectors[sector].push(Version { number, submitted, acknowledged: None, replaces });
            }
        }
        self.in_flight.insert(ticket, InFlight { sectors, submitted, is_read: version.is_none() });
    }

    /// Notes that a submitted request has completed, and checks the data of a read. Unknown tickets (flushes) are
    /// ignored.
    pub fn completed(&mut self, ticket: Ticket, data: &[u8]) {
        let Some(request) = self.in_flight.remove(&ticket) else { return };
        self.now += 1;
        if request.is_read {
            self.check(request.sectors, request.submitted, data);
            return;
        }
        for sector in request.sectors {
            let versions = &mut self.sectors[sector];
            for version in versions.iter_mut().filter(|version| version.submitted == request.submitted) {
                version.acknowledged = Some(self.now);
            }
        }
    }

    /// Notes that a request failed: from then on a write may have happened or not.
    pub fn failed(&mut self, ticket: Ticket) {
        self.in_flight.remove(&ticket);
    }

    /// Checks that `data` may be read from `sectors` by a read submitted at `submitted` that ends now.
    fn check(&self, sectors: Range<usize>, submitted: u64, data: &[u8]) {
        assert_eq!(data.len(), sectors.len() * SECTOR);
        for (sector, bytes) in sectors.zip(data.chunks(SECTOR)) {
            let number = number_of(bytes, sector);
            let versions = &self.sectors[sector];
            let admissible = versions.iter().any(|version| {
                version.number == number
                    && !versions.iter().any(|later| {
                        later.replaces
                            && version.acknowledged.is_some_and(|at| at < later.submitted)
                            && later.acknowledged.is_some_and(|at| at < submitted)
                    })
            });
            assert!(
                admissible,
                "sector {sector}: a read submitted at {submitted} returned version {number} of {versions:?}"
            );
        }
    }

    /// Nothing is in flight and the whole array reads as `data`: from now on it must always read so.
    pub fn settle(&mut self, data: &[u8]) {
        assert!(self.in_flight.is_empty());
        self.now += 1;
        self.check(0..self.len(), self.now, data);
        for (sector, bytes) in data.chunks(SECTOR).enumerate() {
            let number = number_of(bytes, sector);
            self.sectors[sector] =
                vec![Version { number, submitted: self.now, acknowledged: Some(self.now), replaces: true }];
        }
    }
}

/// The bytes of version `number` of a sector, distinct from those of any other version, wherever a part of it is read.
fn content(number: u64, sector: usize) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    if number > 0 {
        for (index, word) in bytes.chunks_mut(8).enumerate() {
            let mixed = number ^ ((sector as u64) << 32) ^ ((index as u64) << 56);
            word.copy_from_slice(&if index == 0 { number } else { mixed }.to_le_bytes());
        }
    }
    bytes
}

/// The version of a sector's content, which must be complete.
fn number_of(bytes: &[u8], sector: usize) -> u64 {
    let number = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    assert!(
        bytes == content(number, sector),
        "sector {sector} is no whole version of itself: it begins with {:?}",
        &bytes[..32]
    );
    number
}
