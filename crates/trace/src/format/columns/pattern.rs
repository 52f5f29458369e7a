//! Regular expressions that divide a line into columns.

use regex::bytes::{Regex, RegexBuilder};

/// The most bytes of a compiled expression, and of the table that its searches fill.
const MOST_BYTES: usize = 1 << 20;

/// Compiles an expression. Its classes, such as `\d`, are those of ASCII.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .unicode(false)
        .size_limit(MOST_BYTES)
        .dfa_size_limit(MOST_BYTES)
        .build()
        .map_err(|error| {
            let text = error.to_string();
            let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            format!("the regular expression is not understood: {}", lines.join(" "))
        })
}

/// The names of the groups of an expression.
pub(super) fn groups(pattern: &str) -> Result<Vec<String>, String> {
    let groups: Vec<String> = compile(pattern)?.capture_names().flatten().map(str::to_owned).collect();
    if groups.is_empty() {
        return Err("the regular expression has no groups with names; write (?<time>…), (?<op>…) and so on"
            .to_owned());
    }
    Ok(groups)
}
