#![no_main]

// Every format has a program of this one source, which goes by the format's name.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stripewise_fuzz::reader::check(env!("CARGO_BIN_NAME"), bytes));
