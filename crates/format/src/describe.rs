//! Describes structures in words, line by line: the output of `stripewise dump`.

use std::fmt::{Display, Formatter, Result};

use stripewise_base::text::visible;
use stripewise_base::units::Bytes;
use stripewise_code::Kind;
use stripewise_core::geometry::Rotation;

use super::list::List;
use super::{
    Area, CheckpointHeader, Commit, EntryRole, FailReason, FeatureClass, Features, MemberRecord, MemberState,
    Placement, Summary, Superblock, Tombstone, epoch_of, sequence_of,
};

/// The members in a mask.
pub(super) fn members_of(mask: u64) -> impl Iterator<Item = u32> + Clone {
    (0..u64::BITS).filter(move |bit| mask >> bit & 1 == 1)
}

/// A count with a noun, given in the singular.
pub(super) struct Several<'a>(pub u64, pub &'a str);

impl Display for Several<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let &Self(number, one) = self;
        match (number, one.strip_suffix("ch"), one.strip_suffix('y')) {
            (1, ..) => write!(f, "1 {one}"),
            (_, Some(_), _) => write!(f, "{number} {one}es"),
            (_, _, Some(stem)) => write!(f, "{number} {stem}ies"),
            _ => write!(f, "{number} {one}s"),
        }
    }
}

/// A range of numbers, first to last.
struct Range(u64, u64);

impl Display for Range {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.0 == self.1 { write!(f, "{}", self.0) } else { write!(f, "{} to {}", self.0, self.1) }
    }
}

impl Area {
    /// The pages of `slots` areas of this size; `None` if there are none.
    fn pages_of(self, slots: u64) -> Option<Range> {
        let first = u64::from(self.first);
        (self.pages > 0).then(|| Range(first, first + u64::from(self.pages) * slots - 1))
    }
}

impl Display for Superblock {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (name, scheme) = (visible(&self.name), visible(&self.scheme));
        writeln!(f, "array {}, called \"{name}\", of the scheme \"{scheme}\"", self.array)?;
        for line in self.settings.lines().filter(|line| !line.is_empty()) {
            writeln!(f, "  {line}")?;
        }
        let members = self.members.len();
        writeln!(f, "this member is {} of 0 to {}: {}", self.number, members - 1, self.uuid)?;
        writeln!(f, "update {}, epoch {}", self.update, self.epoch)?;
        if self.version > 1 {
            let clean = if self.is_clean { "stopped cleanly" } else { "not stopped cleanly" };
            writeln!(
                f,
                "version {} of the format; durable up to batch {}, {clean}",
                self.version, self.horizon
            )?;
        }
        if self.has_chain() {
            writeln!(f, "serving {:016x}, after {:016x}", self.serving, self.predecessor)?;
            if self.own_bytes > 0 {
                writeln!(f, "this member has {}", Bytes(self.own_bytes))?;
            }
            if self.verified_to > 0 {
                writeln!(f, "a scrub that began at update {} found no loss", self.verified_to)?;
            }
            if self.scrub_cursor > 0 {
                writeln!(f, "an interrupted scrub has done {}", self.scrub_cursor)?;
            }
        }
        for ended in &self.ended {
            writeln!(f, "epoch {} ended with batch {}", ended.epoch, ended.last)?;
        }
        self.describe_layout(f)?;
        for (nth, member) in self.members.iter().enumerate() {
            let unit = if self.placement == Placement::Log { "segment" } else { "row" };
            writeln!(f, "member {nth}: {}", Described { member, unit })?;
        }
        let features = &self.features;
        if features.incompatible & Features::LATE_PARITY != 0 {
            writeln!(f, "its parity may be late: records of the journal have what it covers")?;
        }
        let ignored = features.unknown(FeatureClass::Compatible);
        if !ignored.is_empty() {
            writeln!(f, "it has {ignored}, which this program does not know and ignores")?;
        }
        if self.is_read_only() {
            let unknown = features.unknown(FeatureClass::ReadOnly);
            writeln!(
                f,
                "it has {unknown}, which this program does not know: it can read the array, not write it"
            )?;
        }
        Ok(())
    }
}

