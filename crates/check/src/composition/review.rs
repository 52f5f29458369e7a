//! Reviews of the refusals: which combinations are meaningless, and which are merely not implemented.
//!
//! Each reason of the array has a line here, and each line has a reason that occurs; a test checks both. A new
//! refusal must therefore be reviewed, and the review of a lifted refusal must be removed.

/// The result of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The members contradict each other, or one of them would have no effect.
    NoMeaning,
    /// The members could be combined, but this is not implemented.
    NotBuilt,
}

impl Verdict {
    /// A description for documents.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoMeaning => "no meaning",
            Self::NotBuilt => "not built",
        }
    }
}

/// A reviewed reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reviewed {
    /// Prefix of the refused setting; empty for any setting.
    pub setting: &'static str,
    /// Prefix of the reason.
    pub reason: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// The explanation.
    pub because: &'static str,
}

const fn line(
    setting: &'static str,
    reason: &'static str,
    verdict: Verdict,
    because: &'static str,
) -> Reviewed {
    Reviewed { setting, reason, verdict, because }
}

use Verdict::{NoMeaning, NotBuilt};

/// All reviews; the first match for a reason is its review.
pub const REVIEW: &[Reviewed] = &[
    line("code.kind", "makes two parity chunks", NoMeaning, "RAID-5 has one parity chunk to write"),
    line("code.kind", "makes one parity chunk", NoMeaning, "RAID-6 has two parity chunks to write"),
    line("code.kind", "has no meaning without parity", NoMeaning, "RAID-0 has no parity to compute"),
    line(
        "code.kind",
        "has stripes as many pages deep",
        NoMeaning,
        "a row in place has no parity of X-Code; a log over RAID-6 writes it, which takes one setting more than a pair has",
    ),
    line("parity.window", "has no meaning without parity", NoMeaning, "RAID-0 has no parity to defer"),
    line(
        "parity.acknowledge",
        "has no meaning without parity",
        NoMeaning,
        "RAID-0 has no parity to wait for",
    ),
    line(
        "placement.first_writes",
        "has no meaning without parity",
        NoMeaning,
        "without parity a first write has no pre-reads that encoding could save",
    ),
    line(
        "placement.policy = \"parity-logging\"",
        "has no meaning without parity",
        NoMeaning,
        "without parity there is no change of parity to log",
    ),
    line(
        "placement.policy = \"elastic\"",
        "has no meaning without parity",
        NoMeaning,
        "it saves parity updates, of which RAID-0 has none; a log over RAID-0 would repeat the work of the flash below",
    ),
    line("read.policy", "has nothing to decode a chunk from", NoMeaning, "RAID-0 has one copy of a chunk"),
    line(
        "coordination.policy",
        "has no meaning without parity",
        NoMeaning,
        "permission rotates within a parity group, so that the other members can serve",
    ),
    line(
        "[update]",
        "has no meaning where parity is never updated",
        NoMeaning,
        "a stripe of a log is written once, as a whole",
    ),
    line(
        "parity.window",
        "has no meaning where parity is never updated",
        NoMeaning,
        "a stripe's parity is written with it; only data waits, in `elastic.buffer`",
    ),
    line(
        "parity.acknowledge",
        "has no meaning where parity is never updated",
        NoMeaning,
        "`elastic.acknowledge` determines when a write is acknowledged",
    ),
    line(
        "parity.window",
        "leaves parity late, as a log does",
        NoMeaning,
        "both determine where a change of parity is kept until it is applied",
    ),
    line(
        "parity.window",
        "leaves parity late, and this write cache makes it first",
        NoMeaning,
        "a cache that computes parity first defers none",
    ),
    line(
        "parity.acknowledge",
        "has no meaning where writes are acknowledged from",
        NoMeaning,
        "such a cache acknowledges when it has data and parity, before either is on a member",
    ),
    line(
        "[hotness]",
        "is asked by placement.policy",
        NoMeaning,
        "no policy would use it: in place a chunk has one place, and zones depend on reads and writes",
    ),
    line(
        "placement.policy = \"parity-logging\"",
        "logs what this write cache has made parity of before",
        NoMeaning,
        "the log is for changes whose parity is not computed; this cache computes it at once",
    ),
    line(
        "placement.first_writes",
        "is what elastic striping does with every write",
        NoMeaning,
        "every write of elastic striping waits in memory until a stripe is full",
    ),
    line(
        "placement.policy = \"elastic\"",
        "needs to know the members of a write that waits",
        NotBuilt,
        "the members of log reads could be known; a write has none until its stripe is formed",
    ),
    line(
        "placement.policy = \"mc-rais\"",
        "needs to know the members of a write that waits",
        NotBuilt,
        "a waiting write may move its block to another zone; until then its members are known",
    ),
    line(
        "placement.first_writes",
        "looks for a place for pages that zones have a home for",
        NoMeaning,
        "a page's first write goes to the zone in which all blocks begin, at its address there",
    ),
    line(
        "placement.first_writes",
        "needs to know the members of a write that waits",
        NotBuilt,
        "reads and later writes have members; a first write has none until its row is full",
    ),
    line(
        "[cache]",
        "makes up for parity updates",
        NotBuilt,
        "elastic striping gathers writes in its own memory, as much as it needs; a cache before it could absorb more",
    ),
    line(
        "placement.first_writes",
        "gives pages their row after this write cache has made parity of them",
        NotBuilt,
        "encoding could save such a cache the pre-reads of rows that were never written",
    ),
    line(
        "read.policy",
        "needs members that tell what they do",
        NoMeaning,
        "unreported operations can only be observed: `read.state = \"observed\"`",
    ),
    line(
        "coordination.policy",
        "needs members that collect garbage only when they are permitted to",
        NoMeaning,
        "permission cannot control the internal work of a file or a block device",
    ),
];

/// The review of a reason, as the index of a line of [`REVIEW`].
pub fn review(why: &super::Why) -> Option<usize> {
    REVIEW
        .iter()
        .position(|line| why.setting.starts_with(line.setting) && why.reason.starts_with(line.reason))
}
