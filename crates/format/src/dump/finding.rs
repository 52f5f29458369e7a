//! The findings of a dump, in words or for a program.

use std::fmt::{Display, Formatter, Result};

use serde::{Serialize, Serializer};

use super::super::describe::{Several, members_of};
use super::super::list::List;
use super::super::{
    CheckpointHeader, Commit, Copy, Entry, Owner, SegmentEntry, Structure, Summary, SummaryHeader,
    Superblock, Tombstone, Uuid,
};

/// A finding of a dump. Devices are numbered as they were offered, members as the array numbers them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "found", rename_all = "kebab-case")]
pub enum Finding<'a> {
    /// A superblock that is intact.
    Superblock {
        /// The device.
        device: u16,
        /// Which of the two superblocks of the device.
        copy: Copy,
        /// The array that it names.
        array: Uuid,
        /// The number of the member in that array.
        number: u16,
        /// The update of the superblock.
        update: u64,
        /// The epoch of the superblock.
        epoch: u32,
    },
    /// A structure that is missing from its page, or a page that cannot be read.
    Damaged {
        /// The device.
        device: u16,
        /// The page where the structure begins.
        page: u32,
        /// The expected structure.
        #[serde(serialize_with = "in_words")]
        structure: Structure,
        /// What is wrong.
        why: String,
    },
    /// A device that is not dumped, or only with a remark.
    Remark {
        /// The device.
        device: u16,
        /// The remark.
        why: String,
    },
    /// A member of the array that was not offered.
    Absent {
        /// The member.
        member: u16,
        /// The identifier of the member.
        uuid: Uuid,
    },
    /// The superblock with the greatest update of all.
    Array {
        /// The superblock.
        #[serde(flatten)]
        superblock: &'a Superblock,
    },
    /// A checkpoint that is intact.
    Checkpoint {
        /// The member.
        member: u16,
        /// The slot.
        slot: u16,
        /// The header of the checkpoint.
        #[serde(flatten)]
        header: CheckpointHeader,
        /// The number of segments in use.
        segments_used: u32,
        /// The number of chunks marked as written.
        chunks_written: u64,
    },
    /// The entry of the requested segment in a checkpoint.
    CheckpointSegment {
        /// The member.
        member: u16,
        /// The slot of the checkpoint.
        slot: u16,
        /// The segment.
        segment: u32,
        /// The entry.
        #[serde(flatten)]
        entry: SegmentEntry,
    },
    /// The host named by a member's owner page.
    Owner {
        /// The member.
        member: u16,
        /// The host.
        owner: Owner,
    },
    /// The ring of commit records of a member.
    Commits {
        /// The member.
        member: u16,
        /// The number of intact records.
        records: u32,
        /// Pages that hold neither a record of this array nor zeros.
        damaged: u32,
        /// The record with the greatest epoch and number.
        newest: Option<Commit>,
    },
    /// A batch, by its summary.
    Batch {
        /// The summary.
        #[serde(serialize_with = "whole")]
        summary: Summary<'a>,
        /// The number of copies of the summary that were found; there should be P + 1.
        copies: u32,
    },
    /// The content of a segment, summarized.
    Segment(Segment),
    /// Segments in which no batch was found.
    Empty {
        /// The number of segments.
        segments: u32,
    },
    /// The redo journal of a member.
    Journal {
        /// The member.
        member: u16,
        /// The number of intact headers of records.
        records: u32,
        /// The record with the greatest epoch and number.
        newest: Option<Redo>,
    },
    /// The table of checksums of a member.
    Table {
        /// The member.
        member: u16,
        /// The number of intact pages of the table.
        pages: u32,
        /// Pages that hold neither a page of the table nor zeros.
        damaged: u32,
        /// The greatest version of any page.
        version: u64,
    },
    /// A version of the intent bitmap of a group, on a member.
    Bitmap {
        /// The member.
        member: u16,
        /// The group.
        group: u32,
        /// The version.
        version: u64,
        /// The number of bits.
        bits: u32,
        /// The number of set bits: regions that were being written.
        set: u32,
    },
}

/// A record of the redo journal, summarized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Redo {
    /// The epoch in which the record was written.
    pub epoch: u32,
    /// The number of the record in that epoch.
    pub number: u64,
    /// The first record that must be replayed.
    pub tail: u64,
    /// Members that were missing, one bit each.
    pub missing: u64,
    /// The number of pages with old content that deferred parity covers.
    pub late: u32,
}

/// The content of a segment, summarized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// The segment.
    pub segment: u32,
    /// How often the segment was opened.
    pub generation: u32,
    /// Consecutive batches from the first slot of the segment.
    pub batches: u32,
    /// The number of the first batch.
    pub first_batch: u64,
    /// The number of the last batch.
    pub last_batch: u64,
    /// The number of slots that the batches take.
    pub slots_used: u32,
    /// The number of slots of the segment.
    pub slots: u32,
    /// The number of stripes.
    pub stripes: u32,
    /// The number of chunks of data.
    pub chunks: u32,
    /// The number of tombstones.
    pub tombstones: u32,
    /// Missing copies of summaries; each batch should have P + 1.
    pub copies_missing: u32,
}

/// A whole summary, for programs.
#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    header: SummaryHeader,
    entries: Vec<Entry>,
    tombstones: Vec<Tombstone>,
}