impl Superblock {
    /// Level, code, groups, sizes and areas.
    fn describe_layout(&self, f: &mut Formatter<'_>) -> Result {
        let code = self.code.map_or("no parity", Kind::name);
        let place = if self.placement == Placement::Log { "in a log" } else { "in place" };
        let groups = Several(self.groups.into(), "group");
        writeln!(
            f,
            "{} ({code}) {place}, {groups} of {}, {}",
            self.level, self.members_of_group, self.membership
        )?;
        match self.placement {
            Placement::Log => {
                let rows = self.segment_rows;
                writeln!(f, "{} of {rows} pages on each member", Several(self.segments().into(), "segment"))?;
            }
            Placement::InPlace => {
                let pages = Several(self.chunk_pages.into(), "page");
                let stripes = Several(self.segment_rows.into(), "stripe");
                let rotation = match self.rotation {
                    Rotation::LeftSymmetric => "left-symmetric",
                    Rotation::LeftAsymmetric => "left-asymmetric",
                    Rotation::RightSymmetric => "right-symmetric",
                    Rotation::RightAsymmetric => "right-asymmetric",
                    Rotation::None => "none",
                };
                writeln!(f, "chunks of {pages}, parity moves every {stripes}, rotation {rotation}")?;
            }
        }
        let bytes = |pages: u64| Bytes(pages * u64::from(self.page_bytes));
        let page = Bytes(self.page_bytes.into());
        writeln!(
            f,
            "{} of {page} on each member ({})",
            Several(self.pages.into(), "page"),
            bytes(self.pages.into())
        )?;
        writeln!(f, "hosts see {} ({})", Several(self.capacity, "page"), bytes(self.capacity))?;
        for (name, area, slots) in [
            ("checkpoints", self.checkpoint, 2),
            ("commit records", self.commits, 1),
            ("data", self.data, 1),
            ("redo journal", self.journal, 1),
            ("table of checksums", self.table, 1),
            ("intent bitmap", self.bitmap, 1),
            ("owner", self.owner, 1),
        ] {
            if let Some(pages) = area.pages_of(slots) {
                writeln!(f, "{name}: pages {pages}")?;
            }
        }
        if self.bitmap.pages > 0 {
            writeln!(f, "a bit of the bitmap stands for {}", Several(self.bitmap_pages.into(), "page"))?;
        }
        Ok(())
    }
}

/// A member, and the unit that its cursor counts.
struct Described<'a> {
    member: &'a MemberRecord,
    unit: &'a str,
}

impl Display for Described<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let &MemberRecord { uuid, state, failed_epoch, failed_batch, cursor, reason, is_whole, left_serving } =
            self.member;
        write!(f, "{uuid}, ")?;
        match state {
            MemberState::Active if is_whole => return f.write_str("active, whole"),
            MemberState::Active => return f.write_str("active"),
            MemberState::Failed => {}
            MemberState::Rebuilding => write!(f, "being rebuilt, {} done; it ", Several(cursor, self.unit))?,
        }
        write!(f, "failed in epoch {failed_epoch}, behind batch {failed_batch}")?;
        match reason {
            FailReason::Unknown => {}
            FailReason::Damage => f.write_str(", because of damage")?,
            FailReason::Gone => f.write_str(", because it stopped answering")?,
            FailReason::Requested => f.write_str(", because it was asked for")?,
        }
        if left_serving != 0 {
            write!(f, ", in serving {left_serving:016x}")?;
        }
        Ok(())
    }
}

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let header = &self.header;
        let slots = Range(header.first.into(), u64::from(header.end) - 1);
        writeln!(
            f,
            "batch {} of epoch {}: segment {}, generation {}, slots {slots}, stream {}, on members {}, durable up to batch {}",
            header.batch,
            header.epoch,
            header.segment,
            header.generation,
            header.stream,
            List(members_of(header.members)),
            header.horizon,
        )?;
        let slots = || (header.first..).zip(self.entries());
        for (role, what) in [
            (EntryRole::Copy, "copies of the summary"),
            (EntryRole::Skipped, "skipped"),
            (EntryRole::Vain, "written in vain"),
        ] {
            let of_role = slots().filter(move |(_, entry)| entry.role == role).map(|(slot, _)| slot);
            if of_role.clone().next().is_some() {
                writeln!(f, "  {what}: slots {}", List(of_role))?;
            }
        }
        self.describe_stripes(f)?;
        for tombstone in self.tombstones() {
            writeln!(f, "  {tombstone}")?;
        }
        Ok(())
    }
}

