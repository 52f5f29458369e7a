//! Checks devices in TOML.

use stripewise_flash::DeviceSpec;

/// A device that can be read is valid, can be written, and is the same when it is read again.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match DeviceSpec::from_toml("device.toml", text) {
        Ok(spec) => {
            let written = toml::to_string(&spec).expect("a device holds nothing that TOML cannot say");
            let again =
                DeviceSpec::from_toml("again.toml", &written).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(again, spec);
        }
        Err(error) => assert!(error.to_string().starts_with("device.toml"), "{error}"),
    }
}
