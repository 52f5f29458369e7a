//! Checks text with columns that the user names.

use stripewise_trace::FormatName;

use super::reader;

/// The first line of `bytes` names the columns; the rest is the text.
pub fn check(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |&byte| byte == b'\n');
    let (Some(columns), Some(text)) = (parts.next(), parts.next()) else { return };
    let Ok(columns) = std::str::from_utf8(columns) else { return };
    match format!("columns:{columns}").parse::<FormatName>() {
        Ok(format) => {
            let printed = format.to_string();
            let again = printed.parse::<FormatName>().unwrap_or_else(|error| panic!("{printed}: {error}"));
            assert_eq!(again, format, "{printed}");
            reader::check_as(format, text);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
