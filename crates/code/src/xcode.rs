//! X-Code, a vertical code: each of p columns has p parts. The last two parts are parity over diagonals of slope 1 and
//! -1 through the data parts of the other columns.
//!
//! Source: Xu and Bruck, "X-Code: MDS Array Codes with Optimal Encoding", IEEE Transactions on Information Theory
//! 45(1), 1999.

use std::mem::take;

use crate::code::{CodeError, Kind, TooManyLost, is_odd_prime};
use crate::cost::Cost;
use crate::kernels::{COLUMNS_MAX, Kernels, Level, Unsupported};

/// X-Code over `prime` columns of `prime` parts. The length of a column is a multiple of `prime`.
///
/// Parts 0 to `prime` - 3 of a column are data, the last two parity. It tolerates the loss of any two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XCode {
    prime: usize,
    kernels: Kernels,
}

/// A diagonal with its parity part, which lies in column `home`.
#[derive(Clone, Copy)]
struct Line {
    rising: bool,
    home: usize,
}

impl XCode {
    /// The code of `prime` columns.
    pub fn new(prime: u32) -> Result<Self, CodeError> {
        if !is_odd_prime(prime) {
            return Err(CodeError::NotPrime { kind: Kind::XCode, prime });
        }
        let most = COLUMNS_MAX as u32;
        if prime == 3 || prime > most {
            return Err(CodeError::Columns { prime, most });
        }
        Ok(Self { prime: prime as usize, kernels: Kernels::current() })
    }

    /// The same code, at another level than [`Level::current`].
    pub fn with_level(self, level: Level) -> Result<Self, Unsupported> {
        Ok(Self { kernels: Kernels::of(level)?, ..self })
    }

    /// Columns, and parts of each.
    pub fn prime(&self) -> u32 {
        self.prime as u32
    }

    /// The cost of the code, in operations on parts.
    pub fn cost(&self) -> Cost {
        let p = self.prime as u32;
        Cost {
            parts: p,
            encode: 2 * p * (p - 3),
            update: 2 * (p - 2),
            decode_one: p * (p - 3),
            decode_two: Some(2 * p * (p - 3)),
        }
    }

    /// The columns with the two parities of data part `part` of `column`: that of the rising diagonal is part `prime` -
    /// 2, that of the falling one is part `prime` - 1.
    pub fn parity_of(&self, column: u32, part: u32) -> [u32; 2] {
        let p = self.prime();
        assert!(column < p && part < p - 2, "no data part {part} of column {column}");
        [(column + 2 * p - part - 2) % p, (column + part + 2) % p]
    }

    /// Computes the parity parts of all columns from their data parts.
    ///
    /// # Panics
    /// If the number of columns is not the prime, or the columns do not have one length, a multiple of the prime.
    pub fn encode(&self, columns: &mut [&mut [u8]]) {
        self.check(columns);
        for home in 0..self.prime {
            for rising in [true, false] {
                self.solve(columns, Line { rising, home }, home);
            }
        }
    }

    /// Adds the change (old XOR new) of data part `part` of `column` to its parities. The caller writes the part
    /// itself.
    ///
    /// # Panics
    /// As [`XCode::encode`], and if there is no such data part or the change is not one part long.
    pub fn update(&self, column: u32, part: u32, change: &[u8], columns: &mut [&mut [u8]]) {
        self.check(columns);
        for (row, home) in [self.prime - 2, self.prime - 1].into_iter().zip(self.parity_of(column, part)) {
            let bytes = columns[home as usize].len() / self.prime;
            self.kernels.xor_add(&mut columns[home as usize][row * bytes..(row + 1) * bytes], [change]);
        }
    }

    /// Computes the `lost` columns (a mask) from the others.
    ///
    /// # Panics
    /// As [`XCode::encode`], and if the mask names a column that does not exist.
    pub fn decode(&self, columns: &mut [&mut [u8]], lost: u64) -> Result<(), TooManyLost> {
        self.check(columns);
        assert!(lost >> self.prime == 0, "a column is lost that there is not");
        let is_lost = |column: &usize| lost >> column & 1 != 0;
        match lost.count_ones() {
            0 => {}
            1 => {
                let lost = lost.trailing_zeros() as usize;
                for part in 0..self.prime - 2 {
                    let line = self.through(lost, part, true);
                    self.solve(columns, line, lost);
                }
                for rising in [true, false] {
                    self.solve(columns, Line { rising, home: lost }, lost);
                }
            }
            2 => {
                let first = lost.trailing_zeros() as usize;
                let second = (first + 1..self.prime).find(is_lost).expect("two are lost");
                for rising in [true, false] {
                    self.chain(columns, rising, first, second);
                    self.chain(columns, rising, second, first);
                }
            }
            lost => return Err(TooManyLost { lost, parity: 2 }),
        }
        Ok(())
    }

    /// Begins at the diagonal that misses one lost column, which gives a part of the other. The other diagonal through
    /// that part gives a part of the first, and so on, until the part is a parity, which no other diagonal crosses.
    fn chain(&self, columns: &mut [&mut [u8]], rising: bool, missed: usize, other: usize) {
        let p = self.prime;
        let home = if rising { missed + p - 1 } else { missed + 1 } % p;
        let mut line = Line { rising, home };
        let (mut next, mut after) = (other, missed);
        while let Some(part) = self.solve(columns, line, next) {
            line = self.through(next, part, !line.rising);
            (next, after) = (after, next);
        }
    }

    /// The diagonal through data part `part` of `column`.
    fn through(&self, column: usize, part: usize, rising: bool) -> Line {
        let p = self.prime;
        let home = if rising { column + 2 * p - part - 2 } else { column + part + 2 } % p;
        Line { rising, home }
    }

    /// The part where a line meets `column`, if it does: its parity part in its home.
    fn part(&self, line: Line, column: usize) -> Option<usize> {
        let p = self.prime;
        let ahead = if line.rising { column + p - line.home } else { line.home + p - column } % p;
        match (ahead + p - 2) % p {
            data if data < p - 2 => Some(data),
            home if home == p - 2 => Some(if line.rising { p - 2 } else { p - 1 }),
            _ => None,
        }
    }

    /// Computes the part where `line` meets column `target` from the others on the line. Returns the part if it is
    /// data.
    fn solve(&self, columns: &mut [&mut [u8]], line: Line, target: usize) -> Option<usize> {
        let part = self.part(line, target)?;
        let out = take(&mut columns[target]);
        let bytes = out.len() / self.prime;
        let others = columns.iter().enumerate().filter(|&(index, _)| index != target);
        let sources = others.filter_map(|(index, column)| {
            let part = self.part(line, index)?;
            Some(&column[part * bytes..(part + 1) * bytes])
        });
        self.kernels.xor_of(&mut out[part * bytes..(part + 1) * bytes], sources);
        columns[target] = out;
        (part < self.prime - 2).then_some(part)
    }

    fn check(&self, columns: &[&mut [u8]]) {
        assert_eq!(columns.len(), self.prime, "one slice for each column");
        let length = columns[0].len();
        assert!(columns.iter().all(|column| column.len() == length), "members of a stripe have one length");
        let parts = self.prime;
        assert!(
            length.is_multiple_of(parts),
            "a column of {length} bytes does not divide into {parts} parts"
        );
    }
}
