//! Checks compressed traces: damage is an error, and the requests before it are sound.

use std::io;

use stripewise_trace::{Disorder, OpenOptions};

use super::reader::read;

/// Reads `bytes` as they are, and after the first bytes of gzip and of Zstandard.
pub fn check(bytes: &[u8]) {
    let format = Some("ssdsim".parse().expect("a format"));
    let options = OpenOptions { format, disorder: Disorder::Refuse, ..OpenOptions::default() };
    for magic in [&[][..], &[0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3], &[0x28, 0xB5, 0x2F, 0xFD]] {
        let outcome = read(Box::new(io::Cursor::new([magic, bytes].concat())), &options, 100);
        for pair in outcome.requests.windows(2) {
            assert!(pair[0].time_ns <= pair[1].time_ns);
        }
        if let Some(error) = outcome.error {
            assert!(!error.to_string().is_empty());
        }
    }
}
