//! What the fingerprint of the sources, `stripewise_sim::SOURCES`, says, and what it does not depend on.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use tempfile::TempDir;

use crate::sources::packages::below;
use crate::sources::tokens::code;
use crate::sources::{Sources, fingerprint};

/// The tree of this crate.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

const LOCK: &str = r#"
[[package]]
name = "stripewise"
version = "0.1.0"
dependencies = ["clap", "stripewise-sim"]

[[package]]
name = "stripewise-core"
version = "0.1.0"
dependencies = ["bytes 1.0.0", "cc", "proptest"]

[[package]]
name = "stripewise-sim"
version = "0.1.0"
dependencies = ["proptest", "stripewise-core"]

[[package]]
name = "bytes"
version = "1.0.0"
source = "registry"
checksum = "b1"
dependencies = ["memchr"]

[[package]]
name = "bytes"
version = "0.9.0"
source = "registry"
checksum = "b0"

[[package]]
name = "cc"
version = "1.1.0"
source = "registry"
checksum = "cc"

[[package]]
name = "clap"
version = "4.0.0"
source = "registry"
checksum = "cl"
dependencies = ["bytes 0.9.0"]

[[package]]
name = "memchr"
version = "2.0.0"
source = "registry"
checksum = "m2"

[[package]]
name = "proptest"
version = "1.2.0"
source = "registry"
checksum = "p1"
"#;

/// A tree in which `stripewise-sim` depends on `stripewise-core`, and that on `bytes` and thereby on `memchr`.
const TREE: [(&str, &str); 10] = [
    ("Cargo.lock", LOCK),
    (
        "crates/sim/Cargo.toml",
        "[dependencies]\nstripewise-core.workspace = true\n[dev-dependencies]\nproptest = \"1\"\n",
    ),
    ("crates/sim/src/lib.rs", "pub mod run;\n"),
    ("crates/sim/src/run.rs", "pub fn run() -> u32 { 1 }\n"),
    (
        "crates/core/Cargo.toml",
        "[dependencies]\nbytes.workspace = true\n[build-dependencies]\ncc = \"1\"\n[dev-dependencies]\nproptest = \"1\"\n",
    ),
    (
        "crates/core/src/lib.rs",
        "//! The core.

pub mod policy;

/// Adds.
#[must_use]
pub fn add(a: u32, b: u32) -> u32 {
    a + b // wraps
}

#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(super::add(1, 2), 3);
    }
}
",
    ),
    ("crates/core/src/policy.rs", "pub const LEAST: &str = \"a\";\n\n#[cfg(test)]\nmod tests;\n"),
    ("crates/core/src/policy/tests.rs", "mod more;\n\n#[test]\nfn holds() {}\n"),
    ("presets/devices/one.toml", "# One.\nread = \"50 us\"\nplanes = 2\n"),
    ("presets/profiles/two.toml", "[a]\nshare = 0.5\n"),
];

struct Tree(TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        TREE.iter().for_each(|(file, text)| tree.write(file, text));
        tree
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn replace(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.0.path().join(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from:?}");
        self.write(file, &text.replace(from, to));
    }

    fn rename(&self, from: &str, to: &str) {
        let to = self.0.path().join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(self.0.path().join(from), to).unwrap();
    }

    fn digest(&self) -> u64 {
        fingerprint(self.0.path()).unwrap().digest
    }
}

/// Whether the fingerprint changes when `from` becomes `to` in a file.
fn changes(file: &str, from: &str, to: &str) -> bool {
    let tree = Tree::new();
    let before = tree.digest();
    tree.replace(file, from, to);
    before != tree.digest()
}

