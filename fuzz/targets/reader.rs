#![no_main]

// Every format has a fuzz program with this one source; its name is that of the format.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stripewise_fuzz::reader::check(env!("CARGO_BIN_NAME"), bytes));
