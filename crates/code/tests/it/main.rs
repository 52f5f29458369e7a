//! The tests of the codes, in one program, because linking one is faster than linking 6.

mod cells;
mod codes;
mod levels;
mod oracle;
mod theory;
mod x_code;
mod xor;
