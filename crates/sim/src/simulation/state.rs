//! State that the flash reports of its members.

use stripewise_array::MemberLoad;
use stripewise_array::MemberNo;
use stripewise_base::Nanos;
use stripewise_flash::{Flash, Media};

/// State that the flash reports of its members at one time.
pub(super) struct State<'a, C> {
    pub(super) flash: &'a Flash<C>,
    pub(super) now: Nanos,
}

impl<C: Media> MemberLoad for State<'_, C> {
    #[inline]
    fn gc_average_ns(&self, member: MemberNo) -> Nanos {
        let member = u32::from(member.number());
        if self.flash.is_collecting(member) { self.flash.gc_average_ns(member) } else { 0 }
    }

    #[inline]
    fn gc_remaining_ns(&self, member: MemberNo) -> Nanos {
        self.flash.gc_remaining_ns(self.now, member.number().into())
    }

    #[inline]
    fn read_ns(&self, member: MemberNo, page: u32, _old_version: bool) -> Option<Nanos> {
        Some(self.flash.read_ns(member.number().into(), page))
    }

    fn gc_wait_ns(&self, member: MemberNo, page: u32) -> Option<Nanos> {
        Some(self.flash.gc_wait_ns(self.now, member.number().into(), page))
    }

    fn start_ns(&self, member: MemberNo, page: u32) -> Option<Nanos> {
        Some(self.flash.start_ns(self.now, member.number().into(), page))
    }

    fn write_ns(&self, _member: MemberNo) -> Option<Nanos> {
        Some(self.flash.program_ns())
    }

    fn gc_active(&self, member: MemberNo) -> Option<bool> {
        Some(self.flash.is_collecting(member.number().into()))
    }
}
