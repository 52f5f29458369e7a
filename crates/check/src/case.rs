//! A case: everything that determines one run of the checker. Cases are drawn from seeds, written by hand, or read
//! from files.

use serde::{Deserialize, Serialize};
use stripewise_array::geometry::Geometry;
use stripewise_array::{MemberNo, Members, Scheme};
use stripewise_base::Nanos;
use stripewise_base::suggest::{ConfigError, read_toml};
use stripewise_flash::{DeviceSpec, Shape};
use stripewise_sim::Layout;

use crate::media::{Faults, Manner};
use crate::stamp::SECTOR;

/// The kind of a host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Read sectors.
    Read,
    /// Write sectors.
    Write,
    /// Declare sectors unused.
    Trim,
    /// Make everything acknowledged durable.
    Flush,
}

/// A request of the case's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Time since the previous request was due.
    pub gap_ns: Nanos,
    /// The kind of request.
    pub what: What,
    /// First sector; ignored by flushes.
    pub sector: u64,
    /// Number of sectors: at least one, except for flushes.
    pub sectors: u64,
}

/// The loss of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// The member is lost before this event of the run, or after the last one.
    pub event: u64,
    /// The member.
    #[serde(alias = "element")]
    pub member: MemberNo,
    /// The manner of the loss.
    pub manner: Manner,
}

/// The limit of errors beyond which a member is failed, as a server does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorLimit {
    /// Errors of a member that are tolerated.
    pub errors: u64,
    /// Events between two looks at the errors of all members.
    pub every: u64,
}

/// Everything that determines one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Seed of page faults and of the device's random choices.
    pub seed: u64,
    /// The layout of members.
    #[serde(alias = "elements")]
    pub members: Layout,
    /// The largest number of requests in flight at once.
    pub depth: u32,
    /// Whether at the end of the run each member is removed in turn and all data decoded.
    pub fail_each: bool,
    /// Whether members are described to the controller as keeping no old versions, so that controller memory must keep them.
    #[serde(default)]
    pub hides_old_versions: bool,
    /// Whether members are described to the controller as neither reporting state nor accepting control of collection.
    #[serde(default, rename = "tells_nothing", skip_serializing_if = "is_off")]
    pub reports_nothing: bool,
    /// Whether members keep acknowledged writes in volatile memory until a flush.
    #[serde(default)]
    #[serde(alias = "volatile_elements")]
    pub volatile_members: bool,
    /// Power is lost before each of these events of the run. Any that come after the last event cause one more loss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub power_losses: Vec<u64>,
    /// Faults of pages.
    pub faults: Faults,
    /// Beyond this limit of errors a member is failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_limit: Option<ErrorLimit>,
    /// Losses of members.
    pub losses: Vec<Loss>,
    /// The requests, in order.
    pub requests: Vec<Ask>,
    /// The scheme.
    pub scheme: Scheme,
    /// The device.
    pub device: DeviceSpec,
}

fn is_off(value: &bool) -> bool {
    !*value
}

impl Case {
    /// Reads a case from `text`, the contents of `file`.
    ///
    /// # Errors
    /// The error in the text, and its place.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, ConfigError> {
        read_toml(file, text)
    }

    /// The case as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a case holds nothing that TOML cannot say")
    }

    /// Bytes of a page of the device.
    pub fn page_bytes(&self) -> u32 {
        self.device.geometry.page_bytes.0 as u32
    }

    /// The geometry of the array.
    ///
    /// # Errors
    /// The reason why no such array is possible.
    pub fn geometry(&self) -> Result<Geometry, String> {
        let shape = Shape::new(&self.device, self.members.level, self.members.devices)
            .map_err(|error| error.to_string())?;
        self.scheme.resolve(&self.capabilities(&shape), true).map_err(|error| error.to_string())
    }

    /// The members' capabilities, as reported to the controller.
    pub fn capabilities(&self, shape: &Shape) -> Members {
        let members = stripewise_sim::members(&self.device, shape);
        let old_versions = if self.hides_old_versions { 0 } else { members.old_versions };
        let reports = !self.reports_nothing;
        let (gc_control, gc_state) = (members.gc_control && reports, members.gc_state && reports);
        Members { old_versions, volatile_cache: self.volatile_members, gc_control, gc_state, ..members }
    }

    /// Sectors of the array.
    ///
    /// # Errors
    /// The reason why no such array is possible.
    pub fn sectors(&self) -> Result<u64, String> {
        Ok(self.scheme.pages(&self.geometry()?) * u64::from(self.page_bytes()) / SECTOR as u64)
    }

    /// The largest number of members lost in one parity group, counting [`Case::losses`] only.
    pub fn losses_in_a_group(&self, geometry: &Geometry) -> u32 {
        let mut lost: Vec<MemberNo> = self.losses.iter().map(|loss| loss.member).collect();
        lost.sort_unstable();
        lost.dedup();
        // A log member belongs to every group.
        let (data, log): (Vec<MemberNo>, _) =
            lost.into_iter().partition(|&member| member.is_within(geometry.members));
        let group = |member: &MemberNo| geometry.group_of(*member);
        let most = (0..geometry.groups)
            .map(|wanted| data.iter().filter(|member| group(member) == wanted).count() as u32)
            .max();
        most.unwrap_or(0) + log.len() as u32
    }
}
