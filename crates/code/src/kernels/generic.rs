//! The kernels, written once over [`Vector`]: blocks of several vectors, then single ones, then words, then bytes.
//!
//! Q is computed by Horner's rule from the last member to the first, one doubling a member, as in Anvin, "The
//! mathematics of RAID-6".

use super::portable::Byte;

/// The bytes that an operation processes at once.
///
/// A value exists only where the processor has the instructions that its type needs: the code that makes one, by
/// `zero`, `load` or `factor`, guarantees that.
pub(super) trait Vector: Copy {
    /// Bytes in it.
    const BYTES: usize;
    /// A constant of the field, prepared for `multiply`.
    type Factor: Copy;

    /// # Safety
    /// The processor has the instructions that this type needs.
    unsafe fn zero() -> Self;
    /// # Safety
    /// As `zero`; [`Self::BYTES`] at `from` may be read, at any alignment.
    unsafe fn load(from: *const u8) -> Self;
    /// # Safety
    /// As `zero`.
    unsafe fn factor(value: u8) -> Self::Factor;
    /// # Safety
    /// [`Self::BYTES`] at `to` may be written, at any alignment.
    unsafe fn store(self, to: *mut u8);
    /// The sum.
    fn xor(self, other: Self) -> Self;
    /// Each byte times the generator.
    fn double(self) -> Self;
    /// Each byte times a constant.
    fn multiply(self, factor: Self::Factor) -> Self;
}

/// `N` vectors from `from` on.
///
/// # Safety
/// The processor has the instructions of `V`; `N * V::BYTES` at `from` may be read.
#[inline(always)]
unsafe fn load<V: Vector, const N: usize>(from: *const u8) -> [V; N] {
    // SAFETY: as the caller guarantees.
    unsafe {
        let mut vectors = [V::zero(); N];
        for (i, vector) in vectors.iter_mut().enumerate() {
            *vector = V::load(from.add(i * V::BYTES));
        }
        vectors
    }
}

/// # Safety
/// `N * V::BYTES` at `to` may be written.
#[inline(always)]
unsafe fn store<V: Vector, const N: usize>(vectors: [V; N], to: *mut u8) {
    for (i, vector) in vectors.into_iter().enumerate() {
        // SAFETY: as the caller guarantees.
        unsafe { vector.store(to.add(i * V::BYTES)) };
    }
}

#[inline(always)]
fn add<V: Vector, const N: usize>(sum: &mut [V; N], other: [V; N]) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum = sum.xor(other);
    }
}

/// Horner's step: `sum` times the generator, plus `other`.
#[inline(always)]
fn double_add<V: Vector, const N: usize>(sum: &mut [V; N], other: [V; N]) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum = sum.double().xor(other);
    }
}

#[inline(always)]
fn multiply<V: Vector, const N: usize>(mut vectors: [V; N], factor: V::Factor) -> [V; N] {
    for vector in &mut vectors {
        *vector = vector.multiply(factor);
    }
    vectors
}

/// The ends of members, which pages do not have: kept out of the fast path.
#[cold]
#[inline(never)]
fn rest(work: impl FnOnce()) {
    work();
}

/// Calls `$part` for blocks of `N` vectors, then single vectors, then words, then bytes; each begins where the one
/// before it ended.
macro_rules! in_parts {
    ($part:ident, $V:ty, $N:expr, ($($argument:expr),*), $length:expr $(, $more:tt)?) => {{
        let at = $part::<$V, $N $(, $more)?>($($argument,)* 0, $length);
        let at = $part::<$V, 1 $(, $more)?>($($argument,)* at, $length);
        if at < $length {
            rest(|| {
                let at = $part::<u64, 1 $(, $more)?>($($argument,)* at, $length);
                $part::<Byte, 1 $(, $more)?>($($argument,)* at, $length);
            });
        }
    }};
}

/// `target` becomes the sum of `sources`; with `ADD` the sum is added to it. A step takes `N` vectors.
///
/// # Safety
/// The processor has the instructions of `V`; `length` bytes of each source may be read, and of the target written.
#[inline(always)]
pub(super) unsafe fn xor<V: Vector, const N: usize, const ADD: bool>(
    target: *mut u8,
    sources: &[*const u8],
    length: usize,
) {
    // SAFETY: as the caller guarantees.
    unsafe { in_parts!(xor_part, V, N, (target, sources), length, ADD) }
}

/// # Safety
/// As [`xor`], from byte `at` on.
#[inline(always)]
unsafe fn xor_part<V: Vector, const N: usize, const ADD: bool>(
    target: *mut u8,
    sources: &[*const u8],
    mut at: usize,
    length: usize,
) -> usize {
    while at + N * V::BYTES <= length {
        // SAFETY: the step ends before `length`.
        unsafe {
            let mut sum = if ADD { load::<V, N>(target.add(at)) } else { [V::zero(); N] };
            for source in sources {
                add(&mut sum, load(source.add(at)));
            }
            store(sum, target.add(at));
        }
        at += N * V::BYTES;
    }
    at
}

