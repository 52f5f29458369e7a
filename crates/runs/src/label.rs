//! Labels of schemes, `LABEL=SCHEME`: short names for schemes with many settings, in tables, reports and files.

use std::path::Path;

use stripewise_base::text::is_plain;

use crate::error::Error;

/// The most characters of a label: more would not be short.
const LONGEST: usize = 40;

/// The label of `[LABEL=]NAME|FILE.toml[,KEY=VALUE]...`, if it has one, and the rest. A file whose name has an equals sign has
/// no label.
///
/// # Errors
/// A label that is empty, too long, the name of another scheme, or has characters that a terminal acts on.
pub fn split_label(argument: &str) -> Result<(Option<&str>, &str), Error> {
    let named = argument.split(',').next().unwrap_or_default();
    let Some((label, scheme)) = named.split_once('=') else { return Ok((None, argument)) };
    if Path::new(named).is_file() {
        return Ok((None, argument));
    }
    check_label(label, scheme).map_err(|reason| {
        let shown = stripewise_base::text::visible(argument);
        Error::spec(format!(
            "scheme {shown}: {reason}; a label stands before the scheme, as in mine={scheme}"
        ))
    })?;
    Ok((Some(label), &argument[label.len() + 1..]))
}

/// Whether `label` may be that of `scheme`.
///
/// # Errors
/// The reason why not, as [`split_label`].
pub fn check_label(label: &str, scheme: &str) -> Result<(), String> {
    if label.trim().is_empty() {
        return Err("the label is empty".to_owned());
    }
    if label.trim() != label || !is_plain(label) {
        return Err(
            "the label begins or ends with a space, or has characters that are not printed".to_owned()
        );
    }
    if label.chars().count() > LONGEST {
        return Err(format!("the label has more than {LONGEST} characters"));
    }
    if label != scheme && stripewise_array::PRESETS.iter().any(|(preset, _)| *preset == label) {
        return Err(format!("`{label}` is the name of another scheme"));
    }
    if let Some(letter) = label.chars().find(|letter| [',', '='].contains(letter)) {
        return Err(format!("the label has a `{letter}`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stands_before_the_scheme_and_an_equals_sign_of_a_setting_makes_none() {
        let of = |argument: &'static str| split_label(argument).unwrap();
        assert_eq!(of("baseline"), (None, "baseline"));
        assert_eq!(of("baseline,update.tie=rcw"), (None, "baseline,update.tie=rcw"));
        assert_eq!(of("A=baseline,update.tie=rcw"), (Some("A"), "baseline,update.tie=rcw"));
        assert_eq!(of("my scheme=a.toml"), (Some("my scheme"), "a.toml"));
        assert_eq!(of("baseline=baseline,x=y"), (Some("baseline"), "baseline,x=y"));
    }

    #[test]
    fn a_file_whose_name_has_an_equals_sign_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a=b.toml").display().to_string();
        std::fs::write(&path, "").unwrap();
        let argument = format!("{path},x=y");
        assert_eq!(split_label(&argument).unwrap(), (None, argument.as_str()));
    }

    #[test]
    fn labels_that_mislead_are_refused_with_the_reason() {
        let long = format!("{}=raid0", "x".repeat(41));
        for (argument, reason) in [
            ("=raid0", "is empty"),
            (" =raid0", "is empty"),
            (" a=raid0", "begins or ends with a space"),
            ("a\u{1b}[31m=raid0", "not printed"),
            (&long, "more than 40 characters"),
            ("bpu=raid0", "`bpu` is the name of another scheme"),
        ] {
            let message = split_label(argument).unwrap_err().to_string();
            assert!(message.contains(reason) && message.contains("as in mine=raid0"), "{message}");
            assert!(!message.contains('\u{1b}'), "{message:?}");
        }
    }
}
