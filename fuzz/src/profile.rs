//! Checks workload profiles in TOML.

use stripewise_trace::profile::Profile;

/// A profile that can be read can be written, and is the same when it is read again.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Profile::from_toml("profile.toml", text) {
        Ok(profile) => {
            let written = profile.to_toml();
            let again = Profile::from_toml("again.toml", &written).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(again.to_toml(), written);
        }
        Err(error) => assert!(error.to_string().contains("profile.toml"), "{error}"),
    }
}
