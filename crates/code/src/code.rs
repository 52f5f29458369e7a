//! One interface over all codes.

use serde::{Deserialize, Serialize};

use crate::cost::{self, Cost};
use crate::kernels::{COLUMNS_MAX, Kernels, Level, Unsupported};
use crate::{cells, evenodd, pq, rdp};

/// A parity code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Exclusive or: one parity, RAID-5.
    Xor,
    /// P+Q Reed-Solomon: two parities, byte-equal to those of Linux md's RAID-6.
    Pq,
    /// Row-diagonal parity: two parities by exclusive or alone.
    Rdp,
    /// EVENODD: two parities by exclusive or alone.
    Evenodd,
    /// X-Code: vertical, two parities by exclusive or inside the data members ([`crate::XCode`]). As a [`Code`], each
    /// part of each column is a member of its own.
    XCode,
}

impl Kind {
    /// Its name in schemes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xor => "xor",
            Self::Pq => "pq",
            Self::Rdp => "rdp",
            Self::Evenodd => "evenodd",
            Self::XCode => "x-code",
        }
    }

    /// Number of columns whose loss the code tolerates: that of its parity members, except for X-Code.
    pub fn parity(self) -> u32 {
        if self == Self::Xor { 1 } else { 2 }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Why a code cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// X-Code does not have this number of data cells.
    #[error(
        "x-code has stripes of 15 or 35 data chunks, those of 5 or 7 members, and {data} were asked for: its stripes are \
         as deep as they are wide, and one has at most 64 chunks"
    )]
    Vertical {
        /// The requested number.
        data: u32,
    },
    /// The code uses no prime.
    #[error("{0} takes no prime; leave `prime` out, or choose rdp or evenodd")]
    PrimeUnused(Kind),
    /// The given number is not an odd prime.
    #[error("{kind} needs an odd prime, and {prime} is none; 5, 17 and 257 suit pages of a power of two")]
    NotPrime {
        /// The code.
        kind: Kind,
        /// The given number.
        prime: u32,
    },
    /// X-Code does not support this number of columns.
    #[error("x-code takes a prime number of columns from 5 to {most}, and {prime} were asked for")]
    Columns {
        /// The requested number.
        prime: u32,
        /// Most columns.
        most: u32,
    },
    /// Too few or too many data members.
    #[error("{kind} takes 1 to {most} data members{}, and {data} were asked for", with_prime(*.prime))]
    Data {
        /// The code.
        kind: Kind,
        /// The requested number.
        data: u32,
        /// Most data members.
        most: u32,
        /// The prime, if the code has one.
        prime: Option<u32>,
    },
}

fn with_prime(prime: Option<u32>) -> String {
    prime.map_or_else(String::new, |prime| format!(" with prime {prime}"))
}

/// More members are lost than the code has parities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{lost} members are lost, and the code tolerates the loss of {parity}")]
pub struct TooManyLost {
    /// Members lost.
    pub lost: u32,
    /// Losses that the code tolerates.
    pub parity: u32,
}

/// A parity code over one row: `data` data members and `parity` parity members of equal length. X-Code counts each part of
/// its columns as a member.
///
/// A member is any number of bytes that is a multiple of [`Code::granularity`]; in the controller it is a page.
/// Members are numbered, data first: a mask's bit `n` is member `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    kind: Kind,
    data: u32,
    /// 0 if the code uses none.
    prime: u32,
    kernels: Kernels,
}

/// The primes to try by default: members of 16 and of 256 parts.
const PRIMES: [u32; 2] = [17, 257];

impl Code {
    /// The code of `data` members. `prime` applies to RDP (`data` below the prime) and EVENODD (`data` up to the
    /// prime). The default is 17 or, if that is too small, 257.
    pub fn new(kind: Kind, data: u32, prime: Option<u32>) -> Result<Self, CodeError> {
        let masked = COLUMNS_MAX as u32 - kind.parity();
        let most = |prime: u32| match kind {
            Kind::Rdp => masked.min(prime - 1),
            Kind::Evenodd => masked.min(prime),
            Kind::Xor | Kind::Pq | Kind::XCode => masked,
        };
        let prime = match (kind, prime) {
            (Kind::Xor | Kind::Pq | Kind::XCode, Some(_)) => return Err(CodeError::PrimeUnused(kind)),
            (Kind::XCode, None) => cells::prime_of(data).ok_or(CodeError::Vertical { data })?,
            (Kind::Xor | Kind::Pq, None) => 0,
            (_, Some(prime)) if !is_odd_prime(prime) => return Err(CodeError::NotPrime { kind, prime }),
            (_, Some(prime)) => prime,
            (_, None) => PRIMES.into_iter().find(|&prime| data <= most(prime)).unwrap_or(PRIMES[1]),
        };
        let most = if prime == 0 { masked } else { most(prime) };
        if data == 0 || data > most {
            return Err(CodeError::Data { kind, data, most, prime: (prime > 0).then_some(prime) });
        }
        Ok(Self { kind, data, prime, kernels: Kernels::current() })
    }

