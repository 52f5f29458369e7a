//! The axes and their members: the list from which everything about composition is derived.
//!
//! The first member of each axis is the default, that is, what a scheme has if it does not set the axis. Other
//! members are defined by the keys of a scheme that they set, or by properties of the array's devices. An axis owns
//! the keys that its members set, so that members of several axes can be combined.

use stripewise_array::Scheme;
use stripewise_flash::Level;

/// Number of axes.
pub const COUNT: usize = 13;

/// An axis.
#[derive(Debug)]
pub struct Axis {
    /// Its name.
    pub name: &'static str,
    /// The subject of the choice.
    pub about: &'static str,
    /// Its members, the default first; at most 16.
    pub members: &'static [AxisValue],
    /// Copies the keys that this axis owns into the first scheme from the second.
    pub(crate) take: fn(&mut Scheme, &Scheme),
}

/// A member of an axis.
#[derive(Debug)]
pub struct AxisValue {
    /// Its name, as in the array's settings.
    pub name: &'static str,
    /// What it sets in an array.
    pub sets: Sets,
}

/// What a member of an axis sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sets {
    /// These keys of a scheme.
    Keys(&'static str),
    /// The level of the array's members.
    Level(Level),
    /// Devices with preemptive collection.
    Preemption,
    /// The capabilities of the array's members.
    Members(Ability),
}

/// The capabilities of an array's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// They keep old versions, report their state, and collect with permission.
    Everything,
    /// The same, but they keep no old versions.
    NoOldVersions,
    /// None of these, as with files and block devices.
    Nothing,
}

impl Sets {
    /// A description for documents.
    pub fn words(&self) -> String {
        let words = match self {
            Self::Keys("") => "(nothing)",
            Self::Keys(keys) => {
                let keys = keys.trim().lines().map(|key| format!("`{}`", key.replace('\'', "\"")));
                return keys.collect::<Vec<_>>().join(", ");
            }
            Self::Level(Level::Ssd) => "each member is an SSD",
            Self::Level(Level::Channel) => "each member is a channel with its chips",
            Self::Level(Level::Chip) => "each member is a chip",
            Self::Preemption => "`gc.preemption = \"moves\"` or `\"phases\"` of the device",
            Self::Members(Ability::Everything) => {
                "they keep old versions, report their operations, and collect garbage only with permission"
            }
            Self::Members(Ability::NoOldVersions) => "the same without old versions: memory keeps them",
            Self::Members(Ability::Nothing) => "none, like files and block devices",
        };
        words.to_owned()
    }
}

const fn keys(name: &'static str, keys: &'static str) -> AxisValue {
    AxisValue { name, sets: Sets::Keys(keys) }
}

/// Elastic striping, over members as small as those of the checking simulation. Chunks leave memory either per
/// stripe, as in eSAP, or per segment, as in WAS; the third setting adds classes by the mix of reads and writes.
const STRIPE: &str = "placement.policy = 'elastic'\nelastic.segment_rows = 4\nelastic.buffer = 'stripe'";
const GROUP: &str = "placement.policy = 'elastic'\nelastic.segment_rows = 4";
const CLASSES: &str =
    "placement.policy = 'elastic'\nelastic.segment_rows = 4\nelastic.classes = 'hotness-and-mix'";

