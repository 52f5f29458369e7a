#![no_main]

// Every structure on the members has a program of this one source, which goes by the structure's name.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stripewise_fuzz::format::check(env!("CARGO_BIN_NAME"), bytes));
