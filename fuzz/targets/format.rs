#![no_main]

// Every structure on the members has a fuzz program with this one source; its name is that of the structure.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stripewise_fuzz::format::check(env!("CARGO_BIN_NAME"), bytes));