/// The axes.
pub static AXES: [Axis; COUNT] = [
    Axis {
        name: "geometry",
        about: "redundancy, place of parity, members of a group",
        members: &[
            keys("raid5", ""),
            keys("raid0", "geometry.level = 'raid0'"),
            keys("raid4", "geometry.rotation = 'none'"),
            keys("raid5-groups", "geometry.groups = 2\ngeometry.rotation = 'right-symmetric'"),
            keys(
                "raid5-lci",
                "geometry.groups = 2\ngeometry.membership = 'longest-code-interval'\ngeometry.rotation = 'right-asymmetric'",
            ),
            keys("raid6", "geometry.level = 'raid6'"),
            keys(
                "raid6-groups",
                "geometry.level = 'raid6'\ngeometry.groups = 2\ngeometry.rotation = 'left-asymmetric'",
            ),
            keys(
                "raid6-lci",
                "geometry.level = 'raid6'\ngeometry.groups = 2\ngeometry.membership = 'longest-code-interval'",
            ),
        ],
        take: |to, from| to.geometry = from.geometry,
    },
    Axis {
        name: "code",
        about: "the code that computes parity",
        members: &[
            keys("by-level", ""),
            keys("xor", "code.kind = 'xor'"),
            keys("pq", "code.kind = 'pq'"),
            keys("rdp", "code.kind = 'rdp'"),
            keys("evenodd", "code.kind = 'evenodd'"),
            keys("x-code", "code.kind = 'x-code'"),
        ],
        take: |to, from| to.code = from.code,
    },
    Axis {
        name: "update",
        about: "the routine that updates parity",
        members: &[
            keys("baseline", ""),
            keys("bpu", "update.policy = 'bpu'"),
            keys("adaptive", "update.policy = 'adaptive'"),
            keys("rmw-vs-reconstruct", "update.policy = 'rmw-vs-reconstruct'"),
            keys("always-rmw", "update.policy = 'always-rmw'"),
            keys("always-rcw", "update.policy = 'always-rcw'"),
            keys("custom", "update.policy = 'custom'"),
        ],
        take: |to, from| to.update = from.update,
    },
    Axis {
        name: "parity",
        about: "when parity is updated, and when a write is acknowledged",
        members: &[
            keys("with-data", ""),
            keys("window", "parity.window = 'members'"),
            keys("after-data", "parity.acknowledge = 'after-data'"),
        ],
        take: |to, from| to.parity = from.parity,
    },
    Axis {
        name: "placement",
        about: "the place of written chunks",
        members: &[
            keys("in-place", ""),
            keys("parity-logging", "placement.policy = 'parity-logging'"),
            keys("elastic-stripe", STRIPE),
            keys("elastic-group", GROUP),
            keys("elastic-classes", CLASSES),
            keys("mc-rais", "placement.policy = 'mc-rais'"),
        ],
        take: |to, from| (to.placement.policy, to.elastic) = (from.placement.policy, from.elastic.clone()),
    },
    Axis {
        name: "first-writes",
        about: "the first write of a row",
        members: &[
            keys("in-place", ""),
            keys("gather", "placement.first_writes = 'gather'"),
            keys("encode", "placement.first_writes = 'encode'"),
        ],
        take: |to, from| to.placement.first_writes = from.placement.first_writes,
    },
    Axis {
        name: "hotness",
        about: "how hot and cold chunks are distinguished",
        members: &[
            keys("none", ""),
            keys("glru", "hotness.policy = 'glru'"),
            keys("hca", "hotness.policy = 'hca'\nhotness.tiers = 3"),
            keys("direct", "hotness.policy = 'direct'\nhotness.tiers = 4"),
        ],
        take: |to, from| to.hotness = from.hotness.clone(),
    },
    Axis {
        name: "read",
        about: "the source of a read chunk",
        members: &[
            keys("direct", ""),
            keys("brr", "read.policy = 'brr'"),
            keys("gc-avoiding", "read.policy = 'gc-avoiding'"),
            keys("gc-avoiding-observed", "read.policy = 'gc-avoiding'\nread.state = 'observed'"),
            keys("hedged", "read.policy = 'hedged'"),
            keys("least-finish", "read.policy = 'least-finish'"),
        ],
        take: |to, from| to.read = from.read,
    },
    Axis {
        name: "dispatch",
        about: "when a request is issued",
        members: &[
            keys("async-fifo", ""),
            keys("async-fifo-bounded", "dispatch.queue = 2"),
            keys("sync-fifo", "dispatch.policy = 'sync-fifo'"),
            keys("sync-fifo-apart", "dispatch.policy = 'sync-fifo'\ndispatch.strict = false"),
            keys("piq", "dispatch.policy = 'piq'"),
        ],
        take: |to, from| to.dispatch = from.dispatch,
    },
    Axis {
        name: "cache",
        about: "data that stays in memory before it goes to the members",
        members: &[
            keys("none", ""),
            keys("parity-caching", "cache.policy = 'parity-caching'"),
            keys("isc", "cache.policy = 'isc'"),
            keys("wow", "cache.policy = 'wow'"),
            keys("stow", "cache.policy = 'stow'"),
            keys("siw", "cache.policy = 'siw'"),
            keys("hybrid", "cache.policy = 'hybrid'"),
        ],
        take: |to, from| to.cache = from.cache,
    },
    Axis {
        name: "collection",
        about: "when members collect garbage",
        members: &[
            keys("none", ""),
            AxisValue { name: "semi-preemptive", sets: Sets::Preemption },
            keys("rotating", "coordination.policy = 'rotating'"),
            keys("global", "coordination.policy = 'global'"),
        ],
        take: |to, from| to.coordination = from.coordination,
    },
    Axis {
        name: "level",
        about: "the device behind a member",
        members: &[
            AxisValue { name: "ssd", sets: Sets::Level(Level::Ssd) },
            AxisValue { name: "channel", sets: Sets::Level(Level::Channel) },
            AxisValue { name: "chip", sets: Sets::Level(Level::Chip) },
        ],
        take: |_, _| {},
    },
    Axis {
        name: "members",
        about: "abilities of members that the controller uses",
        members: &[
            AxisValue { name: "all", sets: Sets::Members(Ability::Everything) },
            AxisValue { name: "no-old-versions", sets: Sets::Members(Ability::NoOldVersions) },
            AxisValue { name: "as-files", sets: Sets::Members(Ability::Nothing) },
        ],
        take: |_, _| {},
    },
];