#[test]
fn comments_layout_and_tests_do_not_count() {
    for (file, from, to) in [
        ("crates/core/src/lib.rs", "// wraps", "/* never */"),
        ("crates/core/src/lib.rs", "/// Adds.", "/// Adds two numbers.\n///\n/// # Panics\n/// Never."),
        ("crates/core/src/lib.rs", "//! The core.", "#![doc = \"What others use.\"]"),
        ("crates/core/src/lib.rs", "(a: u32, b: u32)", "(\n    a: u32,\n    b: u32\n)"),
        ("crates/core/src/lib.rs", "1, 2), 3", "2, 2), 4"),
        (
            "crates/core/src/lib.rs",
            "#[cfg(test)]",
            "#[allow(missing_docs)]\n#[cfg(all(test, unix))]\n/// Its tests.\n",
        ),
        ("crates/core/src/lib.rs", "#[must_use]", "#[cfg(test)]\nuse std::{fs, io};\n#[must_use]"),
        ("crates/core/src/lib.rs", "#[must_use]", "#[cfg(test)]\nconst fn one() -> u32 { 1 }\n#[must_use]"),
        (
            "crates/core/src/lib.rs",
            "#[must_use]",
            "#[cfg(test)]\npub(crate) const ONE: Some = Some { of: 1 };\n#[must_use]",
        ),
        ("crates/core/src/lib.rs", "    a + b", "    #[cfg(test)]\n    let c = { a };\n    a + b"),
        ("crates/core/src/policy/tests.rs", "fn holds() {}", "fn holds() { assert!(true) }"),
    ] {
        assert!(!changes(file, from, to), "{file}: {from:?} became {to:?}");
    }
}

#[test]
fn every_other_token_counts() {
    for (file, from, to) in [
        ("crates/core/src/lib.rs", "a + b", "a - b"),
        ("crates/core/src/lib.rs", "a + b", "b + a"),
        ("crates/core/src/lib.rs", "a + b", "(a + b)"),
        ("crates/core/src/lib.rs", "-> u32", "-> u64"),
        ("crates/core/src/lib.rs", "#[must_use]", ""),
        ("crates/core/src/lib.rs", "#[cfg(test)]", "#[cfg(not(test))]"),
        ("crates/core/src/lib.rs", "#[cfg(test)]", "#[cfg(any(test, unix))]"),
        ("crates/core/src/lib.rs", "#[must_use]", "#[cfg(test)]\nfn none() {}\nfn one() {}\n#[must_use]"),
        ("crates/core/src/policy.rs", "\"a\"", "\"a \""),
        ("crates/sim/src/run.rs", "{ 1 }", "{ 2 }"),
    ] {
        assert!(changes(file, from, to), "{file}: {from:?} became {to:?}");
    }
}

#[test]
fn a_space_counts_only_inside_an_operator() {
    assert_eq!(code("a&&b").unwrap().tokens, code("a  && b").unwrap().tokens);
    assert_ne!(code("a && b").unwrap().tokens, code("a & &b").unwrap().tokens);
}

#[test]
fn a_file_that_only_tests_compile_does_not_count() {
    let tree = Tree::new();
    let before = tree.digest();
    tree.rename("crates/core/src/policy/tests.rs", "crates/core/src/policy/tests/mod.rs");
    tree.write("crates/core/src/policy/tests/more.rs", "fn more() {}\n");
    assert_eq!(before, tree.digest());
    tree.write("crates/core/src/policy/testing.rs", "fn more() {}\n");
    assert_ne!(before, tree.digest(), "no test module of policy.rs");
}

#[test]
fn a_file_whose_content_only_tests_compile_counts_without_content() {
    assert_eq!(code("//! Tests.\n#![cfg(test)]\nfn one() {}").unwrap().tokens, "");
    assert_eq!(
        code("mod a { #![cfg(test)] fn one() {} } mod b;").unwrap().tokens,
        code("mod a {} mod b;").unwrap().tokens
    );
}

#[test]
fn a_module_may_move_into_its_folder_and_not_take_the_place_of_another() {
    let tree = Tree::new();
    let before = tree.digest();
    tree.rename("crates/core/src/policy.rs", "crates/core/src/policy/mod.rs");
    assert_eq!(before, tree.digest());

    tree.write("crates/sim/src/a.rs", "pub fn f() -> u32 { 1 }");
    tree.write("crates/sim/src/b.rs", "pub fn f() -> u32 { 2 }");
    let before = tree.digest();
    tree.rename("crates/sim/src/a.rs", "crates/sim/src/c.rs");
    tree.rename("crates/sim/src/b.rs", "crates/sim/src/a.rs");
    tree.rename("crates/sim/src/c.rs", "crates/sim/src/b.rs");
    assert_ne!(before, tree.digest());
}

#[test]
fn attributes_of_an_item_go_with_it_and_those_of_the_file_stay() {
    let left = code("#![a] #[b] #[cfg(test)] #[c] mod tests { } #[d] fn one() {}").unwrap().tokens;
    assert_eq!(left, code("#![a] #[d] fn one() {}").unwrap().tokens);
}

#[test]
fn what_is_left_out_must_be_an_item() {
    for text in ["struct S { #[cfg(test)] seen: u32, kept: u32 }", "fn f() { #[cfg(test)] if a {} else {} }"]
    {
        assert!(code(text).is_err_and(|error| error.contains("before an item")), "{text}");
    }
}

