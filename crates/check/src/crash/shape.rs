//! Small arrays of every kind that can be assembled again.

use serde::{Deserialize, Serialize};
use stripewise_array::format::Uuid;
use stripewise_array::geometry::Level;
use stripewise_array::placement::{AcknowledgeWrites, BufferUnit};
use stripewise_array::placement::{JournalPolicy, PlacementPolicy};
use stripewise_array::{Identity, Members, Metadata, Persistence, Scheme, WindowSize};
use stripewise_base::units::{Bytes, Span};

/// The kind of an array's crash consistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// RAID-5 with the log.
    Log5,
    /// RAID-6 with the log.
    Log6,
    /// RAID-6 with the log, by X-Code: stripes that are as deep as they are wide.
    LogDeep,
    /// RAID-5 in place with the redo journal.
    Journal5,
    /// RAID-6 in place with the redo journal.
    Journal6,
    /// RAID-5 in place with the redo journal and deferred parity.
    Window5,
    /// RAID-6 in place with the redo journal and deferred parity.
    Window6,
    /// RAID-5 in place with the intent bitmap. It has a write hole: row `hole` of the contract.
    Bitmap5,
    /// RAID-6 in place with the intent bitmap, and the same hole.
    Bitmap6,
}

impl Kind {
    /// All kinds that seeds choose from. [`Self::LogDeep`] has seeds of its own, so that those of the others keep their cases.
    pub const ALL: [Self; 8] = [
        Self::Log5,
        Self::Log6,
        Self::Journal5,
        Self::Journal6,
        Self::Window5,
        Self::Window6,
        Self::Bitmap5,
        Self::Bitmap6,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log5 => "log5",
            Self::Log6 => "log6",
            Self::LogDeep => "log6-x-code",
            Self::Journal5 => "journal5",
            Self::Journal6 => "journal6",
            Self::Window5 => "window5",
            Self::Window6 => "window6",
            Self::Bitmap5 => "bitmap5",
            Self::Bitmap6 => "bitmap6",
        }
    }

    /// Number of members of a stripe that may be lost.
    pub fn parity(self) -> u32 {
        match self {
            Self::Log5 | Self::Journal5 | Self::Window5 | Self::Bitmap5 => 1,
            Self::Log6 | Self::LogDeep | Self::Journal6 | Self::Window6 | Self::Bitmap6 => 2,
        }
    }

    /// Whether chunks are rewritten in place.
    pub(crate) fn is_in_place(self) -> bool {
        !matches!(self, Self::Log5 | Self::Log6 | Self::LogDeep)
    }

    /// Whether parity may be deferred by some writes.
    pub(crate) fn has_window(self) -> bool {
        matches!(self, Self::Window5 | Self::Window6)
    }

    /// Whether a chunk may have any content if it is lost and its row was under update at a power loss.
    pub(crate) fn has_hole(self) -> bool {
        self.has_bitmap()
    }

    /// Whether it has the intent bitmap and no journal.
    fn has_bitmap(self) -> bool {
        matches!(self, Self::Bitmap5 | Self::Bitmap6)
    }

    /// Whether each page is verified against a checksum, so that silent corruption by members is detected.
    pub fn has_checksums(self) -> bool {
        !self.has_bitmap()
    }

    /// Whether a trim of whole pages is binding like a write.
    pub(crate) fn has_binding_trims(self) -> bool {
        !self.is_in_place()
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = || Self::ALL.into_iter().chain([Self::LogDeep]);
        let names: Vec<&str> = all().map(Self::name).collect();
        let found = all().find(|kind| kind.name() == text);
        found.ok_or_else(|| format!("no such scheme; there are {}", names.join(", ")))
    }
}

/// All sets of at most `most` of `count` members without those in `without`, the empty set first.
pub(crate) fn sets(count: u16, most: u32, without: u64) -> impl Iterator<Item = u64> {
    (0..1u64 << count).filter(move |set| set.count_ones() <= most && set & without == 0)
}

/// An array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The kind of its crash consistency.
    pub kind: Kind,
    /// Members.
    #[serde(alias = "elements")]
    pub members: u16,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a member.
    pub pages: u32,
    /// For a log: pages per segment and member. In place: pages per chunk.
    pub segment_rows: u32,
    /// Whether chunks leave memory per full segment instead of per full stripe. For RAID-6 in place: whether the code
    /// is RDP instead of P+Q.
    pub groups_segments: bool,
    /// Nanoseconds after which a single chunk leaves memory; 0 lets it wait.
    pub wait_ns: u64,
    /// Number of parity groups.
    #[serde(default = "one")]
    pub groups: u16,
    /// Slots of the parity window.
    #[serde(default)]
    pub window: u32,
}

fn one() -> u16 {
    1
}

impl Shape {
    /// The scheme, with queues as small as the array.
    pub(crate) fn scheme(&self) -> Scheme {
        let mut scheme: Scheme =
            Scheme::from_toml("", "name = \"crashes\"").expect("a scheme needs a name only");
        scheme.metadata = Metadata::On;
        scheme.geometry.level = if self.kind.parity() == 2 { Level::Raid6 } else { Level::Raid5 };
        scheme.geometry.groups = self.groups.into();
        scheme.queues.requests = 16;
        scheme.queues.plans = 8;
        if self.kind.is_in_place() {
            let page = u64::from(self.page_bytes);
            scheme.geometry.chunk = Some(Bytes(page * u64::from(self.segment_rows)));
            let is_second = self.kind.parity() == 2 && self.groups_segments;
            scheme.code.kind = is_second.then_some(stripewise_code::Kind::Rdp);
            scheme.code.prime = is_second.then_some(17);
            if self.kind.has_window() {
                scheme.parity.window = WindowSize::Chunks(self.window);
                // A write may make as many parity chunks due as it has chunks.
                scheme.queues.plans = 16;
            }
            if self.kind.has_bitmap() {
                scheme.journal.policy = JournalPolicy::IntentBitmap;
            }
            return scheme;
        }
        scheme.code.kind = (self.kind == Kind::LogDeep).then_some(stripewise_code::Kind::XCode);
        scheme.placement.policy = PlacementPolicy::Elastic;
        scheme.placement.buffer_persistence = Persistence::Volatile;
        let elastic = &mut scheme.elastic;
        elastic.segment_rows = self.segment_rows;
        elastic.buffer = if self.groups_segments { BufferUnit::Group } else { BufferUnit::Stripe };
        elastic.wait = Span(self.wait_ns);
        elastic.acknowledge = AcknowledgeWrites::Buffered;
        scheme
    }

    /// The properties of the members.
    pub(crate) fn members(&self) -> Members {
        Members::opaque(self.members.into(), self.page_bytes, self.pages)
    }

    /// The array's identifiers. They are fixed, because every case has its own members.
    pub(crate) fn identity(&self) -> Identity {
        let member =
            |nth: u16| Uuid([&[0xE1; 14][..], &nth.to_le_bytes()].concat().try_into().expect("16 bytes"));
        let members = (0..self.members).map(member).collect();
        Identity { array: Uuid([0xA7; 16]), members, name: "crashes".into() }
    }
}
