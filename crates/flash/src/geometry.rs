//! Members, buses, dies and planes as flat numbers.
//!
//! Planes are numbered device by device, channel by channel, chip by chip, die by die. So are dies. Every member
//! therefore owns a contiguous range of dies and planes, whatever its level.

use crate::divide::Divisor;
use crate::spec::{DeviceSpec, DieInterleaving, MultiPlane};
use crate::validate::SpecError;

/// The part of a device that the array treats as a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The whole device.
    Ssd,
    /// Each of its channels.
    Channel,
    /// Each of its chips.
    Chip,
}

/// The counts of a set of equal devices, divided into members of one level.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The level of members.
    pub level: Level,
    /// Devices.
    pub devices: u32,
    /// Total members.
    pub members: u32,
    /// Total buses: one for each channel.
    pub buses: u32,
    /// Total dies.
    pub dies: u32,
    /// Total planes.
    pub planes: u32,
    /// Dies on a bus.
    pub dies_per_bus: u32,
    /// Dies of a device.
    pub dies_per_device: u32,
    /// Dies of a member.
    pub dies_per_member: u32,
    /// Planes of a member.
    pub planes_per_member: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block that hold data: all of them, or all except the summary page.
    pub data_pages: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Exported pages of a plane.
    pub logical_per_plane: u32,
    /// Exported pages of a member.
    pub logical_pages: u32,
    /// Physical pages of a member.
    pub pages_per_member: u32,
    pub(crate) by_page: Divisor,
    pub(crate) by_block: Divisor,
    pub(crate) by_plane: Divisor,
    pub(crate) by_die: Divisor,
}

/// The largest number of members in one simulation.
const MAX_MEMBERS: u32 = 512;

impl Shape {
    /// The counts of `devices` devices whose members of `level` are to be simulated.
    ///
    /// # Errors
    /// As [`Shape::new`]; also if the devices need queues that members of this level do not have.
    pub fn of_flash(spec: &DeviceSpec, level: Level, devices: u32) -> Result<Self, SpecError> {
        let shape = Self::new(spec, level, devices)?;
        if level != Level::Ssd && spec.scheduling.multi_plane != MultiPlane::Off {
            return Err(SpecError::NeedsQueue { key: "scheduling.multi_plane" });
        }
        if level != Level::Ssd && spec.scheduling.die_interleaving != DieInterleaving::Free {
            return Err(SpecError::NeedsQueue { key: "scheduling.die_interleaving" });
        }
        Ok(shape)
    }

    /// The counts of `devices` devices as members of `level`.
    ///
    /// # Errors
    /// The specification is invalid, or a member would be too large, or there would be too many members.
    pub fn new(spec: &DeviceSpec, level: Level, devices: u32) -> Result<Self, SpecError> {
        spec.validate()?;
        let g = &spec.geometry;
        let (channels, dies_per_channel) = (u64::from(g.channels), u64::from(g.chips) * u64::from(g.dies));
        let per_device = match level {
            Level::Ssd => 1,
            Level::Channel => channels,
            Level::Chip => channels * u64::from(g.chips),
        };
        let members = per_device * u64::from(devices);
        if members == 0 || members > u64::from(MAX_MEMBERS) {
            return Err(SpecError::Members { found: members, limit: MAX_MEMBERS });
        }
        let dies_per_member = channels * dies_per_channel / per_device;
        let planes_per_member = dies_per_member * u64::from(g.planes);
        let pages = planes_per_member * u64::from(g.blocks) * u64::from(g.pages);
        if pages > u64::from(MAX_PAGES) {
            return Err(SpecError::MemberTooLarge { pages, limit: MAX_PAGES });
        }
        let logical_per_plane = spec.logical_per_plane();
        // All values below fit: the pages of a member fit in 31 bits, and there are at most 512 members of at least
        // two blocks.
        let members = members as u32;
        Ok(Self {
            level,
            devices,
            members,
            buses: g.channels * devices,
            dies: dies_per_member as u32 * members,
            planes: planes_per_member as u32 * members,
            dies_per_bus: dies_per_channel as u32,
            dies_per_device: g.channels * dies_per_channel as u32,
            dies_per_member: dies_per_member as u32,
            planes_per_member: planes_per_member as u32,
            blocks_per_plane: g.blocks,
            data_pages: spec.data_pages(),
            pages_per_block: g.pages,
            logical_per_plane,
            logical_pages: logical_per_plane * planes_per_member as u32,
            pages_per_member: pages as u32,
            by_page: Divisor::new(g.pages),
            by_block: Divisor::new(g.blocks),
            by_plane: Divisor::new(g.planes),
            by_die: Divisor::new(dies_per_channel as u32),
        })
    }

    /// The member that owns a die.
    pub(crate) fn member_of_die(&self, die: u32) -> u32 {
        die / self.dies_per_member
    }

    /// The first plane of a member.
    #[inline(always)]
    pub(crate) fn first_plane(&self, member: u32) -> u32 {
        member * self.planes_per_member
    }

    /// The die of a plane.
    #[inline(always)]
    pub(crate) fn die_of_plane(&self, plane: u32) -> u32 {
        self.by_plane.divide(plane)
    }

    /// The bus of a die.
    #[inline(always)]
    pub(crate) fn bus_of_die(&self, die: u32) -> u32 {
        self.by_die.divide(die)
    }

    /// The block, counted within the member, that contains a page of the member.
    #[inline(always)]
    pub(crate) fn block_of_page(&self, page: u32) -> u32 {
        self.by_page.divide(page)
    }

    /// The plane, counted within the member, that contains a page of the member.
    #[inline(always)]
    pub(crate) fn plane_of_page(&self, page: u32) -> u32 {
        self.by_block.divide(self.by_page.divide(page))
    }

    /// Blocks of a member.
    pub fn blocks_per_member(&self) -> u32 {
        self.planes_per_member * self.blocks_per_plane
    }
}

/// The largest number of physical pages of a member; one bit of a page's entry in the reverse map is a mark.
pub(crate) const MAX_PAGES: u32 = (1 << 31) - 2;

impl DeviceSpec {
    /// Number of old versions that each member can keep at once, whatever their planes: collection must still find
    /// space if all of them are in the same plane.
    pub fn old_versions(&self, shape: &Shape) -> u32 {
        let mapped = shape.logical_pages.div_ceil(shape.planes_per_member);
        self.max_valid_per_plane().saturating_sub(mapped)
    }
}
