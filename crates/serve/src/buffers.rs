//! Reusable payload buffers: after warm-up, a request needs no allocation and no clearing.

use stripewise_engine::Payload;

/// Bytes of all kept buffers. Further buffers are returned to the system.
const KEPT_BYTES_MAX: usize = 64 << 20;
/// Smallest buffer.
const SMALLEST: usize = 4096;
/// Sizes: powers of two from [`SMALLEST`] to 64 MiB.
const CLASSES: usize = 15;

/// Free buffers by size.
#[derive(Debug)]
pub(crate) struct Buffers {
    free: [Vec<Payload>; CLASSES],
    kept_bytes: usize,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self { free: std::array::from_fn(|_| Vec::new()), kept_bytes: 0 }
    }

    /// A buffer of `bytes`. Its content is undefined.
    pub(crate) fn take(&mut self, bytes: usize) -> Payload {
        let class = class_of(bytes);
        let Some(mut buffer) = self.free.get_mut(class).and_then(Vec::pop) else {
            let mut buffer = Payload::zeroed(size_of_class(class).max(bytes));
            buffer.truncate(bytes);
            return buffer;
        };
        self.kept_bytes -= buffer.capacity();
        buffer.resize(bytes, 0);
        buffer
    }

    /// Keeps a buffer for reuse.
    pub(crate) fn give_back(&mut self, buffer: Payload) {
        let bytes = buffer.capacity();
        let class = class_of(bytes);
        // A buffer that was split has another size, and fits no class.
        let is_whole = class < CLASSES && bytes == size_of_class(class);
        if is_whole && self.kept_bytes + bytes <= KEPT_BYTES_MAX {
            self.kept_bytes += bytes;
            self.free[class].push(buffer);
        }
    }
}

fn class_of(bytes: usize) -> usize {
    (bytes.next_power_of_two().max(SMALLEST) / SMALLEST).trailing_zeros() as usize
}

fn size_of_class(class: usize) -> usize {
    SMALLEST << class
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_came_back_is_used_again_for_its_size() {
        let mut buffers = Buffers::new();
        let first = buffers.take(4096);
        let at = first.as_ptr();
        buffers.give_back(first);
        assert_ne!(buffers.take(8192).as_ptr(), at, "it is too short for that");
        let again = buffers.take(512);
        assert_eq!((again.as_ptr(), again.len()), (at, 512));
        buffers.give_back(again);
        assert_eq!(buffers.take(4096).len(), 4096);
    }

    #[test]
    fn the_number_of_kept_buffers_is_bounded() {
        let mut buffers = Buffers::new();
        let taken: Vec<_> = (0..5).map(|_| buffers.take(32 << 20)).collect();
        taken.into_iter().for_each(|buffer| buffers.give_back(buffer));
        assert_eq!(buffers.kept_bytes, KEPT_BYTES_MAX);
        assert_eq!(buffers.take(100 << 20).len(), 100 << 20, "longer than any class");
    }
}