fn whole<S: Serializer>(summary: &Summary<'_>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    let (entries, tombstones) = (summary.entries().collect(), summary.tombstones().collect());
    Whole { header: summary.header, entries, tombstones }.serialize(serializer)
}

fn in_words<S: Serializer>(structure: &Structure, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(structure)
}

impl Finding<'_> {
    /// Whether the finding is a problem.
    pub fn is_problem(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::Remark { .. } | Self::Absent { .. } => true,
            Self::Commits { damaged, .. } | Self::Table { damaged, .. } => *damaged > 0,
            Self::Segment(segment) => segment.copies_missing > 0,
            _ => false,
        }
    }
}

impl Display for Finding<'_> {
    /// Writes one or more lines; each ends with a line break.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Superblock { device, copy, array, number, update, epoch } => {
                let copy = if *copy == Copy::Front { "front" } else { "back" };
                writeln!(
                    f,
                    "#{device}: {copy} superblock: member {number} of array {array}, update {update}, epoch {epoch}"
                )
            }
            Self::Damaged { device, page, structure, why } => {
                writeln!(f, "#{device}: DAMAGED: {structure} on page {page}: {why}")
            }
            Self::Remark { device, why } => writeln!(f, "#{device}: {why}"),
            Self::Absent { member, uuid } => {
                writeln!(f, "ABSENT: member {member} ({uuid}) was not offered")
            }
            Self::Array { superblock } => write!(f, "{superblock}"),
            Self::Checkpoint { member, slot, header, segments_used, chunks_written } => {
                let (segments, chunks) =
                    (Several((*segments_used).into(), "segment"), Several(*chunks_written, "chunk"));
                writeln!(f, "member {member}: slot {slot}: {header}: {segments} in use, {chunks} written")
            }
            Self::CheckpointSegment { member, slot, segment, entry } => {
                let SegmentEntry { generation, used, last_batch } = entry;
                write!(f, "member {member}: slot {slot}: segment {segment} has generation {generation}, ")?;
                match used {
                    0 => writeln!(f, "is free"),
                    _ => writeln!(f, "{} in use, batch {last_batch} last", Several((*used).into(), "slot")),
                }
            }
            Self::Owner { member, owner } => {
                let does = if owner.is_released { "released by" } else { "owned by" };
                writeln!(f, "member {member}: {does} {owner}, heartbeat {}", owner.sequence)
            }
            Self::Commits { member, records, damaged, newest } => {
                write!(f, "member {member}: {}", Several((*records).into(), "commit record"))?;
                if let Some(newest) = newest {
                    write!(f, "; the newest is {newest}")?;
                }
                if *damaged > 0 {
                    write!(f, "; DAMAGED or of others: {}", Several((*damaged).into(), "page"))?;
                }
                writeln!(f)
            }
            Self::Batch { summary, copies } => {
                write!(f, "{summary}")?;
                let of_itself = Several((*copies).into(), "copy");
                writeln!(f, "  {of_itself} of the summary found")
            }
            Self::Segment(segment) => write!(f, "{segment}"),
            Self::Empty { segments } => {
                writeln!(f, "{} without a batch", Several((*segments).into(), "segment"))
            }
            Self::Journal { member, records, newest } => {
                write!(f, "member {member}: redo journal: {}", Several((*records).into(), "record"))?;
                if let Some(newest) = newest {
                    write_newest(f, newest)?;
                }
                writeln!(f)
            }
            Self::Table { member, pages, damaged, version } => {
                let pages = Several((*pages).into(), "page");
                write!(f, "member {member}: table of checksums: {pages}, of versions up to {version}")?;
                if *damaged > 0 {
                    write!(f, "; DAMAGED or of others: {}", Several((*damaged).into(), "page"))?;
                }
                writeln!(f)
            }
            Self::Bitmap { member, group, version, bits, set } => {
                writeln!(
                    f,
                    "member {member}: intent bitmap of group {group}, version {version}: {set} of {bits} bits set"
                )
            }
        }
    }
}

/// Continues the line of a redo journal with its newest record.
fn write_newest(f: &mut Formatter<'_>, newest: &Redo) -> Result {
    let Redo { epoch, number, tail, missing, late } = newest;
    write!(f, "; the newest is {number} of epoch {epoch}, done again from {tail} on")?;
    if *missing != 0 {
        write!(f, ", without members {}", List(members_of(*missing)))?;
    }
    if *late != 0 {
        write!(f, ", with the chunks that deferred parity covers of {}", Several((*late).into(), "page"))?;
    }
    Ok(())
}

impl Display for Segment {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { segment, generation, first_batch, last_batch, slots_used, slots, copies_missing, .. } =
            self;
        let counted = |number: u32, one| Several(number.into(), one);
        write!(
            f,
            "segment {segment}, generation {generation}: {}, from {first_batch} to {last_batch}, in {slots_used} of {slots} \
             slots: {} in {}",
            counted(self.batches, "batch"),
            counted(self.chunks, "chunk"),
            counted(self.stripes, "stripe"),
        )?;
        if self.tombstones > 0 {
            write!(f, ", {}", counted(self.tombstones, "tombstone"))?;
        }
        if *copies_missing > 0 {
            write!(f, "; MISSING: {} of summaries", counted(*copies_missing, "copy"))?;
        }
        writeln!(f)
    }
}
