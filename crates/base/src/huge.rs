//! Flat arrays of zeroes for device state: page maps, reverse maps, counters.
//!
//! A 512 GiB device has half a gigabyte of page map. Ordinary memory would provide it in 4 KiB pages, each with a page
//! fault and a TLB entry of its own. So large arrays are anonymous mappings advised to use huge pages, which are zeroed
//! and cost nothing until they are touched. Small arrays get a `Vec`, and so do all arrays on machines that refuse
//! mappings.

use std::fmt;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

/// Arrays from this size on are mapped; below it the allocator is as good.
const MAPPED_FROM_BYTES: usize = 4 << 20;

/// A fixed-length array of integers, all zero at first, in huge pages where these help.
///
/// It dereferences to a slice. In a tight loop take the slice once: each dereference costs a few
/// instructions.
pub struct Huge<T> {
    place: Backing<T>,
}

enum Backing<T> {
    Owned(Vec<T>),
    Mapped(MmapMut),
}

impl<T: Pod> Huge<T> {
    /// An array of `length` zeroes.
    ///
    /// # Panics
    /// If the array would be larger than the address space.
    pub fn zeroed(length: usize) -> Self {
        let bytes = length.checked_mul(size_of::<T>()).expect("an array larger than the address space");
        let mapped = if bytes >= MAPPED_FROM_BYTES { map(bytes) } else { None };
        let place = match mapped {
            Some(map) => Backing::Mapped(map),
            None => Backing::Owned(vec![T::zeroed(); length]),
        };
        Self { place }
    }

    /// Bytes of address space that the array takes. Memory is allocated as it is touched.
    pub fn bytes(&self) -> usize {
        size_of_val::<[T]>(self)
    }

    /// Whether the array is a separate mapping, rather than a `Vec`.
    pub fn is_mapped(&self) -> bool {
        matches!(self.place, Backing::Mapped(_))
    }
}

fn map(bytes: usize) -> Option<MmapMut> {
    let map = MmapMut::map_anon(bytes).ok()?;
    // Advice only: without huge pages the array is slower, not wrong.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    Some(map)
}

impl<T: Pod> Deref for Huge<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.place {
            Backing::Owned(values) => values,
            Backing::Mapped(map) => bytemuck::cast_slice(map),
        }
    }
}

impl<T: Pod> DerefMut for Huge<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.place {
            Backing::Owned(values) => values,
            Backing::Mapped(map) => bytemuck::cast_slice_mut(map),
        }
    }
}

impl<T: Pod> Clone for Huge<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.len());
        copy.copy_from_slice(self);
        copy
    }
}

impl<T: Pod> fmt::Debug for Huge<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Huge").field("len", &self.len()).field("is_mapped", &self.is_mapped()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds_what_is_written<T: Pod + PartialEq + fmt::Debug>(length: usize, value: impl Fn(usize) -> T) {
        let mut array = Huge::<T>::zeroed(length);
        assert_eq!(array.len(), length);
        assert_eq!(array.bytes(), length * size_of::<T>());
        assert!(array.iter().all(|member| *member == T::zeroed()));
        array.iter_mut().enumerate().for_each(|(index, member)| *member = value(index));
        let copy = array.clone();
        array.fill(T::zeroed());
        assert!(copy.iter().enumerate().all(|(index, member)| *member == value(index)));
    }

    #[test]
    fn arrays_of_every_width_start_as_zeroes_and_hold_written_data() {
        for bytes in [0, 24, MAPPED_FROM_BYTES - 8, MAPPED_FROM_BYTES, MAPPED_FROM_BYTES + 8, 9_000_008] {
            holds_what_is_written(bytes / 2, |index| index as u16);
            holds_what_is_written(bytes / 4, |index| !(index as u32));
            holds_what_is_written(bytes / 8, |index| (index as u64) << 33);
        }
    }

    #[test]
    fn small_arrays_are_owned_and_large_ones_mapped() {
        assert!(!Huge::<u64>::zeroed(MAPPED_FROM_BYTES / 8 - 1).is_mapped());
        assert!(Huge::<u64>::zeroed(MAPPED_FROM_BYTES / 8).is_mapped());
    }
}
