//! The oracle: the versions that every sector may hold.
//!
//! Updates (writes and trims) are numbered in the order of their submission, from 1; version 0 of a sector is zeros.
//! The *floor* of a sector is the oldest version that later reads may return.

use crate::stamp::Found;

/// The number of a write or a trim.
pub type Update = u32;

/// The largest number of admissible versions that an error lists; it states the number of the others.
const LISTED: usize = 6;

#[derive(Clone, Copy, Debug)]
struct Extent {
    first: u64,
    count: u64,
    is_trim: bool,
}

impl Extent {
    fn covers(&self, sector: u64) -> bool {
        (self.first..self.first + self.count).contains(&sector)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Sector {
    /// The latest acknowledged version.
    acknowledged: Update,
    /// The latest version that was acknowledged or read by a host.
    floor: Update,
    /// The latest trim that covers the sector.
    trim: Update,
    /// The latest version that a completed flush covers.
    durable: Update,
    /// The last update before the latest power loss for which the sector's content was then examined, and the version
    /// that was found. All other versions from before the loss are permanently gone.
    cut: Update,
    found: Update,
    /// The content was lost at that time, and may be anything until the sector is rewritten.
    is_lost: bool,
}

/// The expected content of the array.
#[derive(Clone, Debug)]
pub struct Model {
    sectors: Vec<Sector>,
    updates: Vec<Extent>,
    /// The last update before the latest power loss.
    last_before: Update,
    /// Whether a trim is binding like a write: after its acknowledgement its sectors are zeros.
    trims_count: bool,
}

impl Model {
    /// An array of `sectors` sectors of zeros.
    pub fn new(sectors: u64) -> Self {
        let zeros = Extent { first: 0, count: sectors, is_trim: true };
        Self {
            sectors: vec![Sector::default(); sectors as usize],
            updates: vec![zeros],
            last_before: 0,
            trims_count: false,
        }
    }

    /// The same array with binding trims, as an array with metadata promises for its log.
    pub fn with_binding_trims(self) -> Self {
        Self { trims_count: true, ..self }
    }

    /// Sectors of the array.
    pub fn sectors(&self) -> u64 {
        self.sectors.len() as u64
    }

    /// Records the submission of a write.
    pub fn write(&mut self, first: u64, count: u64) -> Update {
        self.updates.push(Extent { first, count, is_trim: false });
        (self.updates.len() - 1) as Update
    }

    /// Records the submission of a trim. It may or may not set its sectors to zeros.
    pub fn trim(&mut self, first: u64, count: u64) -> Update {
        self.updates.push(Extent { first, count, is_trim: true });
        let update = (self.updates.len() - 1) as Update;
        self.sectors[first as usize..(first + count) as usize]
            .iter_mut()
            .for_each(|sector| sector.trim = update);
        update
    }

    /// Records the success of an update. Failed writes and advisory trims promise nothing, so they are not recorded.
    pub fn acknowledged(&mut self, update: Update) {
        let Extent { first, count, is_trim } = self.updates[update as usize];
        if is_trim && !self.trims_count {
            return;
        }
        for sector in &mut self.sectors[first as usize..(first + count) as usize] {
            sector.acknowledged = sector.acknowledged.max(update);
            sector.floor = sector.floor.max(update);
        }
    }

    /// Records the success of a flush: these versions of all sectors, or later ones, are durable.
    pub fn flushed(&mut self, versions: &[Update]) {
        for (sector, &version) in self.sectors.iter_mut().zip(versions) {
            sector.durable = sector.durable.max(version);
        }
    }

    /// Makes a single update durable, such as an answered write with FUA.
    pub fn durable(&mut self, update: Update) {
        let Extent { first, count, .. } = self.updates[update as usize];
        for sector in &mut self.sectors[first as usize..(first + count) as usize] {
            sector.durable = sector.durable.max(update);
        }
    }

    /// Records a power loss: durable versions remain, or versions written later. With `all_is_durable` (memory and
    /// members are persistent), every acknowledged version is durable.
    pub fn power_lost(&mut self, all_is_durable: bool) {
        self.last_before = self.updates.len() as Update - 1;
        for sector in &mut self.sectors {
            if all_is_durable {
                sector.durable = sector.durable.max(sector.acknowledged);
            }
            sector.acknowledged = sector.durable;
            sector.floor = sector.durable;
        }
    }

    /// Sets the content of a sector after a power loss: no other version from before can reappear. `None` if the
    /// content was lost with its member because its row was under update; then it may be anything.
    pub fn restarted(&mut self, sector: u64, found: Option<Found>) {
        let version = match found {
            // The version was written after the loss, and says nothing about the earlier content.
            Some(Found::Stamp { write, .. }) if write > self.last_before => return,
            Some(Found::Stamp { write, .. }) => write,
            _ => 0,
        };
        let sector = &mut self.sectors[sector as usize];
        let was_lost = sector.is_lost && sector.floor <= sector.cut;
        (sector.cut, sector.found) = (self.last_before, version);
        sector.is_lost = found.is_none() || was_lost;
        if !sector.is_lost {
            (sector.floor, sector.acknowledged, sector.durable) = (version, version, version);
            // A later trim is still pending. A trim that has taken effect admits zeros.
            if sector.trim <= self.last_before && version > 0 {
                sector.trim = 0;
            }
        }
    }

    /// Whether `found` is a version that `sector` ever had.
    ///
    /// # Errors
    /// The actual content.
    pub fn check_ever(&self, sector: u64, found: Found) -> Result<(), String> {
        let is_its = match found {
            Found::Zeros => true,
            Found::Stamp { write, sector: stamped } => {
                let known = self.updates.get(write as usize);
                stamped == sector && known.is_some_and(|known| !known.is_trim && known.covers(sector))
            }
            _ => false,
        };
        if is_its { Ok(()) } else { Err(format!("sector {sector} holds {found}, which it never held")) }
    }

    /// Whether `sector` had content when it was last examined, and was never trimmed. Otherwise a later trim that
    /// overlapped the write may be the version before it.
    pub fn was_found(&self, sector: u64) -> bool {
        let is_trim = |update: &Extent| update.is_trim && update.covers(sector);
        // The first update is the new array: zeros.
        self.sectors[sector as usize].found != 0 && !self.updates[1..].iter().any(is_trim)
    }

    /// The oldest version that a read submitted now may find in `sector`.
    pub fn floor(&self, sector: u64) -> Update {
        self.sectors[sector as usize].floor
    }

    /// The oldest version of `sector` that a flush submitted now may cover.
    pub fn promised(&self, sector: u64) -> Update {
        self.sectors[sector as usize].acknowledged
    }

    /// The number that the next update will have.
    pub fn next_update(&self) -> Update {
        self.updates.len() as Update
    }

    /// Whether `update` touches any of `count` sectors from `first`.
    pub fn touches(&self, update: Update, first: u64, count: u64) -> bool {
        let extent = self.updates[update as usize];
        extent.first < first + count && first < extent.first + extent.count
    }

    /// Whether `found` in `sector` is a version at least as new as `floor`.
    ///
    /// # Errors
    /// The expected content, in words.
    pub fn check(&self, sector: u64, found: Found, floor: Update) -> Result<(), String> {
        let Sector { trim, cut, found: kept, is_lost, .. } = self.sectors[sector as usize];
        if is_lost && floor <= cut {
            return Ok(());
        }
        let is_right = match found {
            Found::Zeros => floor == 0 || trim >= floor,
            Found::Stamp { write, sector: stamped } => {
                let known = self.updates.get(write as usize);
                stamped == sector
                    && write >= floor
                    && (write > cut || write == kept)
                    && known.is_some_and(|known| !known.is_trim && known.covers(sector))
            }
            _ => false,
        };
        if is_right { Ok(()) } else { Err(self.complaint(sector, found, floor)) }
    }

    fn complaint(&self, sector: u64, found: Found, floor: Update) -> String {
        let Sector { cut, found: kept, .. } = self.sectors[sector as usize];
        let mut admissible: Vec<String> = (floor.max(1)..self.updates.len() as Update)
            .filter(|&update| self.updates[update as usize].covers(sector))
            .filter(|&update| update > cut || update == kept)
            .map(|update| match self.updates[update as usize].is_trim {
                true => format!("zeros by trim {update}"),
                false => format!("write {update}"),
            })
            .collect();
        if floor == 0 {
            admissible.insert(0, "zeros".into());
        }
        let what = match found {
            Found::Stamp { write, sector: stamped } if stamped == sector && write < floor => {
                "an old version, "
            }
            Found::Stamp { sector: stamped, .. } if stamped != sector => "content of another sector, ",
            _ => "",
        };
        let more = admissible.len().saturating_sub(LISTED);
        admissible.truncate(LISTED);
        if more > 0 {
            admissible.push(format!("and {more} later ones"));
        }
        format!("sector {sector} holds {what}{found}; admissible: {}", admissible.join(", "))
    }

    /// Records that a host read `found` in `sector`: from now on no read may return an older version.
    pub fn seen(&mut self, sector: u64, found: Found) {
        if let Found::Stamp { write, .. } = found {
            let floor = &mut self.sectors[sector as usize].floor;
            *floor = (*floor).max(write);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(write: u32, sector: u64) -> Found {
        Found::Stamp { write, sector }
    }

    #[test]
    fn before_any_write_there_are_zeros() {
        let model = Model::new(4);
        assert!(model.check(2, Found::Zeros, model.floor(2)).is_ok());
        assert!(model.check(2, stamp(1, 2), 0).is_err());
        assert!(model.check(2, Found::Garbage, 0).is_err());
    }

    #[test]
    fn a_write_under_way_may_or_may_not_be_seen_and_an_acknowledged_one_must_be() {
        let mut model = Model::new(4);
        let write = model.write(1, 2);
        let before = model.floor(1);
        assert!(model.check(1, Found::Zeros, before).is_ok());
        assert!(model.check(1, stamp(write, 1), before).is_ok());
        model.acknowledged(write);
        let after = model.floor(1);
        assert!(model.check(1, stamp(write, 1), after).is_ok());
        assert!(
            model.check(1, Found::Zeros, before).is_ok(),
            "a read submitted before may be answered with zeros"
        );
        assert!(model.check(1, Found::Zeros, after).is_err());
        assert_eq!(model.floor(0), 0);
    }

    #[test]
    fn versions_follow_the_order_of_submission_not_that_of_acknowledgement() {
        let mut model = Model::new(1);
        let (first, second) = (model.write(0, 1), model.write(0, 1));
        model.acknowledged(second);
        model.acknowledged(first);
        let error = model.check(0, stamp(first, 0), model.floor(0)).unwrap_err();
        assert_eq!(error, "sector 0 holds an old version, write 1 of sector 0; admissible: write 2");
    }

    #[test]
    fn a_trim_admits_zeros_until_the_next_write_is_acknowledged() {
        let mut model = Model::new(2);
        let old = model.write(0, 2);
        model.acknowledged(old);
        let trim = model.trim(0, 1);
        model.acknowledged(trim);
        for found in [Found::Zeros, stamp(old, 0)] {
            assert!(model.check(0, found, model.floor(0)).is_ok());
        }
        assert!(model.check(1, Found::Zeros, model.floor(1)).is_err());
        let new = model.write(0, 1);
        model.acknowledged(new);
        assert!(model.check(0, Found::Zeros, model.floor(0)).is_err());
    }

    #[test]
    fn a_binding_trim_is_a_version_that_a_flush_makes_durable() {
        let mut model = Model::new(1).with_binding_trims();
        let old = model.write(0, 1);
        model.acknowledged(old);
        let trim = model.trim(0, 1);
        assert!(model.check(0, stamp(old, 0), model.floor(0)).is_ok(), "it is not acknowledged yet");
        model.acknowledged(trim);
        assert!(model.check(0, Found::Zeros, model.floor(0)).is_ok());
        assert!(model.check(0, stamp(old, 0), model.floor(0)).is_err());
        let mut durable = model.clone();
        durable.durable(trim);
        durable.power_lost(false);
        assert!(durable.check(0, Found::Zeros, durable.floor(0)).is_ok());
        assert!(durable.check(0, stamp(old, 0), durable.floor(0)).is_err());
        let mut unflushed = model.clone();
        unflushed.power_lost(false);
        assert!(unflushed.check(0, stamp(old, 0), unflushed.floor(0)).is_ok());
        model.flushed(&[model.promised(0)]);
        model.power_lost(false);
        assert!(model.check(0, stamp(old, 0), model.floor(0)).is_err());
        model.restarted(0, Some(Found::Zeros));
        assert!(model.check(0, Found::Zeros, model.floor(0)).is_ok());
        assert!(model.check(0, stamp(old, 0), model.floor(0)).is_err());
    }

    #[test]
    fn what_one_host_saw_no_other_may_miss() {
        let mut model = Model::new(1);
        let write = model.write(0, 1);
        model.seen(0, stamp(write, 0));
        assert!(model.check(0, Found::Zeros, model.floor(0)).is_err());
        assert_eq!(model.promised(0), 0, "but a flush need not cover it");
    }

    #[test]
    fn after_a_loss_of_power_what_a_flush_covered_is_there_and_what_was_later_may_be() {
        let mut model = Model::new(1);
        let [first, second, third] = [0; 3].map(|_| model.write(0, 1));
        model.acknowledged(first);
        model.flushed(&[model.promised(0)]);
        model.acknowledged(second);
        model.power_lost(false);
        assert!(model.check(0, Found::Zeros, model.floor(0)).is_err());
        for write in [first, second, third] {
            assert!(model.check(0, stamp(write, 0), model.floor(0)).is_ok());
        }
        model.restarted(0, Some(stamp(second, 0)));
        for write in [first, third] {
            assert!(model.check(0, stamp(write, 0), model.floor(0)).is_err(), "it was not there");
        }
        let fourth = model.write(0, 1);
        for write in [second, fourth] {
            assert!(model.check(0, stamp(write, 0), model.floor(0)).is_ok());
        }
    }

    #[test]
    fn persistent_memory_makes_durable_what_was_acknowledged() {
        let mut model = Model::new(1);
        let write = model.write(0, 1);
        model.acknowledged(write);
        model.power_lost(true);
        assert!(model.check(0, Found::Zeros, model.floor(0)).is_err());
        assert!(model.check(0, stamp(write, 0), model.floor(0)).is_ok());
    }

    #[test]
    fn what_was_lost_may_be_anything_until_it_is_written_again() {
        let mut model = Model::new(1);
        let write = model.write(0, 1);
        model.acknowledged(write);
        model.power_lost(true);
        model.restarted(0, None);
        for found in [Found::Garbage, Found::Zeros, stamp(7, 3)] {
            assert!(model.check(0, found, model.floor(0)).is_ok());
        }
        let next = model.write(0, 1);
        assert!(model.check(0, Found::Garbage, model.floor(0)).is_ok(), "it is not acknowledged yet");
        model.acknowledged(next);
        assert!(model.check(0, Found::Garbage, model.floor(0)).is_err());
        assert!(model.check(0, stamp(write, 0), model.floor(0)).is_err());
        assert!(model.check(0, stamp(next, 0), model.floor(0)).is_ok());
    }

    #[test]
    fn content_of_another_sector_or_of_a_write_elsewhere_is_refused() {
        let mut model = Model::new(3);
        model.write(0, 2);
        let error = model.check(1, stamp(1, 0), 0).unwrap_err();
        assert_eq!(
            error,
            "sector 1 holds content of another sector, write 1 of sector 0; admissible: zeros, write 1"
        );
        assert!(model.check(2, stamp(1, 2), 0).is_err());
        assert!(model.check(0, stamp(2, 0), 0).is_err(), "a write that was never submitted");
    }
}
