//! The times of a device in nanoseconds, computed once.

use stripewise_base::Nanos;

use crate::spec::DeviceSpec;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// Cell times.
    pub(crate) read: Nanos,
    pub(crate) program: Nanos,
    pub(crate) erase: Nanos,
    /// Bus times.
    pub(crate) read_command: Nanos,
    pub(crate) program_command: Nanos,
    pub(crate) erase_command: Nanos,
    pub(crate) page: Nanos,
    /// The transfers of a moved page, out and back in.
    pub(crate) moved_page: Nanos,
    /// The additional cost of filling a block: on the bus and in the cells.
    pub(crate) summary_bus: Nanos,
    pub(crate) summary_cell: Nanos,
    /// Host link, for one page operation, and in addition for one command.
    pub(crate) link: Nanos,
    pub(crate) link_command: Nanos,
}

impl Times {
    pub(crate) fn new(spec: &DeviceSpec) -> Self {
        let (t, g) = (&spec.timing, &spec.geometry);
        let summary = spec.ftl.summary_page;
        let page = t.bus.time_of(g.page_bytes.0 + g.spare_bytes.0);
        Self {
            read: t.read.0,
            program: t.program.0,
            erase: t.erase.0,
            read_command: t.read_command.0,
            program_command: t.program_command.0,
            erase_command: t.erase_command.0,
            page,
            moved_page: if spec.gc.copy_back { 0 } else { 2 * page },
            summary_bus: summary.map_or(0, |bytes| t.bus.time_of(bytes.0)),
            summary_cell: summary.map_or(0, |_| t.program.0),
            link: t.host_link.time_of(g.page_bytes.0) + t.host_link_command.0,
            link_command: t.host_link_per_command.0,
        }
    }

    /// Transfers and program command of one moved page, without its earlier read command.
    pub(crate) fn move_bus(&self, filled: bool) -> Nanos {
        self.moved_page + self.program_command + if filled { self.summary_bus } else { 0 }
    }

    /// The programs for one moved page.
    pub(crate) fn move_program(&self, filled: bool) -> Nanos {
        self.program + if filled { self.summary_cell } else { 0 }
    }
}
