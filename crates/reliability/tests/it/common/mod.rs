//! Fractions, and a chain solved by elimination: the oracle of the formulas.

use std::ops::{Add, Div, Mul, Sub};

use stripewise_reliability::Repair;

/// A fraction in lowest terms. Arithmetic is exact, and panics where it would overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fraction {
    above: i128,
    below: i128,
}

impl Fraction {
    pub(crate) fn new(above: i128, below: i128) -> Self {
        assert_ne!(below, 0, "no fraction has 0 below");
        let (mut a, mut b) = (above.abs(), below.abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let divisor = a.max(1) * below.signum();
        Self { above: above / divisor, below: below / divisor }
    }
}

impl Fraction {
    pub(crate) fn to_f64(self) -> f64 {
        self.above as f64 / self.below as f64
    }
}

impl From<u32> for Fraction {
    fn from(whole: u32) -> Self {
        Self::new(i128::from(whole), 1)
    }
}

impl Add for Fraction {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.above * other.below + other.above * self.below, self.below * other.below)
    }
}

impl Sub for Fraction {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + Self::new(-other.above, other.below)
    }
}

impl Mul for Fraction {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        // Reduced crosswise first, so that numbers stay small.
        let (left, right) = (Self::new(self.above, other.below), Self::new(other.above, self.below));
        Self::new(left.above * right.above, left.below * right.below)
    }
}

impl Div for Fraction {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        self.mul(Self::new(other.below, other.above))
    }
}

/// The mean time from state 0 to state `parity + 1`, from the equations t(i) Σ rates = 1 + Σ rate · t(target) of all
/// states at once, by Gaussian elimination. It states the rates of the states independently of the code under test.
pub(crate) fn solved(members: u32, parity: u32, repair: Repair, lambda: Fraction, mu: Fraction) -> Fraction {
    let states = parity as usize + 1;
    let (zero, one) = (Fraction::from(0), Fraction::from(1));
    let mut rows = vec![vec![zero; states + 1]; states];
    for (i, row) in rows.iter_mut().enumerate() {
        let mut moves = vec![(i + 1, Fraction::from(members - i as u32) * lambda)];
        if i > 0 {
            moves.push(match repair {
                Repair::Single => (i - 1, mu),
                Repair::Parallel => (i - 1, Fraction::from(i as u32) * mu),
                Repair::Together => (0, mu),
            });
        }
        for (target, rate) in moves {
            row[i] = row[i] + rate;
            if target < states {
                row[target] = row[target] - rate;
            }
        }
        row[states] = one;
    }
    for pivot in 0..states {
        let place = (pivot..states).find(|&row| rows[row][pivot] != zero).expect("loss is reached");
        rows.swap(pivot, place);
        for row in 0..states {
            if row != pivot {
                let factor = rows[row][pivot] / rows[pivot][pivot];
                let taken = rows[pivot].clone();
                for (value, of_pivot) in rows[row].iter_mut().zip(taken) {
                    *value = *value - factor * of_pivot;
                }
            }
        }
    }
    rows[0][states] / rows[0][0]
}
