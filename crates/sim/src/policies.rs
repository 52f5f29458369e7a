//! The policies that the user of a program gives.

use stripewise_array::cache::CachePolicy;
use stripewise_array::dispatch::QueueOrder;
use stripewise_array::hotness::HotnessPolicy;
use stripewise_array::placement::SegmentVictim;
use stripewise_array::read::ReadPolicy;
use stripewise_array::update::Update;
use stripewise_array::{Scheme, custom};
use stripewise_flash::spec::Victim;
use stripewise_flash::{ChooseBlock, DeviceSpec};

use crate::updates::Chooser;

/// The policies that the caller gives for the axes that a scheme and a device leave to the user.
#[derive(Default)]
pub struct Policies<'a> {
    /// Routines of parity updates.
    pub update: Option<&'a mut dyn Chooser>,
    /// The other axes of the controller.
    pub array: custom::Policies,
    /// Victims of device GC.
    pub block: Option<Box<dyn ChooseBlock>>,
}

impl Policies<'_> {
    /// The key of the first choice that a scheme or a device leaves to the user and that has no policy here.
    pub(crate) fn missing(&self, scheme: &Scheme, device: &DeviceSpec) -> Option<&'static str> {
        let custom::Policies { read, order, destage, segment, hotness } = &self.array;
        let keys = [
            ("update.policy", scheme.update == (Update::Custom {}) && self.update.is_none()),
            ("read.policy", scheme.read.policy == ReadPolicy::Custom && read.is_none()),
            ("dispatch.order", scheme.dispatch.order == QueueOrder::Custom && order.is_none()),
            ("cache.policy", scheme.cache.policy == CachePolicy::Custom && destage.is_none()),
            ("elastic.victim", scheme.elastic.victim == SegmentVictim::Custom && segment.is_none()),
            ("hotness.policy", scheme.hotness.policy == HotnessPolicy::Custom && hotness.is_none()),
            ("device.gc.victim", device.gc.victim == Victim::Custom && self.block.is_none()),
        ];
        keys.into_iter().find(|key| key.1).map(|key| key.0)
    }
}
