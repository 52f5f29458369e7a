//! A case: all that decides one run of the checker. Cases are drawn from seeds, written by hand, or read from
//! files.

use serde::{Deserialize, Serialize};
use stripewise_array::geometry::Geometry;
use stripewise_array::{Members, Scheme};
use stripewise_base::Nanos;
use stripewise_base::suggest::{ConfigError, read_toml};
use stripewise_flash::{DeviceSpec, Shape};
use stripewise_sim::Layout;

use crate::media::{Faults, Manner};
use crate::stamp::SECTOR;

/// What a host asks for.
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
    /// Time since the request before it was due.
    pub gap_ns: Nanos,
    /// What is asked for.
    pub what: What,
    /// First sector; of no meaning for flushes.
    pub sector: u64,
    /// Sectors; at least one, except for flushes.
    pub sectors: u64,
}

/// The loss of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// Before this event of the run, or after the last one.
    pub event: u64,
    /// Which member.
    #[serde(rename = "element")]
    pub member: u16,
    /// How.
    pub manner: Manner,
}

/// All that decides one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Decides which pages go bad, and what the device draws at random.
    pub seed: u64,
    /// What the members are.
    #[serde(rename = "elements")]
    pub members: Layout,
    /// Requests under way at once, at most.
    pub depth: u32,
    /// Whether, in the end, each member is taken away in turn and everything decoded.
    pub fail_each: bool,
    /// Whether the members are taken for such that keep no old versions, so that memory must.
    #[serde(default)]
    pub hides_old_versions: bool,
    /// Whether the members are taken for such that neither tell what they do nor collect when they are permitted to.
    #[serde(default, skip_serializing_if = "is_off")]
    pub tells_nothing: bool,
    /// Whether members keep acknowledged writes in volatile memory until a flush.
    #[serde(default)]
    #[serde(rename = "volatile_elements")]
    pub volatile_members: bool,
    /// Power is lost before each of these events of the run; once more, if one of them comes after the last event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub power_losses: Vec<u64>,
    /// Faults of pages.
    pub faults: Faults,
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
    /// What is wrong with the text, and where.
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

    /// The array's geometry.
    ///
    /// # Errors
    /// Why there can be no such array.
    pub fn geometry(&self) -> Result<Geometry, String> {
        let shape = Shape::new(&self.device, self.members.level, self.members.devices)
            .map_err(|error| error.to_string())?;
        self.scheme.resolve(&self.capabilities(&shape), true).map_err(|error| error.to_string())
    }

    /// What the controller is told that its members can do.
    pub fn capabilities(&self, shape: &Shape) -> Members {
        let members = stripewise_sim::members(&self.device, shape);
        let old_versions = if self.hides_old_versions { 0 } else { members.old_versions };
        let tells = !self.tells_nothing;
        let (gc_control, gc_state) = (members.gc_control && tells, members.gc_state && tells);
        Members { old_versions, volatile_cache: self.volatile_members, gc_control, gc_state, ..members }
    }

    /// Sectors of the array.
    ///
    /// # Errors
    /// Why there can be no such array.
    pub fn sectors(&self) -> Result<u64, String> {
        Ok(self.scheme.pages(&self.geometry()?) * u64::from(self.page_bytes()) / SECTOR as u64)
    }

    /// The most members that are ever lost in one parity group, by [`Case::losses`] alone.
    pub fn losses_in_a_group(&self, geometry: &Geometry) -> u32 {
        let mut lost: Vec<u16> = self.losses.iter().map(|loss| loss.member).collect();
        lost.sort_unstable();
        lost.dedup();
        // A log belongs to every group.
        let (data, log): (Vec<u16>, _) =
            lost.into_iter().partition(|&member| u32::from(member) < geometry.members);
        let group = |member: &u16| geometry.group_of(u32::from(*member));
        let most = (0..geometry.groups)
            .map(|wanted| data.iter().filter(|member| group(member) == wanted).count() as u32)
            .max();
        most.unwrap_or(0) + log.len() as u32
    }
}
