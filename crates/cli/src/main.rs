//! The `stripewise` command; see the library of the same name.

fn main() -> std::process::ExitCode {
    stripewise::main(std::env::args_os())
}
