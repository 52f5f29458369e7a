#![no_main]

use std::sync::Once;

static HOOK: Once = Once::new();

// The Parquet library panics on some damage, and our reader makes an error of it. The fuzzer's own hook would end the
// program at the panic, before anybody could catch it; without the hook it still ends at panics that nobody catches.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    HOOK.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    stripewise_fuzz::parquet::check(bytes);
});