    /// The same code, at another level than [`Level::current`].
    pub fn with_level(self, level: Level) -> Result<Self, Unsupported> {
        Ok(Self { kernels: Kernels::of(level)?, ..self })
    }

    /// The kind of the code.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Data members.
    pub fn data(&self) -> u32 {
        self.data
    }

    /// Number of parity members: that of the erasures that the code tolerates, except for X-Code, which has two for each
    /// column.
    pub fn parity(&self) -> u32 {
        if self.kind == Kind::XCode { 2 * self.prime } else { self.kind.parity() }
    }

    /// The prime of RDP, EVENODD and X-Code.
    pub fn prime(&self) -> Option<u32> {
        (self.prime > 0).then_some(self.prime)
    }

    /// Parts of a member. The length of a member in bytes is a multiple of it: 1 for XOR, P+Q and X-Code, one less than
    /// the prime for RDP and EVENODD.
    pub fn granularity(&self) -> u32 {
        if self.kind == Kind::XCode { 1 } else { self.prime.saturating_sub(1).max(1) }
    }

    /// The cost of encoding, updating and decoding.
    pub fn cost(&self) -> Cost {
        cost::of(self)
    }

    /// The number of parity parts that depend on part `part` of data member `index`: its update cost.
    pub fn changes(&self, index: u32, part: u32) -> u32 {
        assert!(index < self.data && part < self.granularity(), "no part {part} of data member {index}");
        match self.kind {
            Kind::Xor => 1,
            Kind::Pq | Kind::XCode => 2,
            Kind::Rdp => rdp::changes(self.prime, index, part),
            Kind::Evenodd => evenodd::changes(self.prime, index, part),
        }
    }

    /// Computes every parity from all data.
    ///
    /// # Panics
    /// If the number of slices is not the number of members, or the slices do not have one length, a multiple of the
    /// granularity.
    pub fn encode(&self, data: &[&[u8]], parity: &mut [&mut [u8]]) {
        assert_eq!(data.len(), self.data as usize, "one slice for each data member");
        self.check(parity, parity[0].len());
        let kernels = self.kernels;
        match (self.kind, parity) {
            (Kind::Xor, [p]) => kernels.xor_of(p, data.iter().copied()),
            (Kind::Pq, [p, q]) => kernels.pq_of(p, q, data),
            (Kind::Rdp, [r, q]) => rdp::encode(kernels, self.prime as usize, data, r, q),
            (Kind::Evenodd, [p, q]) => evenodd::encode(kernels, self.prime as usize, data, p, q),
            (Kind::XCode, parity) => cells::encode(kernels, self.prime, data, parity),
            _ => unreachable!("the number of parities was checked"),
        }
    }

    /// Adds the change (old XOR new) of data member `index` to every parity.
    ///
    /// # Panics
    /// As [`Code::encode`], and if the data member does not exist.
    pub fn update(&self, index: u32, change: &[u8], parity: &mut [&mut [u8]]) {
        assert!(index < self.data, "there is no data member {index}");
        self.check(parity, change.len());
        let (kernels, prime, index) = (self.kernels, self.prime as usize, index as usize);
        match (self.kind, parity) {
            (Kind::Xor, [p]) => kernels.xor_add(p, [change]),
            (Kind::Pq, [p, q]) => pq::update(kernels, index, change, p, q),
            (Kind::Rdp, [r, q]) => rdp::update(kernels, prime, index, change, r, q),
            (Kind::Evenodd, [p, q]) => evenodd::update(kernels, prime, index, change, p, q),
            (Kind::XCode, parity) => cells::update(kernels, self.prime, index as u32, change, parity),
            _ => unreachable!("the number of parities was checked"),
        }
    }

    fn check(&self, parity: &[&mut [u8]], length: usize) {
        assert_eq!(parity.len(), self.parity() as usize, "one slice for each parity member");
        assert!(parity.iter().all(|parity| parity.len() == length), "members of a stripe have one length");
        self.check_length(length);
    }

    fn check_length(&self, length: usize) {
        let parts = self.granularity() as usize;
        assert!(
            length.is_multiple_of(parts),
            "a member of {length} bytes does not divide into {parts} parts"
        );
    }

