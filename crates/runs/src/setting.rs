//! `KEY=VALUE`: changes to a scheme or a device.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use stripewise_array::Scheme;
use stripewise_base::renamed;
use stripewise_base::suggest::{self, ConfigError};
use stripewise_flash::DeviceSpec;
use stripewise_flash::spec::PRESETS as DEVICES;
use toml::{Table, Value};

use crate::error::{Error, What};
use crate::missing::all_missing;
use crate::named::Document;
use crate::spec::SchemeSpec;

/// One `KEY=VALUE`: the key as a path through TOML tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    path: Vec<String>,
    value: Value,
    typed: String,
    /// The remark on a former name in it.
    former: Option<String>,
}

/// The target of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Every scheme.
    Scheme,
    /// The device.
    Device,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected KEY=VALUE, as in metadata=on, update.tie=rcw or gc.low_watermark.pages=5%";
        let (key, value) = text.split_once('=').ok_or(expected)?;
        let path: Vec<String> = key.split('.').map(|part| part.trim().to_owned()).collect();
        if path.iter().any(String::is_empty) {
            return Err(expected.to_owned());
        }
        let mut setting =
            Self { path, value: value_of(value.trim()), typed: text.trim().to_owned(), former: None };
        setting.modernize();
        Ok(setting)
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.typed)
    }
}

