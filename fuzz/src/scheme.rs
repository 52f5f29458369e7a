//! Checks schemes in TOML.

use stripewise_array::Scheme;

/// A scheme that can be read can be written, and is the same when it is read again.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Scheme::from_toml("scheme.toml", text) {
        Ok(scheme) => {
            let written = scheme.to_toml();
            let again = Scheme::from_toml("again.toml", &written).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(again, scheme);
        }
        Err(error) => assert!(error.to_string().starts_with("scheme.toml"), "{error}"),
    }
}
