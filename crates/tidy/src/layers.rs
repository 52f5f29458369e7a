//! The layers: the allowed dependencies, and the interfaces that the layers below the drivers must not use.

use crate::Complaint;

/// Each crate of this tree and the crates of the tree that it may depend on. Tests may depend on any except the
/// command.
const ARROWS: [(&str, &[&str]); 26] = [
    ("base", &[]),
    ("code", &["base"]),
    ("flash", &["base"]),
    ("trace", &["base"]),
    ("reliability", &["base"]),
    ("core", &["base", "code"]),
    ("format", &["base", "code", "core"]),
    ("policy", &["base", "core"]),
    ("scheme", &["base", "code", "core", "format", "policy"]),
    ("exec", &["base", "code", "core", "format", "policy", "scheme"]),
    ("array", &["base", "code", "core", "format", "policy", "scheme", "exec"]),
    ("sim", &["base", "code", "flash", "trace", "array"]),
    ("results", &["base", "trace", "sim"]),
    ("report", &["base", "flash", "reliability", "array", "sim", "results"]),
    ("runs", &["base", "flash", "trace", "array", "sim", "results"]),
    ("papers", &["base", "flash", "trace", "reliability", "array", "sim", "results", "runs"]),
    ("study", &["base", "flash", "trace", "sim", "results", "report", "runs"]),
    ("nbd", &[]),
    ("serve", &["base", "array", "engine", "nbd", "trace"]),
    ("engine", &["base", "code", "trace", "array"]),
    (
        "cli",
        &[
            "base",
            "code",
            "flash",
            "trace",
            "array",
            "sim",
            "results",
            "report",
            "runs",
            "study",
            "papers",
            "engine",
            "nbd",
            "serve",
            "reliability",
        ],
    ),
    ("check", &["base", "code", "flash", "exec", "array", "sim", "nbd"]),
    ("validate", &["base", "flash", "trace", "array", "sim"]),
    (
        "python",
        &["base", "flash", "trace", "array", "sim", "results", "report", "runs", "study", "reliability"],
    ),
    ("testkit", &["base", "core", "format", "policy", "exec"]),
    ("tidy", &[]),
];

/// Inside the controller: each folder of `crates/array/src`, and the modules of the crate that its code must not name.
/// An axis of policies counts too, and so does a crate.
const ROOMS: [(&str, &[&str]); 5] = [
    ("log", &["in_place", "zones", "array", "recovery", "cache"]),
    ("in_place", &["log", "array", "recovery"]),
    ("zones", &["exec", "log", "in_place", "membership", "array", "recovery"]),
    ("membership", &["log", "in_place", "zones", "array", "recovery", "cache"]),
    ("health", &["exec", "log", "in_place", "zones", "membership", "recovery"]),
];

/// Crates below the drivers: they use no clock, no thread, no file.
const PURE: [&str; 12] = [
    "base",
    "code",
    "flash",
    "trace",
    "core",
    "format",
    "policy",
    "scheme",
    "exec",
    "array",
    "reliability",
    "nbd",
];

/// Modules of `std` that the pure crates do not use; only `trace` may read and write files.
const IMPURE: [&str; 6] = ["time", "thread", "fs", "net", "process", "env"];

/// External crates that would bring a clock, a thread, the system or unseeded randomness into a pure crate.
const IMPURE_CRATES: [&str; 9] =
    ["rand", "rayon", "rustix", "libc", "nix", "tokio", "indicatif", "getrandom", "crossbeam-channel"];

/// Checks that dependencies follow the arrows.
pub fn arrows(path: &str, text: &str) -> Vec<Complaint> {
    let Some(owner) = path.strip_suffix("/Cargo.toml") else { return Vec::new() };
    let owner = owner.strip_prefix("crates/").unwrap_or(owner);
    let table = match text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => return vec![Complaint::new(path, 1, error.to_string())],
    };
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == owner) else {
        let text = "a crate without a place in the layers; give it one in crates/tidy/src/layers.rs and ARCHITECTURE.md";
        let known = matches!(owner, "bench" | "fuzz");
        return if known { Vec::new() } else { vec![Complaint::new(path, 1, text)] };
    };
    let mut complaints = Vec::new();
    let line = |name: &str| text.lines().position(|line| line.starts_with(name)).map_or(1, |index| index + 1);
    for name in names(table.get("dependencies")).chain(names(table.get("build-dependencies"))) {
        if let Some(ours) = name.strip_prefix("stripewise-")
            && !allowed.contains(&ours)
        {
            let text =
                format!("{owner} may not depend on {ours}; allowed: {allowed:?} (see ARCHITECTURE.md)");
            complaints.push(Complaint::new(path, line(name), text));
        }
        if PURE.contains(&owner) && IMPURE_CRATES.contains(&name) {
            let text = format!("{owner} lies below the drivers and may not depend on {name}");
            complaints.push(Complaint::new(path, line(name), text));
        }
    }
    if names(table.get("dev-dependencies")).any(|name| name == "stripewise") {
        complaints.push(Complaint::new(path, line("stripewise"), "tests may not depend on the command"));
    }
    complaints
}

