#![no_main]

use std::sync::Once;

static HOOK: Once = Once::new();

// The Parquet library panics on some damage, and our reader converts the panic to an error. The fuzzer's own hook
// would end the program at the panic, before our reader could catch it. Without the hook, the program still ends at
// uncaught panics.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    HOOK.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    stripewise_fuzz::parquet::check(bytes);
});