/// P and Q of `data`.
///
/// # Safety
/// The processor has the instructions of `V`; `length` bytes of each of `data` may be read, and of `p` and `q` written.
#[inline(always)]
pub(super) unsafe fn pq<V: Vector, const N: usize>(
    p: *mut u8,
    q: *mut u8,
    data: &[*const u8],
    length: usize,
) {
    // SAFETY: as the caller guarantees.
    unsafe { in_parts!(pq_part, V, N, (p, q, data), length) }
}

/// # Safety
/// As [`pq`], from byte `at` on.
#[inline(always)]
unsafe fn pq_part<V: Vector, const N: usize>(
    p: *mut u8,
    q: *mut u8,
    data: &[*const u8],
    mut at: usize,
    length: usize,
) -> usize {
    while at + N * V::BYTES <= length {
        // SAFETY: the step ends before `length`.
        unsafe {
            let (mut p_sum, mut q_sum) = ([V::zero(); N], [V::zero(); N]);
            for source in data.iter().rev() {
                let bytes = load(source.add(at));
                add(&mut p_sum, bytes);
                double_add(&mut q_sum, bytes);
            }
            store(p_sum, p.add(at));
            store(q_sum, q.add(at));
        }
        at += N * V::BYTES;
    }
    at
}

/// Adds `change` to `p`, and `factor` times `change` to `q`.
///
/// # Safety
/// The processor has the instructions of `V`; `length` bytes of `change` may be read, of `p` and `q` written.
#[inline(always)]
pub(super) unsafe fn pq_add<V: Vector, const N: usize>(
    p: *mut u8,
    q: *mut u8,
    change: *const u8,
    length: usize,
    factor: u8,
) {
    // SAFETY: as the caller guarantees.
    unsafe { in_parts!(pq_add_part, V, N, (p, q, change, factor), length) }
}

/// # Safety
/// As [`pq_add`], from byte `at` on.
#[inline(always)]
unsafe fn pq_add_part<V: Vector, const N: usize>(
    p: *mut u8,
    q: *mut u8,
    change: *const u8,
    factor: u8,
    mut at: usize,
    length: usize,
) -> usize {
    // SAFETY: as the caller guarantees.
    let factor = unsafe { V::factor(factor) };
    while at + N * V::BYTES <= length {
        // SAFETY: the step ends before `length`.
        unsafe {
            let bytes = load::<V, N>(change.add(at));
            let (mut p_sum, mut q_sum) = (load(p.add(at)), load(q.add(at)));
            add(&mut p_sum, bytes);
            add(&mut q_sum, multiply(bytes, factor));
            store(p_sum, p.add(at));
            store(q_sum, q.add(at));
        }
        at += N * V::BYTES;
    }
    at
}

/// Computes each of `targets` from the syndromes of P and Q by its two `factors`. A null pointer is a missing member.
///
/// # Safety
/// The processor has the instructions of `V`; `length` bytes of each non-null source may be read, and of the targets
/// written.
#[inline(always)]
pub(super) unsafe fn solve<V: Vector, const N: usize, const M: usize>(
    targets: [*mut u8; M],
    factors: [[u8; 2]; M],
    data: &[*const u8],
    p: *const u8,
    q: *const u8,
    length: usize,
) {
    // SAFETY: as the caller guarantees.
    unsafe { in_parts!(solve_part, V, N, (targets, factors, data, p, q), length, M) }
}

/// # Safety
/// As [`solve`], from byte `at` on.
#[inline(always)]
unsafe fn solve_part<V: Vector, const N: usize, const M: usize>(
    targets: [*mut u8; M],
    factors: [[u8; 2]; M],
    data: &[*const u8],
    p: *const u8,
    q: *const u8,
    mut at: usize,
    length: usize,
) -> usize {
    // SAFETY: as the caller guarantees.
    let factors = factors.map(|[p, q]| unsafe { [V::factor(p), V::factor(q)] });
    while at + N * V::BYTES <= length {
        // SAFETY: the step ends before `length`, and null pointers are not read.
        unsafe {
            let (mut p_sum, mut q_sum) = ([V::zero(); N], [V::zero(); N]);
            for source in data.iter().rev() {
                let bytes = if source.is_null() { [V::zero(); N] } else { load(source.add(at)) };
                add(&mut p_sum, bytes);
                double_add(&mut q_sum, bytes);
            }
            if !p.is_null() {
                add(&mut p_sum, load(p.add(at)));
            }
            if !q.is_null() {
                add(&mut q_sum, load(q.add(at)));
            }
            for (target, [of_p, of_q]) in targets.into_iter().zip(factors) {
                let mut sum = multiply(p_sum, of_p);
                add(&mut sum, multiply(q_sum, of_q));
                store(sum, target.add(at));
            }
        }
        at += N * V::BYTES;
    }
    at
}
