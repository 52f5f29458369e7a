//! Tests of the rules on the tree itself, and of its scripts.

mod fuzz_short;
mod tree;