/// A number, a truth value, or a bracketed or quoted value, as TOML reads it. Any other value is a text: `8KiB` needs
/// no quotes.
fn value_of(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>().ok();
    parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

impl Setting {
    /// Replaces former names in the key or the value by the present ones, also in the text, which names of schemes show.
    fn modernize(&mut self) {
        let (target, keys) = self.path.split_at(usize::from(self.has_target()));
        let nested = |value: Value, key: &String| Value::Table(Table::from_iter([(key.clone(), value)]));
        let Value::Table(mut table) = keys.iter().rev().fold(self.value.clone(), nested) else { return };
        let remarks = renamed::modernize(&mut table);
        if remarks.is_empty() {
            return;
        }
        // A key may have another name now, but lies as deep as before.
        let (mut path, mut value) = (target.to_vec(), Value::Table(table));
        for _ in keys {
            let Value::Table(table) = value else { return };
            let Some((key, inner)) = table.into_iter().next() else { return };
            path.push(key);
            value = inner;
        }
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.typed = format!("{}={shown}", path.join("."));
        (self.path, self.value, self.former) = (path, value, Some(remarks.join("; ")));
    }

    /// Whether the key begins with `scheme` or `device`.
    fn has_target(&self) -> bool {
        matches!(self.path[0].as_str(), "scheme" | "device")
    }

    /// Whether the setting changes the scheme or the device: as its first word says, otherwise whichever of the two
    /// has such a key.
    ///
    /// # Errors
    /// A key that neither has, with the nearest known one; a key that is only a label.
    pub fn target(&self, scheme: &Document, device: &Document) -> Result<Target, Error> {
        self.has_effect()?;
        match self.path[0].as_str() {
            "scheme" => return Ok(Target::Scheme),
            "device" => return Ok(Target::Device),
            _ => {}
        }
        let (as_scheme, as_device) = (self.try_on::<Scheme>(scheme), self.try_on::<DeviceSpec>(device));
        match (as_scheme, as_device) {
            (Ok(()), Ok(())) => Err(self.refuse(&format!(
                "both the scheme and the device have this key; write scheme.{0} or device.{0}",
                self.path.join(".")
            ))),
            (Ok(()), Err(_)) => Ok(Target::Scheme),
            (Err(_), Ok(())) => Ok(Target::Device),
            // The error of the target that knows more of the key is the more precise one.
            (Err(error), Err(other)) if self.known(&error) > self.known(&other) => Err(self.refuse(&error)),
            (Err(other), Err(error)) if self.known(&error) > self.known(&other) => Err(self.refuse(&error)),
            (Err(error), Err(other)) => {
                Err(self.refuse(&format!("in the scheme: {error}; in the device: {other}")))
            }
        }
    }

    /// Whether its key still has its value in `table`, after later settings.
    fn is_in(&self, table: &Table) -> bool {
        let mut keys = self.path[usize::from(self.has_target())..].iter();
        let first = keys.next().and_then(|key| table.get(key));
        keys.fold(first, |value, key| value.and_then(|value| value.get(key))) == Some(&self.value)
    }

    /// Refuses a key that changes no run, whatever its value.
    fn has_effect(&self) -> Result<(), Error> {
        match &self.path[usize::from(self.has_target())..] {
            [key] if matches!(key.as_str(), "name" | "description") => Err(self.refuse(&format!(
                "`{key}` only labels, and no value of it changes a run; to label one, write a file of your own"
            ))),
            _ => Ok(()),
        }
    }

    fn try_on<T: DeserializeOwned>(&self, document: &Document) -> Result<(), String> {
        let mut table = document.text.parse::<Table>().map_err(|error| error.to_string())?;
        renamed::modernize(&mut table);
        self.insert(&mut table)?;
        read::<T>(document, &table).map(|_| ()).map_err(|error| error.message)
    }

    /// How much of the key was known when trying it led to `error`: nothing, its section, or all of it.
    fn known(&self, error: &str) -> u8 {
        match error.strip_prefix("unknown key `") {
            Some(rest) => u8::from(!rest.starts_with(&format!("{}`", self.path[0]))),
            None => 2,
        }
    }

    fn refuse(&self, message: &str) -> Error {
        Error::Setting { setting: self.to_string(), message: message.to_owned() }
    }

    /// Inserts the value at its path.
    fn insert(&self, table: &mut Table) -> Result<(), String> {
        let (last, parents) =
            self.path[usize::from(self.has_target())..].split_last().ok_or("the key is empty")?;
        // A policy has keys of its own; those of the previous policy are removed with it.
        if last == "policy" && parents == ["update"] {
            table.remove("update");
        }
        let Some(section) = parents.first() else {
            table.insert(last.clone(), self.value.clone());
            return Ok(());
        };
        let place = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
        let place = place.as_table_mut().ok_or_else(|| format!("`{section}` is no section"))?;
        match &parents[1..] {
            [] => place.insert(last.clone(), self.value.clone()),
            // `{ pages = "10%" }` is one of several variants: naming another replaces it.
            [key] => place.insert(key.clone(), Table::from_iter([(last.clone(), self.value.clone())]).into()),
            _ => return Err("no key lies that deep".to_owned()),
        };
        Ok(())
    }
}

fn read<T: DeserializeOwned>(document: &Document, table: &Table) -> Result<T, ConfigError> {
    let text = toml::to_string(table).expect("what was read from TOML can be written as TOML");
    suggest::read_toml(&document.shown, &text)
}

/// A scheme or a device after the settings were applied.
#[derive(Clone, Debug)]
pub(crate) struct Overlaid<T> {
    pub(crate) spec: T,
    /// The settings that changed nothing, because the key had the value already.
    pub(crate) idle: Vec<Setting>,
}

/// The scheme of `document` with `settings`.
///
/// # Errors
/// An error in the text, with line and caret; or in a setting.
pub fn scheme(document: &Document, settings: &[Setting]) -> Result<Scheme, Error> {
    overlaid_scheme(document, settings).map(|overlaid| overlaid.spec)
}

/// [`scheme`], and the settings that changed nothing.
///
/// # Errors
/// As [`scheme`].
pub(crate) fn overlaid_scheme(document: &Document, settings: &[Setting]) -> Result<Overlaid<Scheme>, Error> {
    overlaid(What::Scheme, document, settings)
}

/// The device of `document` with `settings`.
///
/// # Errors
/// An error in the text, with line and caret; all missing keys; an error in a setting, or in the device that results.
pub fn device(document: &Document, settings: &[Setting]) -> Result<DeviceSpec, Error> {
    overlaid_device(document, settings).map(|overlaid| overlaid.spec)
}

/// [`device`], and the settings that changed nothing.
///
/// # Errors
/// As [`device`].
pub(crate) fn overlaid_device(
    document: &Document,
    settings: &[Setting],
) -> Result<Overlaid<DeviceSpec>, Error> {
    let (what, Document { shown, text }) = (What::Device, document);
    DeviceSpec::from_toml(shown, text).map_err(|error| {
        let error = all_missing::<DeviceSpec>(error, shown, text, DEVICES[0]);
        Error::Text { what, error }
    })?;
    let device: Overlaid<DeviceSpec> = overlaid(what, document, settings)?;
    let all: Vec<&str> = settings.iter().map(|setting| setting.typed.as_str()).collect();
    let refuse = |message| Error::Setting { setting: all.join(" "), message };
    device.spec.validate().map_err(|error| refuse(format!("{error} ({shown})")))?;
    Ok(device)
}

fn overlaid<T: DeserializeOwned + PartialEq>(
    what: What,
    document: &Document,
    settings: &[Setting],
) -> Result<Overlaid<T>, Error> {
    let plain = |error| Error::Text { what, error };
    let mut spec: T = suggest::read_toml(&document.shown, &document.text).map_err(plain)?;
    let parsed = document.text.parse::<Table>();
    let mut table = parsed.map_err(|error| Error::spec(format!("{}: {error}", document.shown)))?;
    renamed::modernize(&mut table);
    let mut idle = Vec::new();
    for setting in settings {
        setting.has_effect()?;
        let refuse = |message: String| setting.refuse(&format!("{message} ({})", document.shown));
        setting.insert(&mut table).map_err(refuse)?;
        let changed = read(document, &table).map_err(|error| refuse(error.message))?;
        if changed == spec {
            idle.push(setting.clone());
        }
        spec = changed;
    }
    for (at, setting) in settings.iter().enumerate() {
        if !setting.is_in(&table) {
            let later: Vec<&str> = settings[at + 1..].iter().map(|later| later.typed.as_str()).collect();
            return Err(setting.refuse(&format!("{} undoes it; leave one of them out", later.join(" "))));
        }
    }
    Ok(Overlaid { spec, idle })
}

/// A remark for each former name in `document` and `settings`.
pub fn former_names(document: &Document, settings: &[Setting]) -> Vec<String> {
    // Text that is not TOML is refused when it is read.
    let in_file = document.text.parse().map(|mut table| renamed::modernize(&mut table)).unwrap_or_default();
    let in_file = in_file.into_iter().map(|remark| format!("{}: {remark}", document.shown));
    in_file.chain(settings.iter().filter_map(|setting| setting.former.clone())).collect()
}

/// A remark for each former name in `schemes`, with the `settings` of all.
pub(crate) fn former_names_of_schemes(schemes: &[SchemeSpec], settings: &[Setting]) -> Vec<String> {
    let own = schemes.iter().flat_map(|scheme| former_names(&scheme.document, &scheme.settings));
    let mut remarks: Vec<String> =
        own.chain(settings.iter().filter_map(|setting| setting.former.clone())).collect();
    remarks.sort_unstable();
    remarks.dedup();
    remarks
}

/// A remark for each setting that changed nothing in some schemes or devices, with their names.
pub(crate) fn remarks(what: What, idle: &[(String, Setting)]) -> Vec<String> {
    let mut remarks: Vec<(&Setting, Vec<&str>)> = Vec::new();
    for (name, setting) in idle {
        match remarks.iter_mut().find(|(other, _)| *other == setting) {
            Some((_, names)) if names.contains(&name.as_str()) => {}
            Some((_, names)) => names.push(name),
            None => remarks.push((setting, vec![name])),
        }
    }
    let remark = |(setting, names): (&Setting, Vec<&str>)| {
        let many = if names.len() == 1 { "" } else { "s" };
        format!(
            "setting {setting} has no effect in {what}{many} {}: it is the current value",
            names.join(", ")
        )
    };
    remarks.into_iter().map(remark).collect()
}

/// The settings of schemes and the settings of the device.
///
/// # Errors
/// A key that neither has, or both.
pub fn sort(
    settings: &[Setting],
    schemes: &[SchemeSpec],
    device: &Document,
) -> Result<(Vec<Setting>, Vec<Setting>), Error> {
    let (mut for_schemes, mut for_device) = (Vec::new(), Vec::new());
    let Some(first) = schemes.first() else { return Ok((for_schemes, for_device)) };
    for setting in settings {
        match setting.target(&first.document, device)? {
            Target::Scheme => for_schemes.push(setting.clone()),
            Target::Device => for_device.push(setting.clone()),
        }
    }
    Ok((for_schemes, for_device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stripewise_array::Metadata;
    use stripewise_array::update::{Tie, Update};
    use stripewise_base::units::Bytes;

    fn baseline() -> Document {
        Document::find(What::Scheme, "baseline").unwrap()
    }

    fn ssdsim() -> Document {
        Document::find(What::Device, "ssdsim-5+1").unwrap()
    }

    fn set(text: &str) -> Setting {
        text.parse().unwrap()
    }

    fn refusal<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
        outcome.unwrap_err().to_string()
    }

    #[test]
    fn a_setting_changes_the_scheme() {
        let scheme = scheme(&baseline(), &[set("update.tie=rcw"), set("geometry.chunk=16KiB")]).unwrap();
        assert_eq!(scheme.update, Update::Baseline { tie: Tie::Rcw });
        assert_eq!(scheme.geometry.chunk, Some(Bytes(16_384)));
    }

    #[test]
    fn former_names_are_present_ones_from_the_start() {
        for (former, present) in [
            ("elastic.survivors=coldest", "elastic.relocations=coldest"),
            ("scheme.elastic.survivors=coldest", "scheme.elastic.relocations=coldest"),
            ("parity.window=elements", "parity.window=members"),
            ("device.ftl.pool=element", "device.ftl.pool=member"),
            ("elastic={survivors=\"coldest\"}", "elastic={ relocations = \"coldest\" }"),
        ] {
            let (former, present) = (set(former), set(present));
            assert_eq!(
                (&former.path, &former.value, &former.typed),
                (&present.path, &present.value, &present.typed)
            );
            assert!(former.former.is_some() && present.former.is_none(), "{present}");
        }
    }

    #[test]
    fn a_setting_changes_the_device() {
        let settings = [
            set("device.geometry.blocks=256"),
            set("gc.victim.d-choices=4"),
            set("gc.low_watermark.blocks=5%"),
        ];
        let spec = device(&ssdsim(), &settings).unwrap();
        assert_eq!(spec.geometry.blocks, 256);
        assert_eq!(spec.gc.victim, stripewise_flash::spec::Victim::DChoices(4));
    }

    #[test]
    fn another_policy_forgets_the_keys_of_the_one_before() {
        let scheme = scheme(&baseline(), &[set("update.policy=always-rcw")]).unwrap();
        assert_eq!(scheme.update, Update::AlwaysRcw {});
    }

    #[test]
    fn a_setting_that_a_later_one_undoes_is_refused() {
        let message = refusal(scheme(&baseline(), &[set("update.tie=rcw"), set("update.policy=bpu")]));
        assert_eq!(message, "setting update.tie=rcw: update.policy=bpu undoes it; leave one of them out");
        let message = refusal(scheme(&baseline(), &[set("parity.window=3"), set("scheme.parity.window=4")]));
        assert!(message.contains("setting parity.window=3: scheme.parity.window=4 undoes it"), "{message}");
        let kinds = [set("gc.low_watermark.blocks=5%"), set("gc.low_watermark.pages=5%")];
        assert!(refusal(device(&ssdsim(), &kinds)).contains("undoes it"));
        assert!(scheme(&baseline(), &[set("update.policy=baseline"), set("update.tie=rcw")]).is_ok());
    }

    #[test]
    fn a_key_finds_its_target_where_it_is_known() {
        let target = |text: &str| set(text).target(&baseline(), &ssdsim()).unwrap();
        assert_eq!(target("update.tie=rcw"), Target::Scheme);
        assert_eq!(target("geometry.chunk=16KiB"), Target::Scheme);
        assert_eq!(target("geometry.blocks=100"), Target::Device);
        assert_eq!(target("gc.victim=fifo"), Target::Device);
        assert_eq!(target("device.geometry.blocks=100"), Target::Device);
    }

    #[test]
    fn an_unknown_key_gets_the_nearest_one() {
        let message = refusal(set("geometry.chunck=16KiB").target(&baseline(), &ssdsim()));
        assert!(message.contains("setting geometry.chunck=16KiB"), "{message}");
        assert!(message.contains("did you mean `chunk`?"), "{message}");
    }

    #[test]
    fn only_the_one_that_has_the_section_speaks_of_its_keys() {
        let message = refusal(set("update.tei=rcw").target(&baseline(), &ssdsim()));
        assert_eq!(message, "setting update.tei=rcw: unknown key `tei`; did you mean `tie`?");
        let message = refusal(set("gc.victm=fifo").target(&baseline(), &ssdsim()));
        assert_eq!(message, "setting gc.victm=fifo: unknown key `victm`; did you mean `victim`?");
    }

    #[test]
    fn a_value_that_is_wrong_is_reported_with_its_remedy() {
        let message = refusal(set("geometry.chunk=16").target(&baseline(), &ssdsim()));
        assert!(message.contains("has no unit"), "{message}");
        let message = refusal(scheme(&baseline(), &[set("update.tie=rwc")]));
        assert!(message.contains("did you mean `rcw`?"), "{message}");
    }

    #[test]
    fn a_device_that_settings_spoil_together_is_refused_with_the_reason() {
        let message = refusal(device(&ssdsim(), &[set("ftl.over_provisioning=1%")]));
        assert!(
            message.contains("setting ftl.over_provisioning=1%") && message.contains("raise"),
            "{message}"
        );
    }

    #[test]
    fn text_that_is_no_setting_is_refused() {
        for text in ["tie", ".tie=rcw", "update.=x", "=x"] {
            assert!(text.parse::<Setting>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_key_outside_all_sections_is_a_setting_too() {
        let durable = [set("metadata=on")];
        assert_eq!(durable[0].target(&baseline(), &ssdsim()).unwrap(), Target::Scheme);
        assert_eq!(scheme(&baseline(), &durable).unwrap().metadata, Metadata::On);
        assert_eq!(scheme(&baseline(), &[set("scheme.metadata=on")]).unwrap().metadata, Metadata::On);
        let message = refusal(set("metdata=on").target(&baseline(), &ssdsim()));
        assert!(
            message.contains("in the scheme: unknown key `metdata`; did you mean `metadata`?"),
            "{message}"
        );
        let message = refusal(scheme(&baseline(), &[set("scheme=on")]));
        assert!(message.contains("the key is empty"), "{message}");
        let message = refusal(scheme(&baseline(), &[set("update=baseline")]));
        assert!(message.contains("setting update=baseline"), "{message}");
    }

    #[test]
    fn a_setting_that_can_have_no_effect_is_refused() {
        for text in ["name=x", "scheme.name=x", "device.name=x", "description=x"] {
            let message = refusal(set(text).target(&baseline(), &ssdsim()));
            assert!(message.contains("only labels"), "{message}");
        }
        assert!(refusal(scheme(&baseline(), &[set("name=x")])).contains("only labels"));
        assert!(refusal(device(&ssdsim(), &[set("device.name=x")])).contains("only labels"));
    }

    #[test]
    fn a_setting_that_is_there_already_is_allowed_and_remarked_once_for_all_schemes() {
        let settings = [set("update.tie=rmw"), set("geometry.chunk=16KiB"), set("geometry.chunk=16KiB")];
        let idle = overlaid_scheme(&baseline(), &settings).unwrap().idle;
        assert_eq!(idle, [set("update.tie=rmw"), set("geometry.chunk=16KiB")]);
        assert_eq!(overlaid_device(&ssdsim(), &[set("geometry.blocks=512")]).unwrap().idle.len(), 1);
        assert_eq!(overlaid_device(&ssdsim(), &[set("geometry.blocks=511")]).unwrap().idle, []);
        let of = |name: &str| (name.to_owned(), set("update.tie=rmw"));
        assert_eq!(
            remarks(What::Scheme, &[of("a"), of("b"), of("a")]),
            ["setting update.tie=rmw has no effect in schemes a, b: it is the current value"]
        );
    }

    #[test]
    fn values_are_read_as_toml_where_they_are_toml() {
        let value = |text: &str| value_of(text);
        assert_eq!(value("3"), Value::Integer(3));
        assert_eq!(value("true"), Value::Boolean(true));
        assert_eq!(value("8KiB"), Value::String("8KiB".into()));
        assert_eq!(value("10%"), Value::String("10%".into()));
        assert_eq!(value("\"3\""), Value::String("3".into()));
        assert!(value("{ d-choices = 4 }").is_table());
    }
}
