//! Checks the detection of formats.

use stripewise_trace::{OpenOptions, TraceError};

use super::reader::{same_in_any_pieces, sound};

/// A detected format reads the same requests when it is named. If no format is detected, the message states the
/// remedy.
pub fn check(bytes: &[u8]) {
    let options = OpenOptions { skip_bad: u64::MAX, ..OpenOptions::default() };
    let found = same_in_any_pieces(bytes, &options);
    let Some(report) = &found.report else {
        match found.error.as_ref().expect("not opened for a reason") {
            TraceError::Format { reason, remedy, .. } => assert!(!reason.is_empty() && !remedy.is_empty()),
            TraceError::NotATrace { reason, .. } => assert!(!reason.is_empty()),
            TraceError::Io { .. } => {}
            other => panic!("{other}"),
        }
        return;
    };
    if report.compression == stripewise_trace::Compression::None {
        sound(&found, bytes, &options);
    }
    let format = report.format.parse().expect("a format has a name that can be given");
    let named = same_in_any_pieces(bytes, &OpenOptions { format: Some(format), ..options });
    assert_eq!(named.requests, found.requests);
}