    /// The members that are read to decode those of `wanted` that are in `lost`; `None` if the rest does not determine
    /// them. All codes but X-Code read the remaining data and as many parities as data members are lost, the first
    /// parities first; X-Code reads diagonals.
    pub fn sources(&self, lost: u64, wanted: u64) -> Option<u64> {
        if self.kind == Kind::XCode {
            return cells::sources(self.prime, lost, wanted);
        }
        if lost.count_ones() > self.parity() {
            return None;
        }
        let data = (1u64 << self.data) - 1;
        let needed = (lost & data).count_ones();
        let parities = (self.data..self.data + self.parity()).filter(|parity| lost >> parity & 1 == 0);
        Some(parities.take(needed as usize).fold(data & !lost, |mask, parity| mask | 1 << parity))
    }

    /// The parity members that are not zeros if the data members outside of `data` are zeros.
    pub fn parities_of(&self, data: u64) -> u64 {
        if self.kind == Kind::XCode {
            return cells::parities_of(self.prime, data);
        }
        ((1 << self.parity()) - 1) << self.data
    }

    /// Computes the members of `wanted`, a subset of `lost`, from those that are not in `lost`.
    ///
    /// Slices of lost members that are not wanted may be empty. The number of parities that are read is the number of
    /// lost data members, the first parities first; slices of parities that are not read may be empty, too.
    ///
    /// # Panics
    /// As [`Code::encode`], and if a mask names a member that does not exist or `wanted` one that is not lost.
    pub fn decode(&self, members: &mut [&mut [u8]], lost: u64, wanted: u64) -> Result<(), TooManyLost> {
        let count = (self.data + self.parity()) as usize;
        assert_eq!(members.len(), count, "one slice for each member");
        assert!(lost.checked_shr(count as u32).unwrap_or(0) == 0, "a member is lost that there is not");
        assert_eq!(wanted & !lost, 0, "only lost members can be wanted");
        if self.kind == Kind::XCode {
            let is_done = cells::decode(self.kernels, self.prime, members, lost, wanted);
            return if is_done { Ok(()) } else { Err(TooManyLost { lost: lost.count_ones(), parity: 2 }) };
        }
        if lost.count_ones() > self.parity() {
            return Err(TooManyLost { lost: lost.count_ones(), parity: self.parity() });
        }
        if wanted == 0 {
            return Ok(());
        }
        // In every code, data and the first parity are one row of XOR. A loss within it is by far the most frequent.
        let in_row = u64::MAX >> (63 - self.data);
        if wanted == lost & in_row && wanted.is_power_of_two() {
            let index = wanted.trailing_zeros() as usize;
            self.check_length(members[index].len());
            self.kernels.xor_of_others(&mut members[..=self.data as usize], index);
            return Ok(());
        }
        self.decode_beyond_row(members, lost, wanted);
        Ok(())
    }

    /// Decodes losses that need more than the row of data and the first parity.
    #[inline(never)]
    fn decode_beyond_row(&self, members: &mut [&mut [u8]], lost: u64, wanted: u64) {
        let count = members.len();
        let length = members[wanted.trailing_zeros() as usize].len();
        self.check_length(length);
        // The parities that are read: the first remaining ones, as many as there are lost data members.
        let mut needed = (lost & ((1 << self.data) - 1)).count_ones();
        let mut read = !lost;
        for parity in self.data as usize..count {
            let left = lost >> parity & 1 == 0;
            read &= !(u64::from(left && needed == 0) << parity);
            needed -= u32::from(left && needed > 0);
        }
        for (index, member) in members.iter().enumerate() {
            if (read | wanted) >> index & 1 != 0 {
                assert_eq!(member.len(), length, "members of a stripe have one length (member {index})");
            }
        }
        let (kernels, prime, data) = (self.kernels, self.prime as usize, self.data as usize);
        match self.kind {
            Kind::Pq => pq::decode(kernels, data, members, lost, wanted),
            Kind::Rdp => rdp::decode(kernels, prime, data, members, lost, wanted),
            Kind::Evenodd => evenodd::decode(kernels, prime, data, members, lost, wanted),
            Kind::Xor => unreachable!("its only losses are those of one member of the row"),
            Kind::XCode => unreachable!("it is decoded by diagonals"),
        }
    }
}

pub(crate) fn is_odd_prime(number: u32) -> bool {
    let divisors = (3..).step_by(2).take_while(|divisor| divisor * divisor <= number);
    number > 2
        && !number.is_multiple_of(2)
        && !divisors.into_iter().any(|divisor| number.is_multiple_of(divisor))
}
