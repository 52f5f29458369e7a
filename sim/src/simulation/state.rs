//! What the flash tells of its elements.

use stripewise_array::update::ElementState;
use stripewise_base::Nanos;
use stripewise_flash::{Flash, Media};

/// What the flash tells of its elements at an instant.
pub(super) struct State<'a, C> {
    pub(super) flash: &'a Flash<C>,
    pub(super) now: Nanos,
}

impl<C: Media> ElementState for State<'_, C> {
    #[inline]
    fn gc_average_ns(&self, element: u16) -> Nanos {
        let element = u32::from(element);
        if self.flash.is_collecting(element) { self.flash.gc_average_ns(element) } else { 0 }
    }

    #[inline]
    fn gc_remaining_ns(&self, element: u16) -> Nanos {
        self.flash.gc_remaining_ns(self.now, element.into())
    }

    #[inline]
    fn read_ns(&self, element: u16, page: u32, _old_version: bool) -> Option<Nanos> {
        Some(self.flash.read_ns(element.into(), page))
    }

    fn gc_wait_ns(&self, element: u16, page: u32) -> Option<Nanos> {
        Some(self.flash.gc_wait_ns(self.now, element.into(), page))
    }

    fn start_ns(&self, element: u16, page: u32) -> Option<Nanos> {
        Some(self.flash.start_ns(self.now, element.into(), page))
    }

    fn write_ns(&self, _element: u16) -> Option<Nanos> {
        Some(self.flash.program_ns())
    }

    fn gc_active(&self, element: u16) -> Option<bool> {
        Some(self.flash.is_collecting(element.into()))
    }
}
