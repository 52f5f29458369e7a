//! The `stripewise` command.
fn main() {}
