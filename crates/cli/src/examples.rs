//! Examples in help texts. Tests parse or run every one.

/// A command line and what it does.
pub(crate) type Example = (&'static str, &'static str);

/// The section of a help text that shows `examples`.
pub(crate) fn section(examples: &[Example]) -> String {
    let mut text = "Examples:".to_owned();
    for (line, what) in examples {
        text.push_str(&format!("\n  # {what}\n  {line}"));
    }
    text
}

/// [`section`], with a text after it.
pub(crate) fn section_and(examples: &[Example], after: &str) -> String {
    format!("{}\n\n{after}", section(examples))
}
