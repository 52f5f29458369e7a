//! Checks the detection of formats.

use stripewise_trace::{FormatName, OpenOptions, TraceError};

use super::reader::{same_in_any_pieces, sound};

/// A detected format reads the same requests when it is named. If no format is detected, the message states the
/// remedy, and each specification of columns that it offers can be given.
pub fn check(bytes: &[u8]) {
    let options = OpenOptions { skip_bad: u64::MAX, ..OpenOptions::default() };
    let found = same_in_any_pieces(bytes, &options);
    let Some(report) = &found.report else {
        match found.error.as_ref().expect("not opened for a reason") {
            TraceError::Format { reason, remedy, .. } => {
                assert!(!reason.is_empty() && !remedy.is_empty());
                for offer in offers(remedy) {
                    let given = offer.parse::<FormatName>();
                    assert!(given.is_ok(), "{offer}: {given:?}");
                }
            }
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

/// The specifications of columns that a remedy offers, as formats.
fn offers(remedy: &str) -> impl Iterator<Item = String> {
    let quoted = remedy.lines().filter_map(|line| line.trim_start().strip_prefix("--columns '"));
    quoted.map(|line| {
        let (columns, _) = line.rsplit_once('\'').expect("a specification is in quotes");
        format!("columns:{}", columns.replace("'\\''", "'"))
    })
}
