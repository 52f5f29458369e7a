//! Loops over the bytes of members: one pass over memory, in the widest vectors of the processor.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Deref;

/// The kernels for one type of vector, `$N` of them in a step, compiled for the instructions of `$feature`.
macro_rules! instances {
    ($V:ty, $N:literal $(, #[$feature:meta])?) => {
        $(#[$feature])?
        // SAFETY: the caller fulfils the requirements of `generic::xor`.
        pub(super) unsafe fn xor_of(target: *mut u8, sources: &[*const u8], length: usize) {
            // SAFETY: as the caller guarantees.
            unsafe { generic::xor::<$V, { 2 * $N }, false>(target, sources, length) }
        }
        $(#[$feature])?
        // SAFETY: the caller fulfils the requirements of `generic::xor`.
        pub(super) unsafe fn xor_add(target: *mut u8, sources: &[*const u8], length: usize) {
            // SAFETY: as the caller guarantees.
            unsafe { generic::xor::<$V, $N, true>(target, sources, length) }
        }
        $(#[$feature])?
        // SAFETY: the caller fulfils the requirements of `generic::pq`.
        pub(super) unsafe fn pq_of(p: *mut u8, q: *mut u8, data: &[*const u8], length: usize) {
            // SAFETY: as the caller guarantees.
            unsafe { generic::pq::<$V, $N>(p, q, data, length) }
        }
        $(#[$feature])?
        // SAFETY: the caller fulfils the requirements of `generic::pq_add`.
        pub(super) unsafe fn pq_add(p: *mut u8, q: *mut u8, change: *const u8, length: usize, factor: u8) {
            // SAFETY: as the caller guarantees.
            unsafe { generic::pq_add::<$V, $N>(p, q, change, length, factor) }
        }
        $(#[$feature])?
        // SAFETY: the caller fulfils the requirements of `generic::solve`.
        pub(super) unsafe fn solve<const M: usize>(
            targets: [*mut u8; M],
            factors: [[u8; 2]; M],
            data: &[*const u8],
            p: *const u8,
            q: *const u8,
            length: usize,
        ) {
            // SAFETY: as the caller guarantees.
            unsafe { generic::solve::<$V, $N, M>(targets, factors, data, p, q, length) }
        }
    };
}
use instances;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod generic;
mod level;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

pub use level::{Level, UnknownLevel, Unsupported};

/// Calls the kernel of a level.
macro_rules! dispatch {
    ($kernels:expr, $kernel:ident($($argument:expr),* $(,)?)) => {
        match $kernels.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => avx512::$kernel($($argument),*),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => avx2::$kernel($($argument),*),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => neon::$kernel($($argument),*),
            _ => portable::$kernel($($argument),*),
        }
    };
}

/// A row has at most this many members, since masks of members are 64 bits.
pub(crate) const COLUMNS_MAX: usize = 64;

/// An output of [`pq_solve`]: the syndromes of P and of Q, each times its factor.
pub(crate) struct Output<'a> {
    pub(crate) factors: [u8; 2],
    pub(crate) bytes: &'a mut [u8],
}

const ONE_LENGTH: &str = "members of a stripe have one length";

/// Room on the stack for the addresses of members.
type Places = [MaybeUninit<*const u8>; COLUMNS_MAX];
const NO_PLACES: Places = [const { MaybeUninit::uninit() }; COLUMNS_MAX];

/// The first `count` places.
///
/// # Safety
/// These places are initialized.
#[inline(always)]
unsafe fn written(places: &Places, count: usize) -> &[*const u8] {
    // SAFETY: as the caller guarantees, and `MaybeUninit<T>` has the layout of `T`.
    unsafe { std::slice::from_raw_parts(places[..count].as_ptr().cast(), count) }
}

/// The addresses of the next `sources`, as many as fit.
#[inline(always)]
fn addresses<'a, 'p>(
    places: &'p mut Places,
    sources: &mut impl Iterator<Item = &'a [u8]>,
    length: usize,
) -> &'p [*const u8] {
    let mut count = 0;
    for (place, source) in places.iter_mut().zip(sources) {
        assert_eq!(source.len(), length, "{ONE_LENGTH}");
        place.write(source.as_ptr());
        count += 1;
    }
    // SAFETY: `count` places were written.
    unsafe { written(places, count) }
}

/// The addresses of `members`, null for missing ones, which are empty.
#[inline(always)]
fn addresses_or_null<'p, S: Deref<Target = [u8]>>(
    places: &'p mut Places,
    members: &[S],
    length: usize,
) -> &'p [*const u8] {
    assert!(members.len() <= COLUMNS_MAX, "a row has at most {COLUMNS_MAX} members");
    for (place, member) in places.iter_mut().zip(members) {
        assert!(member.is_empty() || member.len() == length, "{ONE_LENGTH}");
        place.write(if member.is_empty() { std::ptr::null() } else { member.as_ptr() });
    }
    // SAFETY: `members.len()` places were written, as there is room for all.
    unsafe { written(places, members.len()) }
}

/// The kernels of a level that the processor supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernels(Level);

impl Kernels {
    /// The kernels of `level`, if the processor supports it.
    pub(crate) fn of(level: Level) -> Result<Self, Unsupported> {
        if level.supported() { Ok(Self(level)) } else { Err(Unsupported(level)) }
    }

    /// The kernels of [`Level::current`].
    pub(crate) fn current() -> Self {
        Self(Level::current())
    }

    /// `target` becomes the sum of `sources`, zero if there are none.
    #[inline]
    pub(crate) fn xor_of<'a>(self, target: &mut [u8], sources: impl IntoIterator<Item = &'a [u8]>) {
        let (mut sources, mut places) = (sources.into_iter(), NO_PLACES);
        let sources_now = addresses(&mut places, &mut sources, target.len());
        // SAFETY: every source has the target's length, and the processor supports the level.
        unsafe { dispatch!(self, xor_of(target.as_mut_ptr(), sources_now, target.len())) };
        if sources_now.len() == COLUMNS_MAX {
            self.xor_add(target, sources);
        }
    }

    /// Member `index` becomes the sum of the others.
    pub(crate) fn xor_of_others(self, members: &mut [&mut [u8]], index: usize) {
        assert!(members.len() <= COLUMNS_MAX, "a row has at most {COLUMNS_MAX} members");
        let target = std::mem::take(&mut members[index]);
        let (mut places, mut count, length) = (NO_PLACES, 0, target.len());
        for (other, member) in members.iter().enumerate() {
            assert!(member.len() == length || other == index, "{ONE_LENGTH}");
            places[count].write(member.as_ptr());
            count += usize::from(other != index);
        }
        // SAFETY: `count` places were written, each of the target's length; and the processor supports the level.
        unsafe { dispatch!(self, xor_of(target.as_mut_ptr(), written(&places, count), length)) };
        members[index] = target;
    }

    /// Adds the sum of `sources` to `target`.
    #[inline]
    pub(crate) fn xor_add<'a>(self, target: &mut [u8], sources: impl IntoIterator<Item = &'a [u8]>) {
        let (mut sources, mut places) = (sources.into_iter(), NO_PLACES);
        loop {
            let sources_now = addresses(&mut places, &mut sources, target.len());
            // SAFETY: every source has the target's length, and the processor supports the level.
            unsafe { dispatch!(self, xor_add(target.as_mut_ptr(), sources_now, target.len())) };
            if sources_now.len() < COLUMNS_MAX {
                return;
            }
        }
    }

    /// P and Q of `data`: `p` becomes the sum of all, `q` the sum of each times its power of the generator.
    pub(crate) fn pq_of(self, p: &mut [u8], q: &mut [u8], data: &[&[u8]]) {
        assert_eq!(p.len(), q.len(), "{ONE_LENGTH}");
        let mut places = NO_PLACES;
        let sources = addresses(&mut places, &mut data.iter().copied(), p.len());
        assert_eq!(sources.len(), data.len(), "a row has at most {COLUMNS_MAX} members");
        // SAFETY: every member has the length of P.
        unsafe { dispatch!(self, pq_of(p.as_mut_ptr(), q.as_mut_ptr(), sources, p.len())) };
    }

    /// Adds `change` to `p`, and `factor` times `change` to `q`.
    pub(crate) fn pq_add(self, p: &mut [u8], q: &mut [u8], change: &[u8], factor: u8) {
        assert!(p.len() == change.len() && q.len() == change.len(), "{ONE_LENGTH}");
        // SAFETY: the three have one length.
        unsafe {
            dispatch!(self, pq_add(p.as_mut_ptr(), q.as_mut_ptr(), change.as_ptr(), change.len(), factor))
        };
    }

    /// Computes `outputs` from the syndromes: that of P is the sum of `data` and `p`, that of Q the sum of `q` and of
    /// each of `data` times its power of the generator. Missing members among `data`, `p` and `q` are empty.
    pub(crate) fn pq_solve<S: Deref<Target = [u8]>, const M: usize>(
        self,
        mut outputs: [Output<'_>; M],
        data: &[S],
        p: &[u8],
        q: &[u8],
    ) {
        let length = outputs[0].bytes.len();
        assert!(outputs.iter().all(|output| output.bytes.len() == length), "{ONE_LENGTH}");
        let (mut places, mut parities) = (NO_PLACES, NO_PLACES);
        let data = addresses_or_null(&mut places, data, length);
        let parity = addresses_or_null(&mut parities, &[p, q], length);
        let (p, q) = (parity[0], parity[1]);
        let factors = std::array::from_fn(|index| outputs[index].factors);
        let targets = outputs.each_mut().map(|output| output.bytes.as_mut_ptr());
        // SAFETY: every address that is not null has the length of the outputs.
        unsafe { dispatch!(self, solve(targets, factors, data, p, q, length)) };
    }
}
