//! The tests of the codes, in one program, because linking one is faster than linking 5.

mod codes;
mod levels;
mod oracle;
mod theory;
mod x_code;
mod xor;