fn names(table: Option<&toml::Value>) -> impl Iterator<Item = &str> {
    table.and_then(toml::Value::as_table).into_iter().flat_map(|table| table.keys().map(String::as_str))
}

/// The crate that owns a source file; none for its tests.
fn shipped(path: &str) -> Option<&str> {
    let (owner, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let test = file == "tests.rs" || file.ends_with("/tests.rs") || file.contains("tests/");
    (!test).then_some(owner)
}

/// The lines of `text` before its module of tests, without comments.
pub(crate) fn shipped_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = |(index, line): (usize, &'_ str)| (index + 1, line.find("//").map_or(line.len(), |at| at));
    let tests = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let before = &text[..tests];
    before.lines().enumerate().map(move |numbered| {
        let (number, end) = code(numbered);
        (number, &numbered.1[..end])
    })
}

/// Checks that pure crates use no clock, thread, file, process or network.
pub fn stays_pure(path: &str, text: &str) -> Vec<Complaint> {
    let Some(owner) = shipped(path).filter(|owner| PURE.contains(owner)) else { return Vec::new() };
    let mut complaints = Vec::new();
    for (line, module) in std_modules(text) {
        if IMPURE.contains(&module) && !(owner == "trace" && module == "fs") {
            let text =
                format!("std::{module} in {owner}, which lies below the drivers; take it as an argument");
            complaints.push(Complaint::new(path, line, text));
        }
    }
    complaints
}

/// Checks that the folders of the controller name only what lies below them.
pub fn rooms_keep_apart(path: &str, text: &str) -> Vec<Complaint> {
    let Some(file) = path.strip_prefix("crates/array/src/").filter(|_| shipped(path).is_some()) else {
        return Vec::new();
    };
    let Some((room, others)) = ROOMS.iter().find(|(room, _)| file.starts_with(&format!("{room}/"))) else {
        return Vec::new();
    };
    let named = |line: &str, other: &str| {
        ["crate::", "stripewise_policy::", "stripewise_"].iter().any(|prefix| {
            line.match_indices(prefix).any(|(at, found)| first_word(&line[at + found.len()..]) == other)
        })
    };
    let lines =
        shipped_lines(text).flat_map(|(number, line)| others.iter().map(move |other| (number, line, other)));
    lines
        .filter(|(_, line, other)| named(line, other))
        .map(|(number, _, other)| {
            let text = format!(
                "crates/array/src/{room} may not name crates/array/src/{other} (see ARCHITECTURE.md)"
            );
            Complaint::new(path, number, text)
        })
        .collect()
}

/// The modules of `std` in `text`, with their lines: from `std::a::b` and from `std::{a, b::c}`.
fn std_modules(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut group = false;
    for (number, line) in shipped_lines(text) {
        if group {
            let depth_one = line.strip_prefix("    ").filter(|rest| !rest.starts_with(' '));
            found.extend(depth_one.map(|rest| (number, first_word(rest))));
            group = !line.starts_with('}');
        }
        for (at, _) in line.match_indices("std::") {
            if line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let rest = &line[at + "std::".len()..];
            let Some(inside) = rest.strip_prefix('{') else {
                found.push((number, first_word(rest)));
                continue;
            };
            group = inside.is_empty();
            let mut depth = 1;
            let items = inside.split_inclusive(|c| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                depth <= 1 && matches!(c, ',' | '}')
            });
            found.extend(items.map(|item| (number, first_word(item.trim_start()))));
        }
    }
    found.retain(|(_, word)| !word.is_empty());
    found
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Functions of floats whose last bit differs from system to system.
const UNPORTABLE: [&str; 18] = [
    "ln", "ln_1p", "exp", "exp2", "exp_m1", "powf", "powi", "sin", "cos", "tan", "asin", "acos", "atan",
    "log", "log2", "log10", "cbrt", "hypot",
];

/// Checks that results are the same on every machine: functions of floats come from `libm`.
pub fn floats_are_portable(path: &str, text: &str) -> Vec<Complaint> {
    let simulated = |owner: &str| PURE.contains(&owner) || matches!(owner, "sim" | "results");
    if !shipped(path).is_some_and(simulated) {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (number, line) in shipped_lines(text) {
        for name in UNPORTABLE {
            if line.contains(&format!(".{name}(")) || line.contains(&format!("f64::{name}")) {
                let text =
                    format!("the system's `{name}` differs from machine to machine; use the libm crate");
                complaints.push(Complaint::new(path, number, text));
                break;
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_that_points_up_is_complained_of_at_its_line() {
        let bad = "[package]\n\n\n[dependencies]\nstripewise-base.workspace = true\nstripewise-sim = { path = \"../sim\" }\n";
        let complaints = arrows("crates/array/Cargo.toml", bad);
        assert_eq!(complaints.len(), 1);
        assert_eq!(complaints[0].line, 6);
        assert!(complaints[0].text.contains("array may not depend on sim"));
        assert_eq!(arrows("crates/cli/Cargo.toml", bad), []);
    }

    #[test]
    fn tests_may_look_up_but_not_as_far_as_the_command() {
        assert_eq!(
            arrows("crates/engine/Cargo.toml", "[dev-dependencies]\nstripewise-sim.workspace = true\n"),
            []
        );
        assert_eq!(
            arrows("crates/engine/Cargo.toml", "[dev-dependencies]\nstripewise.workspace = true\n").len(),
            1
        );
    }

    #[test]
    fn only_tests_depend_on_the_testkit() {
        let testkit = "stripewise-testkit.workspace = true\n";
        for crate_of_ours in ["array", "engine", "check", "cli"] {
            let path = format!("crates/{crate_of_ours}/Cargo.toml");
            assert_eq!(arrows(&path, &format!("[dev-dependencies]\n{testkit}")), []);
            assert_eq!(arrows(&path, &format!("[dependencies]\n{testkit}")).len(), 1);
        }
    }

    #[test]
    fn the_rooms_of_the_controller_name_only_what_lies_below_them() {
        let bad = "use stripewise_exec::Executor;\n// crate::log::Log\nuse crate::log::Log;\n\
                   use stripewise_policy::cache::Cache;\n";
        let lines = |path: &str| -> Vec<usize> {
            rooms_keep_apart(path, bad).iter().map(|complaint| complaint.line).collect()
        };
        assert_eq!(lines("crates/array/src/in_place/split.rs"), [3]);
        assert_eq!(lines("crates/array/src/zones/map.rs"), [1, 3]);
        assert_eq!(lines("crates/array/src/log/read.rs"), [4]);
        assert_eq!(lines("crates/array/src/array/mod.rs"), [0; 0]);
        assert_eq!(lines("crates/array/src/in_place/tests.rs"), [0; 0]);
    }

    #[test]
    fn a_pure_crate_takes_no_clock_or_randomness_from_others() {
        let bad = "[dependencies]\nrand = \"0.10\"\n";
        assert_eq!(arrows("crates/flash/Cargo.toml", bad).len(), 1);
        assert_eq!(arrows("crates/engine/Cargo.toml", bad), []);
    }

    #[test]
    fn a_crate_outside_the_layers_is_complained_of() {
        assert_eq!(arrows("crates/extra/Cargo.toml", "[package]\nname = \"extra\"\n").len(), 1);
        assert_eq!(arrows("Cargo.toml", "[workspace]\n"), []);
        assert_eq!(arrows("crates/base/Cargo.toml", "= broken").len(), 1);
    }

    #[test]
    fn clocks_threads_and_files_are_found_however_they_are_named() {
        for bad in [
            "use std::time::Instant;",
            "use std::{fmt, time::{Duration, Instant}};",
            "use std::{\n    fmt,\n    thread,\n};",
            "let x = std::fs::read(p);",
            "use ::std::net;",
        ] {
            assert_eq!(stays_pure("crates/array/src/x.rs", bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn comments_tests_and_drivers_are_free_and_only_trace_reads_files() {
        let clock = "use std::time::Instant;\n";
        assert_eq!(stays_pure("crates/array/src/x.rs", &format!("// {clock}")), []);
        assert_eq!(
            stays_pure("crates/array/src/x.rs", &format!("#[cfg(test)]\nmod tests {{\n    {clock}}}\n")),
            []
        );
        for path in [
            "crates/array/tests/x.rs",
            "crates/array/src/x/tests.rs",
            "crates/engine/src/x.rs",
            "crates/sim/src/x.rs",
        ] {
            assert_eq!(stays_pure(path, clock), [], "{path}");
        }
        assert_eq!(stays_pure("crates/trace/src/x.rs", "use std::fs::File;"), []);
        assert_eq!(stays_pure("crates/trace/src/x.rs", clock).len(), 1);
        assert_eq!(stays_pure("crates/flash/src/x.rs", "use std::fs::File;").len(), 1);
        assert_eq!(
            stays_pure(
                "crates/flash/src/x.rs",
                "use std::{fmt, ops::{Deref}};\nlet std_time = 1; other_std::time();"
            ),
            []
        );
    }

    #[test]
    fn the_systems_functions_of_floats_are_found() {
        assert_eq!(
            floats_are_portable("crates/trace/src/x.rs", "let y = x.ln();\nlet z = x.sqrt();").len(),
            1
        );
        assert_eq!(floats_are_portable("crates/flash/src/x.rs", "v.iter().map(f64::exp)").len(), 1);
        assert_eq!(floats_are_portable("crates/flash/src/x.rs", "libm::log(x)"), []);
        assert_eq!(floats_are_portable("crates/cli/src/x.rs", "x.ln()"), []);
    }
}
