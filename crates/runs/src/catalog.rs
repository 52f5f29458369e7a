//! The built-in presets: schemes, devices, profiles.

use std::path::Path;

use stripewise_array::{PRESETS as SCHEMES, Scheme};
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::PRESETS as DEVICES;
use stripewise_trace::profile::{Builtin, Profile, builtin};

use crate::describe::sizes;
use crate::error::{Error, What};

/// A built-in scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeEntry {
    /// Its name.
    pub name: &'static str,
    /// Its description, in a sentence.
    pub description: String,
}

/// The built-in schemes.
///
/// # Errors
/// None as long as every preset is valid, which tests check.
pub fn schemes() -> Result<Vec<SchemeEntry>, Error> {
    let entry = |(name, _)| Ok(SchemeEntry { name, description: Scheme::preset(name)?.description });
    SCHEMES.into_iter().map(entry).collect()
}

/// A built-in device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceEntry {
    /// Its name.
    pub name: &'static str,
    /// Bytes of flash in all.
    pub raw_bytes: u64,
    /// Bytes that a host sees.
    pub exported_bytes: u64,
    /// Channels.
    pub channels: u32,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Its description, in a sentence.
    pub description: String,
}

/// The built-in devices.
///
/// # Errors
/// None as long as every preset is valid, which tests check.
pub fn devices() -> Result<Vec<DeviceEntry>, Error> {
    let entry = |(name, text): (&'static str, &str)| {
        let preset = DeviceSpec::preset(name);
        let spec = preset.map_err(|error| Error::Text { what: What::Device, error })?;
        let (raw_bytes, exported_bytes) = sizes(&spec)?;
        let (channels, page_bytes) = (spec.geometry.channels, spec.geometry.page_bytes.0);
        Ok(DeviceEntry { name, raw_bytes, exported_bytes, channels, page_bytes, description: headline(text) })
    };
    DEVICES.into_iter().map(entry).collect()
}

/// The first sentence of the comment at the start of a preset.
fn headline(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    let comment = comment.collect::<Vec<_>>().join(" ");
    let mut ends = comment.match_indices(". ").map(|(at, _)| at);
    let end = ends.find(|&at| ends_a_sentence(&comment[..at], &comment[at + 2..]));
    end.map_or(comment.as_str(), |end| &comment[..end]).trim_end_matches('.').to_owned()
}

/// Whether a point between `before` and `after` ends a sentence, and not an abbreviation.
fn ends_a_sentence(before: &str, after: &str) -> bool {
    let last = before.rsplit(' ').next().unwrap_or_default().trim_start_matches(['(', '"']);
    let is_abbreviation = last.contains('.')
        || last.chars().count() < 2
        || ["al", "cf", "Fig", "Figs", "No", "pp", "Sec", "Vol", "vs"].contains(&last);
    !is_abbreviation && after.starts_with(|c: char| c.is_uppercase() || c == '`' || c == '"')
}

/// The profile that `argument` names: a file that ends in `.toml`, or a built-in one. A built-in workload may be a
/// generator and no profile.
///
/// # Errors
/// An unknown name, a file that cannot be read.
pub fn profile(argument: &str) -> Result<Builtin, Error> {
    if !argument.ends_with(".toml") {
        return builtin_profile(argument);
    }
    let profile = Profile::read(Path::new(argument)).map_err(Error::Profile)?;
    let (name, generator) = (argument.to_owned(), format!("profile:file={argument}"));
    Ok(Builtin { name, source: profile.source.clone(), profile: Some(profile), generator })
}

/// The built-in profile of that name, or the only one that ends in `/name`.
///
/// # Errors
/// An unknown name, with the nearest known one.
pub fn builtin_profile(name: &str) -> Result<Builtin, Error> {
    let all = builtin();
    if let Some(found) = all.iter().find(|profile| profile.name == name) {
        return Ok(found.clone());
    }
    let short = |profile: &&Builtin| profile.name.rsplit_once('/').is_some_and(|(_, last)| last == name);
    let ending: Vec<_> = all.iter().filter(short).collect();
    match ending.as_slice() {
        [only] => Ok((*only).clone()),
        [] => {
            let names: Vec<&str> = all.iter().map(|profile| profile.name.as_str()).collect();
            let last = names.iter().filter_map(|name| name.rsplit_once('/')).map(|(_, last)| last);
            let near = stripewise_base::suggest::nearest(name, names.iter().copied().chain(last));
            let remedy = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let message = format!("unknown profile `{name}`{remedy}");
            Err(Error::Unknown { what: What::Profile, name: name.to_owned(), message, others: Vec::new() })
        }
        several => {
            let names: Vec<&str> = several.iter().map(|profile| profile.name.as_str()).collect();
            Err(Error::spec(format!("several profiles are called `{name}`: {}", names.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_says_in_a_sentence_what_it_is() {
        for DeviceEntry { name, description, .. } in devices().unwrap() {
            assert!(description.len() > 10 && !description.ends_with('.'), "{name}: {description}");
        }
    }

    #[test]
    fn an_abbreviation_ends_no_sentence() {
        for (comment, said) in [
            (
                "# An SSD, the \"P\" of Fig. 10 in the paper. More.\nname = 1",
                "An SSD, the \"P\" of Fig. 10 in the paper",
            ),
            ("# As Lee et al. say, e.g. A vs. Beta. `x` is", "As Lee et al. say, e.g. A vs. Beta"),
            ("# The \"P\" of Fig. 4(a). \"Table II\" is", "The \"P\" of Fig. 4(a)"),
            ("# One sentence\n# on two lines. Two.", "One sentence on two lines"),
            ("# 2.5 times as much.", "2.5 times as much"),
        ] {
            assert_eq!(headline(comment), said);
        }
    }

    #[test]
    fn no_device_is_cut_at_an_abbreviation() {
        for DeviceEntry { name, description, .. } in devices().unwrap() {
            let last = description.rsplit(' ').next().unwrap_or_default();
            assert!(!["Fig", "al", "e.g", "i.e", "vs", "Vol"].contains(&last), "{name}: {description}");
            assert_eq!(
                description.matches('(').count(),
                description.matches(')').count(),
                "{name}: {description}"
            );
        }
    }

    #[test]
    fn a_profile_is_found_by_its_last_word_and_the_nearest_is_named() {
        assert_eq!(builtin_profile("lun1").unwrap().name, "paper000/lun1");
        let error = builtin_profile("paper000/hm_00").unwrap_err().to_string();
        assert!(error.contains("did you mean `paper000/hm_0`?"), "{error}");
    }
}