impl Summary<'_> {
    /// One line for each stripe, in the order of slots.
    fn describe_stripes(&self, f: &mut Formatter<'_>) -> Result {
        let is_stripe = |role| matches!(role, EntryRole::Data | EntryRole::P | EntryRole::Q);
        let mut rest =
            (self.header.first..).zip(self.entries()).filter(|(_, entry)| is_stripe(entry.role)).peekable();
        while let Some((slot, first)) = rest.next() {
            let begins = if first.is_first { "" } else { " (whose beginning is not marked)" };
            let (mut chunks, mut parity) = (Vec::new(), [false; 2]);
            let mut take = |entry: super::Entry| match entry.role {
                EntryRole::P => parity[0] = true,
                EntryRole::Q => parity[1] = true,
                _ => chunks.push(entry.chunk),
            };
            take(first);
            while let Some((_, entry)) = rest.next_if(|(_, entry)| !entry.is_first) {
                take(entry);
            }
            let parity = match parity {
                [false, false] => "without parity",
                [true, false] => "and P",
                [false, true] => "and Q, without P",
                [true, true] => "and P and Q",
            };
            let (data, chunks) = (chunks.len(), List(chunks.iter()));
            writeln!(f, "  slot {slot}: stripe of {data} data {parity}{begins}: chunks {chunks}")?;
        }
        Ok(())
    }
}

impl Display for Tombstone {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let &Self { first, write_seq, chunks } = self;
        let range = Range(first, first.saturating_add(u64::from(chunks).saturating_sub(1)));
        write!(
            f,
            "trimmed: chunks {range}, write sequence {} of epoch {}",
            sequence_of(write_seq),
            epoch_of(write_seq)
        )
    }
}

impl Display for Commit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { array: _, epoch, number, horizon, checkpoint } = self;
        write!(f, "commit {number} of epoch {epoch}: durable up to batch {horizon}")?;
        match checkpoint {
            0 => Ok(()),
            _ => write!(f, ", behind checkpoint {checkpoint}"),
        }
    }
}

impl Display for CheckpointHeader {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { epoch, number, horizon, write_seq, body_bytes, segments, chunks, .. } = self;
        write!(
            f,
            "checkpoint {number} of epoch {epoch}: covers batches up to {horizon} and write sequence numbers up to "
        )?;
        write!(f, "{} of epoch {}; ", sequence_of(*write_seq), epoch_of(*write_seq))?;
        let (segments, chunks) = (Several((*segments).into(), "segment"), Several(*chunks, "chunk"));
        write!(f, "{segments} and {chunks} in {body_bytes} bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::super::superblock::tests::{of_five, superblock};
    use super::super::{Entry, SummaryHeader, Uuid, summary, write_seq};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_superblock_is_described_and_each_member_has_its_line(block in superblock()) {
            let text = block.to_string();
            let members = text.lines().filter(|line| line.starts_with("member ")).count();
            prop_assert_eq!(members, block.members.len());
        }
    }

