#![no_main]

use std::sync::Once;

static HOOK: Once = Once::new();

// The Parquet library panics on some damage, and our reader converts the panic to an error: see `parquet.rs`.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    HOOK.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    stripewise_fuzz::tables::check(bytes);
});
