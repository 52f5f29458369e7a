//! What packages need of the program and of the tree, without building them: `make dist` does that.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Sandbox;

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names of all commands that have a page: `stripewise`, `stripewise-trace`, `stripewise-trace-gen` …
fn names(command: &clap::Command, name: &str) -> Vec<String> {
    let subs = command.get_subcommands().filter(|sub| sub.get_name() != "help");
    let inner = subs.flat_map(|sub| names(sub, &format!("{name}-{}", sub.get_name())));
    [name.to_owned()].into_iter().chain(inner).collect()
}

#[test]
fn every_command_has_a_manual_page_and_no_page_is_of_another_time() {
    let sandbox = Sandbox::new();
    sandbox.run("man pages").success();
    sandbox.run("man again").success();
    let (pages, again) = (sandbox.path().join("pages"), sandbox.path().join("again"));
    let names = names(&stripewise::command(), "stripewise");
    assert!(names.len() > 25, "{names:?}");
    for name in names {
        let read = |folder: &Path| std::fs::read_to_string(folder.join(format!("{name}.1"))).unwrap();
        let page = read(&pages);
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
        assert_eq!(page, read(&again), "{name}");
        // Packages are built anywhere: no page may have a path of the machine.
        assert!(!page.contains(&*sandbox.path().to_string_lossy()), "{name}");
    }
}

#[test]
fn completions_know_every_command_and_bash_completes_by_them() {
    let sandbox = Sandbox::new();
    let command = stripewise::command();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.run(&format!("completions {shell}")).success();
        for sub in command.get_subcommands() {
            assert!(script.contains(sub.get_name()), "{shell}: {}", sub.get_name());
        }
    }
    let script = sandbox.run("completions bash").success();
    sandbox.write("script", &script);
    let said = Command::new("bash")
        .args(["--norc", "-c"])
        .arg(
            "source ./script && COMP_WORDS=(stripewise compl) COMP_CWORD=1 \
             && _stripewise stripewise compl stripewise && echo \"${COMPREPLY[*]}\"",
        )
        .current_dir(sandbox.path())
        .output();
    let Ok(said) = said else {
        eprintln!("skipped: no bash");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "completions", "{said:?}");
}

/// The sources of the Debian package's assets, as `crates/cli/Cargo.toml` names them.
#[test]
fn the_debian_package_has_every_unit_and_scripts_that_a_shell_understands() {
    let manifest: toml::Table =
        std::fs::read_to_string(tree().join("crates/cli/Cargo.toml")).unwrap().parse().unwrap();
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().unwrap();
    let sources: Vec<&str> = assets.iter().map(|asset| asset[0].as_str().unwrap()).collect();
    for source in sources.iter().filter_map(|source| source.strip_prefix("../../")) {
        assert!(tree().join(source).is_file(), "{source}");
    }
    let files = std::fs::read_dir(tree().join("packaging")).unwrap();
    let names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let units: Vec<&String> =
        names.iter().filter(|name| name.ends_with(".service") || name.ends_with(".timer")).collect();
    assert!(units.len() >= 3, "{names:?}");
    for unit in units {
        assert!(sources.contains(&&*format!("../../packaging/{unit}")), "{unit} is not in the package");
    }
    let scripts = names.iter().filter(|name| name.ends_with(".sh")).map(|name| ("bash", name.clone()));
    let debian = ["postinst", "prerm", "postrm"].map(|name| ("sh", format!("debian/{name}")));
    for (shell, script) in scripts.chain(debian) {
        let parsed = Command::new(shell).arg("-n").arg(tree().join("packaging").join(&script)).output();
        assert!(parsed.is_ok_and(|output| output.status.success() && output.stderr.is_empty()), "{script}");
    }
}