    #[test]
    fn a_superblock_is_reported_in_words() {
        let expected = "\
array aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa, called \"pool\", of the scheme \"elastic\"
  metadata = \"on\"
this member is 2 of 0 to 4: 02020202-0202-0202-0202-020202020202
update 7, epoch 4
epoch 2 ended with batch 50
epoch 3 ended with batch 60
RAID-6 (pq) in a log, 1 group of 5, contiguous
62 segments of 256 pages on each member
16384 pages of 4KiB on each member (64MiB)
hosts see 32768 pages (128MiB)
checkpoints: pages 1 to 8
commit records: pages 9 to 16
data: pages 256 to 16127
member 0: 00000000-0000-0000-0000-000000000000, active
member 1: 01010101-0101-0101-0101-010101010101, active
member 2: 02020202-0202-0202-0202-020202020202, active
member 3: 03030303-0303-0303-0303-030303030303, failed in epoch 3, behind batch 55
member 4: 04040404-0404-0404-0404-040404040404, being rebuilt, 6 segments done; it failed in epoch 2, behind batch 45
it has feature bit 1, which this program does not know and ignores
it has feature bit 1, which this program does not know: it can read the array, not write it
";
        assert_eq!(of_five().to_string(), expected);
    }

    #[test]
    fn a_summary_is_reported_stripe_by_stripe() {
        let header = SummaryHeader {
            array: Uuid::default(),
            epoch: 2,
            batch: 42,
            segment: 6,
            generation: 7,
            first: 10,
            end: 20,
            members: 0b11011,
            horizon: 41,
            stream: 1,
        };
        let entry =
            |role, is_first, chunk| Entry { role, is_first, chunk, write_seq: write_seq(2, 9), checksum: 0 };
        let entries = [
            entry(EntryRole::Copy, false, 0),
            entry(EntryRole::Copy, false, 0),
            entry(EntryRole::Skipped, false, 0),
            entry(EntryRole::Data, true, 17),
            entry(EntryRole::Data, false, 18),
            entry(EntryRole::Vain, false, 0),
            entry(EntryRole::Data, false, 96),
            entry(EntryRole::P, false, 0),
            entry(EntryRole::P, true, 0),
            entry(EntryRole::Data, false, 5),
        ];
        let tombstones = [Tombstone { first: 64, write_seq: write_seq(2, 8), chunks: 32 }];
        let mut page = [0; 512];
        summary::encode(&header, entries.into_iter(), &tombstones, &mut page);
        let expected = "\
batch 42 of epoch 2: segment 6, generation 7, slots 10 to 19, stream 1, on members 0, 1, 3, 4, durable up to batch 41
  copies of the summary: slots 10, 11
  skipped: slots 12
  written in vain: slots 15
  slot 13: stripe of 3 data and P: chunks 17, 18, 96
  slot 18: stripe of 1 data and P: chunks 5
  trimmed: chunks 64 to 95, write sequence 8 of epoch 2
";
        assert_eq!(Summary::parse(&page).expect("it is whole").to_string(), expected);
    }

    #[test]
    fn commits_and_checkpoints_are_reported_in_a_line() {
        let mut commit = Commit { array: Uuid::default(), epoch: 3, number: 9, horizon: 60, checkpoint: 0 };
        assert_eq!(commit.to_string(), "commit 9 of epoch 3: durable up to batch 60");
        commit.checkpoint = 5;
        assert_eq!(commit.to_string(), "commit 9 of epoch 3: durable up to batch 60, behind checkpoint 5");
        let header = CheckpointHeader {
            array: Uuid::default(),
            epoch: 4,
            number: 6,
            horizon: 256,
            write_seq: write_seq(4, 5),
            body_bytes: 17,
            body_checksum: 0,
            segments: 1,
            chunks: 8,
        };
        assert_eq!(
            header.to_string(),
            "checkpoint 6 of epoch 4: covers batches up to 256 and write sequence numbers up to 5 of epoch 4; \
             1 segment and 8 chunks in 17 bytes"
        );
    }
}
