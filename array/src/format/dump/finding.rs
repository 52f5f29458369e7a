//! What a dump finds, in words or for a program.

use std::fmt::{Display, Formatter, Result};

use serde::{Serialize, Serializer};

use super::super::describe::{List, Several, members_of};
use super::super::{
    CheckpointHeader, Commit, Copy, Entry, Owner, SegmentEntry, Structure, Summary, SummaryHeader,
    Superblock, Tombstone, Uuid,
};

/// Something that a dump found. Members are numbered as they were offered, members as the array numbers them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "found", rename_all = "kebab-case")]
pub enum Finding<'a> {
    /// A superblock that is whole.
    Superblock {
        /// The member.
        #[serde(rename = "element")]
        device: u16,
        /// Which of its two.
        copy: Copy,
        /// The array that it names.
        array: Uuid,
        /// The member's number there.
        number: u16,
        /// Its update.
        update: u64,
        /// Its epoch.
        epoch: u32,
    },
    /// A structure that should be on a page and is not, or cannot be read.
    Damaged {
        /// The member.
        #[serde(rename = "element")]
        device: u16,
        /// The page where it begins.
        page: u32,
        /// What should be there.
        #[serde(serialize_with = "in_words")]
        structure: Structure,
        /// What is wrong.
        why: String,
    },
    /// A member that is not dumped, or not without a remark.
    Remark {
        /// The member.
        #[serde(rename = "element")]
        device: u16,
        /// Why.
        why: String,
    },
    /// A member of the array that was not offered.
    Absent {
        /// The member.
        member: u16,
        /// The member.
        #[serde(rename = "element")]
        uuid: Uuid,
    },
    /// What the superblock says that has the greatest update of all.
    Array {
        /// The superblock.
        #[serde(flatten)]
        superblock: &'a Superblock,
    },
    /// A checkpoint that is whole.
    Checkpoint {
        /// The member.
        member: u16,
        /// The slot.
        slot: u16,
        /// Its header.
        #[serde(flatten)]
        header: CheckpointHeader,
        /// Segments that it has in use.
        segments_used: u32,
        /// Chunks that it calls written.
        chunks_written: u64,
    },
    /// What a checkpoint says of the segment that was asked for.
    CheckpointSegment {
        /// The member.
        member: u16,
        /// The slot of the checkpoint.
        slot: u16,
        /// The segment.
        segment: u32,
        /// What it says.
        #[serde(flatten)]
        entry: SegmentEntry,
    },
    /// The host that a member's page of the owner names.
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
        /// Records that are whole.
        records: u32,
        /// Pages that hold something else than a record of this array, and not zeros.
        damaged: u32,
        /// That with the greatest epoch and number.
        newest: Option<Commit>,
    },
    /// A batch, by its summary.
    Batch {
        /// The summary.
        #[serde(serialize_with = "whole")]
        summary: Summary<'a>,
        /// Its copies that were found, where there should be P + 1.
        copies: u32,
    },
    /// What lies in a segment, in short.
    Segment(Segment),
    /// Segments in which no batch was found.
    Empty {
        /// How many.
        segments: u32,
    },
    /// The redo journal of a member.
    Journal {
        /// The member.
        member: u16,
        /// Headers of records that are whole.
        records: u32,
        /// That with the greatest epoch and number.
        newest: Option<Redo>,
    },
    /// The table of checksums of a member.
    Table {
        /// The member.
        member: u16,
        /// Pages of it that are whole.
        pages: u32,
        /// Pages that hold something else, and not zeros.
        damaged: u32,
        /// The greatest version of a page.
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
        /// Bits that there are.
        bits: u32,
        /// Those that are set: regions that were being written.
        set: u32,
    },
}

/// A record of the redo journal, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Redo {
    /// The epoch in which it was written.
    pub epoch: u32,
    /// Its number in that epoch.
    pub number: u64,
    /// The first record that has to be done again.
    pub tail: u64,
    /// Members that were missing, one bit each.
    pub missing: u64,
    /// Pages of which it has what late parity covers.
    pub late: u32,
}

/// What lies in a segment, in short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// The segment.
    pub segment: u32,
    /// How often it was opened.
    pub generation: u32,
    /// Batches that follow each other from its first slot on.
    pub batches: u32,
    /// The number of the first of them.
    pub first_batch: u64,
    /// The number of the last of them.
    pub last_batch: u64,
    /// Slots that they take.
    pub slots_used: u32,
    /// Slots that it has.
    pub slots: u32,
    /// Stripes.
    pub stripes: u32,
    /// Chunks of data.
    pub chunks: u32,
    /// Tombstones.
    pub tombstones: u32,
    /// Copies of summaries that were not found, of P + 1 for each.
    pub copies_missing: u32,
}

/// A summary whole, for a program.
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
    /// Whether it is something that should not be.
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
    /// A line, or several; the last one is ended as well.
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
                writeln!(f, "ABSENT: member {member}, member {uuid}, was not offered")
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
                if let Some(Redo { epoch, number, tail, missing, late }) = newest {
                    write!(f, "; the newest is {number} of epoch {epoch}, done again from {tail} on")?;
                    if *missing != 0 {
                        write!(f, ", without members {}", List(members_of(*missing)))?;
                    }
                    if *late != 0 {
                        write!(
                            f,
                            ", with the chunks that deferred parity covers of {}",
                            Several((*late).into(), "page")
                        )?;
                    }
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