#[test]
fn values_of_presets_count_and_their_layout_does_not() {
    let device = "presets/devices/one.toml";
    assert!(!changes(device, "# One.", "# Another comment."));
    assert!(!changes(device, "read = \"50 us\"\nplanes = 2", "planes   =  2\nread = '50 us'"));
    assert!(changes(device, "planes = 2", "planes = 4"));
    assert!(changes("presets/profiles/two.toml", "0.5", "0.25"));

    let tree = Tree::new();
    let before = tree.digest();
    tree.rename(device, "presets/devices/two.toml");
    assert_ne!(before, tree.digest());
}

#[test]
fn of_other_crates_only_dependencies_of_the_program_count() {
    let lock = "Cargo.lock";
    for (from, to) in [
        ("version = \"4.0.0\"", "version = \"4.0.1\""), // clap, of the command
        ("checksum = \"b0\"", "checksum = \"b9\""),     // the bytes of clap
        ("checksum = \"p1\"", "checksum = \"p2\""),     // proptest, of tests
        ("version = \"1.1.0\"", "version = \"1.1.1\""), // cc, of a build script
    ] {
        assert!(!changes(lock, from, to), "{from} became {to}");
    }
    for (from, to) in [
        ("1.0.0", "1.0.1"),                             // bytes
        ("checksum = \"b1\"", "checksum = \"b9\""),     // the same version with other content
        ("version = \"2.0.0\"", "version = \"2.0.1\""), // memchr, which bytes depends on
        ("\"bytes 1.0.0\"", "\"bytes 0.9.0\""),
    ] {
        assert!(changes(lock, from, to), "{from} became {to}");
    }
    let found = below("stripewise-sim", LOCK, |name| {
        let name = name.trim_start_matches("stripewise-");
        Ok(fs::read_to_string(Tree::new().0.path().join(format!("crates/{name}/Cargo.toml"))).unwrap())
    });
    let found = found.unwrap();
    assert_eq!(Vec::from_iter(&found.ours), ["stripewise-core", "stripewise-sim"]);
    assert_eq!(Vec::from_iter(&found.external), ["bytes 1.0.0 b1", "memchr 2.0.0 m2"]);
}

#[test]
fn a_lock_file_without_a_dependency_is_refused() {
    let tree = Tree::new();
    tree.replace("Cargo.lock", "\"bytes 1.0.0\", ", "");
    let error = fingerprint(tree.0.path()).err().unwrap();
    assert_eq!(error, "Cargo.lock has no dependency `bytes` of stripewise-core");
}

#[test]
fn the_lock_file_may_lack_what_other_crates_need() {
    // As cargo prunes it: there is one package `bytes`, so that entries do not say which.
    let tree = Tree::new();
    let before = tree.digest();
    let end = |text: &str| LOCK.find(text).unwrap();
    let mut pruned = LOCK.to_owned();
    pruned.replace_range(end("[[package]]\nname = \"clap\"")..end("[[package]]\nname = \"memchr\""), "");
    pruned.replace_range(
        end("[[package]]\nname = \"bytes\"\nversion = \"0.9.0\"")..end("[[package]]\nname = \"cc\""),
        "",
    );
    pruned.replace_range(
        end("[[package]]\nname = \"stripewise\"\n")..end("[[package]]\nname = \"stripewise-core\""),
        "",
    );
    tree.write("Cargo.lock", &pruned.replace("bytes 1.0.0", "bytes"));
    assert_eq!(before, tree.digest());
}

#[test]
fn this_tree_has_the_fingerprint_of_this_program() {
    let Sources { digest, read } = fingerprint(Path::new(ROOT)).unwrap();
    assert_eq!(format!("{digest:016x}"), stripewise_sim::SOURCES);
    for name in
        ["base", "code", "flash", "trace", "core", "format", "policy", "scheme", "exec", "array", "sim"]
    {
        assert!(
            read.contains(&Path::new(ROOT).join("crates").join(name).join("src")),
            "{name} decides results"
        );
    }
}

