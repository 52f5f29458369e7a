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
    line("code.kind", "has no meaning without parity", NoMeaning, "RAID-0 has no parity to make"),
    line(
        "code.kind",
        "has stripes as many pages deep",
        NotBuilt,
        "X-Code keeps parity in the data columns: it wants a log whose stripes are as many rows deep as there are elements",
    ),
    line("parity.window", "has no meaning without parity", NoMeaning, "RAID-0 has no parity to be late"),
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
        "without parity a first write pre-reads nothing that encoding could spare",
    ),
    line(
        "placement.policy = \"parity-logging\"",
        "has no meaning without parity",
        NoMeaning,
        "without parity there is no change of it to log",
    ),
    line(
        "placement.policy = \"elastic\"",
        "has no meaning without parity",
        NoMeaning,
        "it spares parity updates, of which RAID-0 has none; a log over RAID-0 would do over what the flash does below",
    ),
    line("read.policy", "has nothing to decode a chunk from", NoMeaning, "RAID-0 has one copy of a chunk"),
    line(
        "coordination.policy",
        "has no meaning without parity",
        NoMeaning,
        "turns are taken within a parity group, so that the others can serve",
    ),
    line(
        "[update]",
        "has no meaning where parity is never updated",
        NoMeaning,
        "a stripe of a log is written once, whole",
    ),
    line(
        "parity.window",
        "has no meaning where parity is never updated",
        NoMeaning,
        "a stripe's parity is written with it; what waits is data, in `elastic.buffer`",
    ),
    line(
        "parity.acknowledge",
        "has no meaning where parity is never updated",
        NoMeaning,
        "`elastic.acknowledge` says when a write is acknowledged",
    ),
    line(
        "parity.window",
        "leaves parity late, as a log does",
        NoMeaning,
        "two answers to one question: what becomes of a change of parity until it is made",
    ),
    line(
        "parity.window",
        "leaves parity late, and this write cache makes it first",
        NoMeaning,
        "a cache that makes parity first leaves none late",
    ),
    line(
        "parity.acknowledge",
        "has no meaning where writes are acknowledged from",
        NoMeaning,
        "such a cache acknowledges when it has data and parity, and neither is on an element by then",
    ),
    line(
        "[hotness]",
        "is asked by placement.policy",
        NoMeaning,
        "nobody would ask: in place a chunk has one place, and zones go by reads and writes",
    ),
    line(
        "placement.policy = \"parity-logging\"",
        "logs what this write cache has made parity of before",
        NoMeaning,
        "the log is for changes whose parity is not made; this cache makes it at once",
    ),
    line(
        "placement.first_writes",
        "is what elastic striping does with every write",
        NoMeaning,
        "every write of elastic striping waits in memory until there is a stripe of them",
    ),
    line(
        "placement.policy = \"elastic\"",
        "needs to know the elements of a write that waits",
        NotBuilt,
        "reads of a log have elements that could be known; a write has none until its stripe is made",
    ),
    line(
        "placement.policy = \"mc-rais\"",
        "needs to know the elements of a write that waits",
        NotBuilt,
        "a write that waits may be the one that moves its block to another zone; until then its elements are known",
    ),
    line(
        "placement.first_writes",
        "looks for a place for pages that zones have a home for",
        NoMeaning,
        "a page's first write goes to the zone that all blocks begin in, at its address there",
    ),
    line(
        "placement.first_writes",
        "needs to know the elements of a write that waits",
        NotBuilt,
        "reads and later writes have elements; a first write has none until its row is full",
    ),
    line(
        "[cache]",
        "makes up for parity updates",
        NotBuilt,
        "elastic striping gathers writes in memory of its own, as much as it needs; a cache before it could absorb more",
    ),
    line(
        "placement.first_writes",
        "gives pages their row after this write cache has made parity of them",
        NotBuilt,
        "encoding could spare such a cache the pre-reads of rows that were never written",
    ),
    line(
        "read.policy",
        "needs elements that tell what they do",
        NoMeaning,
        "what is not told can only be observed: `read.state = \"observed\"`",
    ),
    line(
        "coordination.policy",
        "needs elements that collect garbage only when they are permitted to",
        NoMeaning,
        "nobody can permit what a file or a block device does by itself",
    ),
];

/// The review of a reason, as the index of a line of [`REVIEW`].
pub fn review(why: &super::Why) -> Option<usize> {
    REVIEW
        .iter()
        .position(|line| why.setting.starts_with(line.setting) && why.reason.starts_with(line.reason))
}
