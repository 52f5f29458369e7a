//! Former names of keys and values of schemes and devices. They are accepted for one release after the renaming, and for
//! ever where an array or a run recorded them.

use toml::{Table, Value};

/// Keys, as paths through the tables of a scheme or a device: the former path and the present one.
const KEYS: [(&str, &str); 1] = [("elastic.survivors", "elastic.relocations")];

/// Sections: the former name and the present one.
const SECTIONS: [(&str, &str); 1] = [("log", "parity_logging")];

/// Values: the path of the key, the former value and the present one.
const VALUES: [(&str, &str, &str); 2] =
    [("parity.window", "elements", "members"), ("ftl.pool", "element", "member")];

/// The present path of the key at `path`, if that is a former path.
pub fn key(path: &str) -> Option<String> {
    if let Some((_, present)) = KEYS.iter().find(|(former, _)| *former == path) {
        return Some((*present).to_owned());
    }
    let (section, key) = path.split_once('.')?;
    let (_, present) = SECTIONS.iter().find(|(former, _)| *former == section)?;
    Some(format!("{present}.{key}"))
}

/// The present name of the `value` of the key at `path`, if it is a former name.
pub fn value(path: &str, value: &str) -> Option<&'static str> {
    let names = |&&(key, former, _): &&(&str, &str, &str)| key == path && former == value;
    VALUES.iter().find(names).map(|(_, _, present)| *present)
}

/// Whether `word`, one of the `known` words of a place, is the former name of a key, a section or a value there: messages do
/// not propose it.
pub fn is_former(word: &str, known: &[&str]) -> bool {
    // `log` is also the present name of a value elsewhere.
    if SECTIONS.iter().any(|(former, present)| *former == word && known.contains(present)) {
        return true;
    }
    let keys = KEYS.iter().filter_map(|(former, _)| former.rsplit('.').next());
    keys.chain(VALUES.iter().map(|(_, former, _)| *former)).any(|former| former == word)
}

/// Gives the keys and values of `table`, a scheme or a device, their present names. Returns a remark for each former name.
pub fn modernize(table: &mut Table) -> Vec<String> {
    let mut remarks = Vec::new();
    for (former, present) in KEYS {
        // A file with both names is refused when it is read.
        if at(table, present).is_none()
            && let Some(value) = take(table, former)
        {
            put(table, present, value);
            remarks.push(remark(former, present));
        }
    }
    for (former, present) in SECTIONS {
        if !table.contains_key(present)
            && let Some(section) = table.remove(former)
        {
            table.insert(present.to_owned(), section);
            remarks.push(remark(&format!("[{former}]"), &format!("[{present}]")));
        }
    }
    for (path, former, present) in VALUES {
        if at(table, path).and_then(Value::as_str) == Some(former) {
            put(table, path, present.into());
            remarks.push(remark(&format!("{path} = \"{former}\""), &format!("{path} = \"{present}\"")));
        }
    }
    remarks
}

/// The complaint about a section or key of `table` that is there under its former name and its present one.
pub fn given_twice(table: &Table) -> Option<String> {
    let sections = SECTIONS
        .iter()
        .filter(|(former, present)| table.contains_key(*former) && table.contains_key(*present));
    let sections = sections.map(|(former, present)| (format!("[{former}]"), format!("[{present}]")));
    let keys =
        KEYS.iter().filter(|(former, present)| at(table, former).is_some() && at(table, present).is_some());
    let keys = keys.map(|(former, present)| ((*former).to_owned(), (*present).to_owned()));
    let (former, present) = sections.chain(keys).next()?;
    Some(format!("`{former}` is the former name of `{present}`, and both are given; keep `{present}`"))
}

/// The remark on a former name.
pub fn remark(former: &str, present: &str) -> String {
    format!("`{former}` is now `{present}`; the next release will refuse the former name")
}

fn at<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    let (section, key) = path.split_once('.')?;
    table.get(section)?.get(key)
}

fn take(table: &mut Table, path: &str) -> Option<Value> {
    let (section, key) = path.split_once('.')?;
    table.get_mut(section)?.as_table_mut()?.remove(key)
}

fn put(table: &mut Table, path: &str, value: Value) {
    let Some((section, key)) = path.split_once('.') else { return };
    if let Some(section) = table.get_mut(section).and_then(Value::as_table_mut) {
        section.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modernized(text: &str) -> (Table, Vec<String>) {
        let mut table = text.parse().unwrap();
        let remarks = modernize(&mut table);
        (table, remarks)
    }

    #[test]
    fn former_names_become_present_ones_with_a_remark_each() {
        let (table, remarks) = modernized(
            "[elastic]\nsurvivors = 'coldest'\n[parity]\nwindow = 'elements'\n[ftl]\npool = 'element'",
        );
        let present =
            "[elastic]\nrelocations = 'coldest'\n[parity]\nwindow = 'members'\n[ftl]\npool = 'member'";
        assert_eq!(table, present.parse().unwrap());
        assert_eq!(remarks.len(), 3);
        assert_eq!(
            remarks[0],
            "`elastic.survivors` is now `elastic.relocations`; the next release will refuse the former name"
        );
    }

    #[test]
    fn a_former_section_becomes_the_present_one_with_its_keys() {
        let (table, remarks) = modernized("[log]\ncommits = 2");
        assert_eq!(table, "[parity_logging]\ncommits = 2".parse().unwrap());
        assert_eq!(
            remarks,
            ["`[log]` is now `[parity_logging]`; the next release will refuse the former name"]
        );
        assert_eq!(key("log.commits").as_deref(), Some("parity_logging.commits"));
        assert_eq!(key("elastic.survivors").as_deref(), Some("elastic.relocations"));
        assert_eq!(key("parity_logging.commits"), None);
        let both = "[log]\ncommits = 2\n[parity_logging]\ncommits = 3";
        assert_eq!(modernized(both), (both.parse().unwrap(), Vec::new()));
    }

    #[test]
    fn the_name_of_a_former_section_is_proposed_where_it_is_a_present_value() {
        assert!(is_former("log", &["log", "parity_logging", "zones"]));
        assert!(!is_former("log", &["in-place", "log"]));
        assert!(is_former("survivors", &["survivors", "relocations"]));
    }

    #[test]
    fn what_is_given_under_both_names_is_named() {
        let twice = |text: &str| given_twice(&text.parse().unwrap());
        assert_eq!(
            twice("[log]\ncommits = 2\n[parity_logging]").unwrap(),
            "`[log]` is the former name of `[parity_logging]`, and both are given; keep `[parity_logging]`"
        );
        let keys = twice("[elastic]\nrelocations = 'apart'\nsurvivors = 'apart'").unwrap();
        assert!(
            keys.starts_with("`elastic.survivors` is the former name of `elastic.relocations`"),
            "{keys}"
        );
        assert_eq!(twice("[log]\n[elastic]\nrelocations = 'apart'"), None);
        assert_eq!(twice("[parity_logging]\n[elastic]\nsurvivors = 'apart'"), None);
    }

    #[test]
    fn present_names_stay_without_a_remark() {
        let text =
            "name = 'elements'\n[elastic]\nrelocations = 'apart'\n[parity]\nwindow = 3\n[ftl]\npool = 'die'";
        assert_eq!(modernized(text), (text.parse().unwrap(), Vec::new()));
    }

    #[test]
    fn a_key_with_both_names_keeps_both_and_is_refused_by_the_reader() {
        let text = "[elastic]\nrelocations = 'apart'\nsurvivors = 'apart'";
        assert_eq!(modernized(text), (text.parse().unwrap(), Vec::new()));
    }
}
