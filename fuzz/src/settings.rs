//! Checks the short texts that users write on the command line.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use stripewise_base::units::{Bytes, Count, Span};
use stripewise_trace::FormatName;
use stripewise_trace::generate::Generator;

/// A text that can be parsed is printed in a form that parses to the same value.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    stable::<Bytes>(text);
    stable::<Span>(text);
    stable::<Count>(text);
    stable::<FormatName>(text);
    // A profile may be named by a file; the fuzzer must not open files.
    if !text.contains("file") {
        stable::<Generator>(text);
    }
}

fn stable<T: FromStr<Err: Display> + Display + Debug + PartialEq>(text: &str) {
    match text.parse::<T>() {
        Ok(value) => {
            let printed = value.to_string();
            let again = printed.parse::<T>().unwrap_or_else(|error| panic!("{printed}: {error}"));
            assert_eq!(again, value, "{text} and {printed}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
