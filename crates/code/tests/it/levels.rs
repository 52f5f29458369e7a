//! Every level of kernels, compared with the definition of the code: over lengths, alignments and widths, without
//! touching a byte beside the members.

use proptest::prelude::*;
use stripewise_code::{Code, Kind, Level, UnknownLevel, Unsupported, XCode};

use crate::oracle::{decodes_every_loss, parity};

/// Bytes before and after each member in its buffer.
const MARGIN: usize = 70;
const UNTOUCHED: u8 = 0xA5;

fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|level| level.supported())
}

/// Lengths around the vectors and blocks of kernels, and around a page.
fn length() -> impl Strategy<Value = usize> {
    let near = |around: usize| around.saturating_sub(2)..around + 3;
    prop_oneof![
        0..200usize,
        prop::sample::select(vec![8, 16, 32, 64, 128, 256, 512, 1024]).prop_flat_map(near),
        4000..4200usize,
        8150..8250usize,
    ]
}

/// A code with a valid length.
fn code() -> impl Strategy<Value = (Code, usize)> {
    let plain = (prop::sample::select(vec![Kind::Xor, Kind::Pq]), 1..=62u32, Just(None));
    let by_prime = (prop::sample::select(vec![Kind::Rdp, Kind::Evenodd]), 1..=16u32, Just(Some(17)));
    (prop_oneof![plain, by_prime], length()).prop_map(|((kind, data, prime), length)| {
        let code = Code::new(kind, data, prime).expect("it fits");
        (code, length.next_multiple_of(code.granularity() as usize))
    })
}

/// Members that begin at any alignment in buffers of their own.
struct Shape {
    buffers: Vec<Vec<u8>>,
    offsets: Vec<usize>,
    length: usize,
}

impl Shape {
    fn new(members: &[Vec<u8>], offsets: &[usize]) -> Self {
        let length = members.first().map_or(0, Vec::len);
        let placed = |(member, &offset): (&Vec<u8>, &usize)| {
            let mut buffer = vec![UNTOUCHED; length + 2 * MARGIN];
            buffer[offset..offset + length].copy_from_slice(member);
            buffer
        };
        let offsets: Vec<usize> = offsets.iter().cycle().take(members.len()).copied().collect();
        Self { buffers: members.iter().zip(&offsets).map(placed).collect(), offsets, length }
    }

    fn get(&self) -> Vec<&[u8]> {
        self.buffers.iter().zip(&self.offsets).map(|(buffer, &at)| &buffer[at..at + self.length]).collect()
    }

    fn get_mut(&mut self) -> Vec<&mut [u8]> {
        let members = self.buffers.iter_mut().zip(&self.offsets);
        members.map(|(buffer, &at)| &mut buffer[at..at + self.length]).collect()
    }

    /// Whether the members are equal to `members`, and no byte beside them was touched.
    fn is(&self, members: &[Vec<u8>]) -> bool {
        self.buffers == Self::new(members, &self.offsets).buffers
    }
}

