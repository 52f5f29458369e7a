//! A scheme in few bytes: only the settings that differ from their defaults. An array stores its own scheme in this form.

use toml::Table;

use super::{Scheme, SchemeError};

impl Scheme {
    /// The shortest TOML from which [`Self::from_settings`] restores this scheme: without name and description, and
    /// without every key that has its default.
    pub fn to_settings(&self) -> String {
        let bare = Self { description: String::new(), ..self.clone() };
        let settings = table(&bare);
        // Most keys have their defaults, and one look finds these. Each other key costs a look at the whole scheme.
        let less = without_defaults(&settings, &bare.name);
        let mut settings = if means(&less, &bare) { less } else { settings };
        for path in paths(&settings) {
            let mut less = settings.clone();
            remove(&mut less, &path);
            if means(&less, &bare) {
                settings = less;
            }
        }
        settings.remove("name");
        settings.to_string()
    }

    /// The scheme called `name` with the output `settings` of [`Self::to_settings`].
    ///
    /// # Errors
    /// As [`Self::from_toml`].
    pub fn from_settings(name: &str, settings: &str) -> Result<Self, SchemeError> {
        let name = toml::Value::from(name);
        Self::from_toml("the settings in the superblock", &format!("name = {name}\n{settings}"))
    }
}

fn table(scheme: &Scheme) -> Table {
    Table::try_from(scheme).expect("a scheme holds nothing that TOML cannot say")
}

fn means(settings: &Table, scheme: &Scheme) -> bool {
    settings.clone().try_into().is_ok_and(|read: Scheme| read == *scheme)
}

/// `settings` without the keys and sections that a scheme called `name` has if nothing else is said.
fn without_defaults(settings: &Table, name: &str) -> Table {
    let silent = Table::from_iter([("name".to_owned(), name.into())]);
    let Ok(defaults) = silent.try_into().map(|scheme: Scheme| table(&scheme)) else {
        return settings.clone();
    };
    let mut less = settings.clone();
    less.retain(|key, value| {
        if let (Some(section), Some(toml::Value::Table(plain))) = (value.as_table_mut(), defaults.get(key)) {
            section.retain(|key, value| plain.get(key) != Some(value));
            return !section.is_empty();
        }
        key == "name" || defaults.get(key) != Some(value)
    });
    less
}

/// All keys of a scheme; the keys of a section follow the section.
fn paths(scheme: &Table) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for (key, value) in scheme {
        paths.push(vec![key.clone()]);
        let inner = value.as_table().into_iter().flat_map(Table::keys);
        paths.extend(inner.map(|inner| vec![key.clone(), inner.clone()]));
    }
    paths
}

fn remove(table: &mut Table, path: &[String]) {
    match path {
        [key] => drop(table.remove(key)),
        [key, rest @ ..] => {
            if let Some(inner) = table.get_mut(key).and_then(toml::Value::as_table_mut) {
                remove(inner, rest);
            }
        }
        [] => {}
    }
}

#[cfg(test)]
mod tests {
    use stripewise_format::{SUPERBLOCK_MEMBERS_MAX, VERSION, settings_bytes_max};

    use super::*;

    #[test]
    fn a_scheme_is_read_again_from_its_settings() {
        let text = "metadata = 'on'\n[elastic]\nreserve = '40%'\n[placement]\npolicy = 'elastic'";
        let scheme = Scheme::from_settings("it's \"mine\"", text).unwrap();
        let settings = scheme.to_settings();
        assert_eq!(Scheme::from_settings(&scheme.name, &settings), Ok(scheme));
        for said in ["reserve = \"40%\"", "metadata = \"on\"", "policy = \"elastic\""] {
            assert_eq!(settings.matches(said).count(), 1, "{said}: {settings}");
        }
        assert_eq!(settings.matches('=').count(), 3, "what has its default is left out: {settings}");
    }

    #[test]
    fn what_says_nothing_has_no_settings() {
        let scheme = Scheme::from_toml("test", "name = \"x\"\ndescription = \"as it comes\"").unwrap();
        assert_eq!(scheme.to_settings(), "");
        let error = Scheme::from_settings("x", "nam = 1").unwrap_err().to_string();
        assert!(error.contains("the settings in the superblock"), "{error}");
    }

    /// Drops one key after another, as long as the rest means the same.
    fn slowly(scheme: &Scheme) -> String {
        let mut settings = table(scheme);
        for path in paths(&settings) {
            let mut less = settings.clone();
            remove(&mut less, &path);
            settings = if means(&less, scheme) { less } else { settings };
        }
        settings.remove("name");
        settings.to_string()
    }

    #[test]
    fn what_ships_fits_into_a_superblock_and_is_read_again() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../presets/schemes");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let mut seen = 0;
        for path in files.filter(|path| path.extension().is_some_and(|found| found == "toml")) {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut scheme = Scheme::from_toml("test", &text).unwrap();
            scheme.description.clear();
            let settings = scheme.to_settings();
            assert_eq!(settings, slowly(&scheme), "{}", path.display());
            assert_eq!(Scheme::from_settings(&scheme.name, &settings), Ok(scheme), "{}", path.display());
            assert!(
                settings.len() <= settings_bytes_max(VERSION, SUPERBLOCK_MEMBERS_MAX),
                "{}: {} bytes",
                path.display(),
                settings.len()
            );
            seen += 1;
        }
        assert!(seen > 10);
    }
}