/// The Python package's source distribution, and its `Cargo.lock` as cargo prunes it when it builds the package.
#[test]
fn a_source_package_has_the_same_fingerprint() {
    let (root, package) = (Path::new(ROOT).canonicalize().unwrap(), tempfile::tempdir().unwrap());
    let text = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let link = |folder: &str| symlink(root.join(folder), package.path().join(folder)).unwrap();
    let folder = |name: &str| match name.trim_start_matches("stripewise-") {
        "python" => "python".to_owned(),
        name => format!("crates/{name}"),
    };
    // What maturin puts into it: the crates below that of the package, and what is listed for it.
    let lock = text("Cargo.lock");
    let ours = below("stripewise-python", &lock, |name| Ok(text(&format!("{}/Cargo.toml", folder(name)))));
    let mut packed = ours.unwrap().ours;
    // Manifests name what tests need, so maturin packs that, too.
    for name in packed.clone() {
        let manifest: toml::Table = text(&format!("{}/Cargo.toml", folder(&name))).parse().unwrap();
        let of_tests = manifest.get("dev-dependencies").and_then(toml::Value::as_table).into_iter().flatten();
        packed.extend(of_tests.map(|(name, _)| name.clone()).filter(|name| name.starts_with("stripewise-")));
    }
    fs::create_dir(package.path().join("crates")).unwrap();
    packed.iter().for_each(|name| link(&folder(name)));
    let project: toml::Table = text("pyproject.toml").parse().unwrap();
    let listed = project["tool"]["maturin"]["include"].as_array().unwrap().iter();
    let listed = listed.filter_map(|entry| entry["path"].as_str()?.strip_suffix("/**/*.toml"));
    listed.for_each(link);
    let workspace = text("Cargo.toml").replace("default-members = [\"crates/cli\"]\n", "");
    fs::write(package.path().join("Cargo.toml"), workspace).unwrap();
    fs::write(package.path().join("Cargo.lock"), &lock).unwrap();

    let mut cargo = Command::new(env!("CARGO"));
    let cargo = cargo.args(["update", "--workspace", "--offline"]).current_dir(&package).output();
    let cargo = cargo.unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let pruned = fs::read_to_string(package.path().join("Cargo.lock")).unwrap();
    assert!(pruned.len() < lock.len() && !pruned.contains("name = \"clap\""));
    assert_eq!(fingerprint(package.path()).unwrap().digest, fingerprint(&root).unwrap().digest);
}

/// A token of a program, or a group of them.
fn token() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("fn".to_owned()),
        Just("'a".to_owned()),
        Just("'a'".to_owned()),
        Just("\"// no comment\"".to_owned()),
        Just("r#\"/* nor \" this */\"#".to_owned()),
        Just("&&".to_owned()),
        Just("..=".to_owned()),
        "[a-z]{1,4}",
        "[0-9]{1,3}u32",
    ];
    token.prop_recursive(3, 20, 5, |token| {
        let inside = prop::collection::vec(token, 0..5).prop_map(|tokens| tokens.join(" "));
        (inside, 0..4u8).prop_map(|(inside, kind)| match kind {
            0 => format!("({inside})"),
            1 => format!("[{inside}]"),
            2 => format!("{{{inside}}}"),
            _ => format!("#[cfg(test)] mod tests {{{inside}}}"),
        })
    })
}

/// What may stand between two tokens.
fn between() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(" ".to_owned()),
        "[ \n\t]{1,5}",
        "[a-z\"'{(]{0,6}".prop_map(|text| format!(" // {text}\n")),
        "[a-z\"'{(]{0,6}".prop_map(|text| format!(" /* {text} /* nested */ */ ")),
    ]
}

proptest! {
    #[test]
    fn nothing_between_two_tokens_counts(pieces in prop::collection::vec((token(), between()), 0..20)) {
        let plain: String = pieces.iter().map(|(token, _)| format!("{token} ")).collect();
        let written: String = pieces.iter().map(|(token, between)| format!("{token}{between}")).collect();
        let plain = code(&plain).unwrap();
        prop_assert_eq!(&plain.tokens, &code(&written).unwrap().tokens);
        prop_assert_eq!(&plain.tokens, &code(&plain.tokens).unwrap().tokens, "tokens are code again");
        prop_assert!(!plain.tokens.contains("cfg"));
    }

    #[test]
    fn a_removed_token_counts(tokens in prop::collection::vec("[a-z]{1,4}|[0-9]{1,3}|[+*<]", 1..20), index: prop::sample::Index) {
        let mut fewer = tokens.clone();
        fewer.remove(index.index(tokens.len()));
        prop_assert_ne!(code(&tokens.join(" ")).unwrap().tokens, code(&fewer.join(" ")).unwrap().tokens);
    }
}