fn bytes(seed: u64, count: usize, length: usize) -> Vec<Vec<u8>> {
    (0..count as u64)
        .map(|member| crate::oracle::noise(seed.wrapping_add(member * 0x1_0001), length))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn every_level_encodes_as_the_definition_says(
        (code, length) in code(),
        offsets in prop::collection::vec(0..MARGIN, 1..9),
        seed in any::<u64>(),
    ) {
        let data = bytes(seed, code.data() as usize, length);
        let expected = parity(&code, &data);
        let sources = Shape::new(&data, &offsets);
        for level in levels() {
            let mut parities = Shape::new(&bytes(!seed, expected.len(), length), &offsets[offsets.len() / 2..]);
            let code = code.with_level(level).expect("it is supported");
            code.encode(&sources.get(), &mut parities.get_mut());
            prop_assert!(parities.is(&expected), "{level}: {code:?}, {length} bytes");
        }
    }

    #[test]
    fn every_level_updates_as_the_definition_says(
        (code, length) in code(),
        offsets in prop::collection::vec(0..MARGIN, 1..4),
        seed in any::<u64>(),
        index in any::<prop::sample::Index>(),
    ) {
        let index = index.index(code.data() as usize);
        let mut changes = vec![vec![0; length]; code.data() as usize];
        changes[index] = crate::oracle::noise(seed, length);
        let before = bytes(!seed, code.parity() as usize, length);
        let change = parity(&code, &changes);
        let sum = |(old, change): (&Vec<u8>, &Vec<u8>)| old.iter().zip(change).map(|(a, b)| a ^ b).collect();
        let expected: Vec<Vec<u8>> = before.iter().zip(&change).map(sum).collect();
        let sources = Shape::new(&changes, &offsets);
        for level in levels() {
            let mut parities = Shape::new(&before, &offsets[offsets.len() / 2..]);
            let code = code.with_level(level).expect("it is supported");
            code.update(index as u32, sources.get()[index], &mut parities.get_mut());
            prop_assert!(parities.is(&expected), "{level}: {code:?}, member {index}, {length} bytes");
        }
    }

    #[test]
    fn every_level_decodes_what_was_encoded(
        (code, length) in code(),
        offsets in prop::collection::vec(0..MARGIN, 1..9),
        seed in any::<u64>(),
        losses in any::<[prop::sample::Index; 2]>(),
    ) {
        let data = bytes(seed, code.data() as usize, length);
        let whole: Vec<Vec<u8>> = data.iter().cloned().chain(parity(&code, &data)).collect();
        let losses = losses.map(|loss| loss.index(whole.len()));
        let lost = losses[..code.parity() as usize].iter().fold(0u64, |lost, index| lost | 1 << index);
        let mut damaged = whole.clone();
        let is_lost = |(index, _): &(usize, &mut Vec<u8>)| lost >> index & 1 != 0;
        damaged.iter_mut().enumerate().filter(is_lost).for_each(|(_, member)| member.fill(0x5A));
        for level in levels() {
            let mut row = Shape::new(&damaged, &offsets);
            let code = code.with_level(level).expect("it is supported");
            code.decode(&mut row.get_mut(), lost, lost).expect("the code bears it");
            prop_assert!(row.is(&whole), "{level}: {code:?}, lost {lost:b}, {length} bytes");
        }
    }

    #[test]
    fn every_level_encodes_and_decodes_x_code(
        prime in prop::sample::select(vec![5u32, 7, 11, 13]),
        part in 0..150usize,
        offsets in prop::collection::vec(0..MARGIN, 1..9),
        seed in any::<u64>(),
        losses in any::<[prop::sample::Index; 2]>(),
    ) {
        let mut whole = bytes(seed, prime as usize, part * prime as usize);
        crate::oracle::x_code(prime as usize, &mut whole);
        let losses = losses.map(|loss| loss.index(whole.len()));
        let mut damaged = whole.clone();
        losses.iter().for_each(|&lost| damaged[lost].fill(0x5A));
        for level in levels() {
            let mut row = Shape::new(&damaged, &offsets);
            let code = XCode::new(prime).expect("a prime").with_level(level).expect("it is supported");
            code.decode(&mut row.get_mut(), 1 << losses[0] | 1 << losses[1]).expect("the code bears it");
            prop_assert!(row.is(&whole), "{level}: prime {prime}, lost {losses:?}, parts of {part} bytes");
            code.encode(&mut row.get_mut());
            prop_assert!(row.is(&whole), "{level}: prime {prime}, parts of {part} bytes");
        }
    }
}

#[test]
fn every_level_decodes_every_loss_of_p_and_q_for_every_width() {
    for level in levels() {
        for data in 1..=62 {
            let code = Code::new(Kind::Pq, data, None).map(|code| code.with_level(level));
            decodes_every_loss(&code.expect("it fits").expect("it is supported"), 67);
        }
    }
}

#[test]
fn the_best_level_is_used_unless_one_is_forced() {
    assert!(Level::detect().supported());
    assert_eq!(Level::current(), Level::detect());
    assert_eq!(Level::detect().force(), Ok(()));
    assert_eq!(Level::current(), Level::detect());
    assert!(Level::Portable.supported());
}

#[test]
fn what_the_processor_lacks_is_refused() {
    let code = Code::new(Kind::Xor, 2, None).expect("it fits");
    for level in Level::ALL.into_iter().filter(|level| !level.supported()) {
        assert_eq!(level.force(), Err(Unsupported(level)));
        assert_eq!(code.with_level(level), Err(Unsupported(level)));
    }
}

#[test]
fn levels_are_named() {
    for level in Level::ALL {
        assert_eq!(level.to_string().parse(), Ok(level));
    }
    assert_eq!("sse9".parse::<Level>(), Err(UnknownLevel("sse9".into())));
}
