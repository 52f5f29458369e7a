//! The examples of the pages: the commands of `console` blocks run, and print what the pages show.
//! docs/develop/build-and-test.md describes the form.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::docs::{document, pages};
use crate::support::Sandbox;

/// The folders whose pages are run.
const FOLDERS: [&str; 3] = ["start", "tutorials", "how-to"];

/// What stands for any text: a line of its own for any lines, within a line for any characters.
const ANY: &str = "…";

/// The longest time that the commands of one page may take, with much to spare for a busy machine.
const PATIENCE_S: &str = "120";

/// Something that a page does, in its order.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A block that is saved as a file.
    File { name: String, text: String },
    /// A command, its line on the page, the exit code of its marker and the output that the page shows.
    Command { line: usize, text: String, code: Option<i32>, output: Vec<String> },
}

/// The value of a marker, a comment above a block: `<!-- file: NAME -->` has the value `NAME` of `file`.
fn marker<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.strip_prefix(name)?.strip_prefix(": ")
}

/// What a page does.
fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut file, mut is_skipped, mut code) = (None, false, None);
    let mut lines = (1..).zip(page.lines());
    while let Some((number, line)) = lines.next() {
        file = marker(line, "file").or(file);
        is_skipped |= marker(line, "not run").is_some();
        let stated = marker(line, "exit code").map(|code| code.parse().expect("an exit code is a number"));
        code = stated.or(code);
        let Some(kind) = line.strip_prefix("```") else {
            if !line.is_empty() && !line.starts_with("<!-- ") {
                (file, is_skipped, code) = (None, false, None);
            }
            continue;
        };
        let block: Vec<(usize, &str)> =
            lines.by_ref().take_while(|(_, line)| !line.starts_with("```")).collect();
        if let Some(name) = file {
            let text = block.iter().map(|(_, line)| format!("{line}\n")).collect();
            steps.push(Step::File { name: name.to_owned(), text });
        } else if kind == "console" && !is_skipped {
            let first = steps.len();
            commands(&block, number, &mut steps);
            assert!(steps.len() > first, "line {number}: a console block without a command, `$ command`");
            if let Some(Step::Command { code: last, .. }) = steps.last_mut() {
                *last = code;
            }
        }
        (file, is_skipped, code) = (None, false, None);
    }
    steps
}

/// The commands of a console block that begins behind line `number`.
fn commands(block: &[(usize, &str)], number: usize, steps: &mut Vec<Step>) {
    let mut is_command = false;
    for (line, shown) in block {
        if let Some(first) = shown.strip_prefix("$ ") {
            is_command = true;
            steps.push(Step::Command { line: *line, text: first.to_owned(), code: None, output: Vec::new() });
            continue;
        }
        let Some(Step::Command { text, output, .. }) = steps.last_mut() else {
            panic!("line {number}: a console block begins with a command, `$ command`");
        };
        match shown.strip_prefix("> ").or_else(|| (*shown == ">").then_some("")) {
            Some(more) if is_command => _ = write!(text, "\n{more}"),
            _ => {
                is_command = false;
                output.push(shown.trim_end().to_owned());
            }
        }
    }
}

/// Whether `actual` is what the page shows.
fn matches(shown: &[String], actual: &[String]) -> bool {
    let Some((first, rest)) = shown.split_first() else { return actual.is_empty() };
    if first == ANY {
        return (0..=actual.len()).any(|left_out| matches(rest, &actual[left_out..]));
    }
    actual.split_first().is_some_and(|(line, others)| line_matches(first, line) && matches(rest, others))
}

fn line_matches(shown: &str, actual: &str) -> bool {
    let Some((before, after)) = shown.split_once(ANY) else { return shown == actual };
    let Some(rest) = actual.strip_prefix(before) else { return false };
    (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).any(|at| line_matches(after, &rest[at..]))
}

/// The condition of the shell under which the exit code is what the page says: what the marker states; without one, an
/// error where the page shows one, and success otherwise.
fn as_expected(step: &Step) -> String {
    match step {
        Step::Command { code: Some(code), .. } => format!("[ $code = {code} ]"),
        Step::Command { output, .. } if output.first().is_some_and(|line| line.starts_with("error: ")) => {
            "[ $code != 0 ]".to_owned()
        }
        _ => "[ $code = 0 ]".to_owned(),
    }
}

/// The script that runs the commands in one shell. It ends at the first unexpected exit code.
fn script(steps: &[Step], folder: &Path) -> String {
    let mut script = String::from("trap 'kill $(jobs -p) 2>/dev/null' EXIT\n");
    for (nth, step) in steps.iter().enumerate() {
        let at = folder.join(nth.to_string());
        let at = at.display();
        match step {
            Step::File { name, text } => {
                fs::write(format!("{at}.text"), text).expect("the folder can be written");
                let _ = writeln!(script, "mkdir -p \"$(dirname '{name}')\" && cp {at}.text '{name}'");
            }
            Step::Command { text, .. } => {
                fs::write(format!("{at}.sh"), format!("{text}\n")).expect("the folder can be written");
                let _ =
                    writeln!(script, ". {at}.sh >{at}.out 2>&1 </dev/null; code=$?; echo $code >{at}.code");
                let _ = writeln!(script, "{} || {{ >{at}.wrong; exit 1; }}", as_expected(step));
            }
        }
    }
    script
}

/// Runs a page. The error has all differences.
fn run(page: &Path) -> Result<usize, String> {
    let text = fs::read_to_string(page).expect("a page is text");
    let steps = steps(&text);
    let count = steps.iter().filter(|step| matches!(step, Step::Command { .. })).count();
    if count == 0 {
        return Ok(0);
    }
    let (sandbox, kept) = (Sandbox::new(), tempfile::tempdir().expect("there is room for temporary files"));
    let program = std::env::var("STRIPEWISE_COMMAND").unwrap_or(env!("CARGO_BIN_EXE_stripewise").to_owned());
    let programs = Path::new(&program).parent().expect("a program is in a folder").display();
    let paths = std::env::var("PATH").unwrap_or_default();
    let mut shell = sandbox.within(Command::new("timeout"));
    shell.args([PATIENCE_S, "bash", "-c", &script(&steps, kept.path())]);
    shell.env("PATH", format!("{programs}:{paths}")).env_remove("COLUMNS").env("LC_ALL", "C.UTF-8");
    // The end of the pipe is what a server that is left behind would hold.
    shell.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("bash is there");

    let name = page.display();
    let mut wrong = String::new();
    for (nth, step) in steps.iter().enumerate() {
        let Step::Command { line, text, output, .. } = step else { continue };
        let at = kept.path().join(nth.to_string());
        let Ok(ended) = fs::read_to_string(at.with_extension("code")) else {
            let _ =
                writeln!(wrong, "{name}:{line}: did not end within {PATIENCE_S} s, or was not run: $ {text}");
            break;
        };
        let actual = fs::read(at.with_extension("out")).unwrap_or_default();
        let actual = String::from_utf8_lossy(&actual);
        let lines: Vec<String> = actual.trim_end().lines().map(|line| line.trim_end().to_owned()).collect();
        if fs::exists(at.with_extension("wrong")).is_ok_and(|is_wrong| is_wrong) {
            let _ = writeln!(wrong, "{name}:{line}: exit code {}: $ {text}\n{actual}", ended.trim());
            break;
        }
        if !matches(output, &lines) {
            let shown = output.join("\n");
            let _ = writeln!(wrong, "{name}:{line}: $ {text}\n--- the page\n{shown}\n--- printed\n{actual}");
        }
    }
    if wrong.is_empty() { Ok(count) } else { Err(wrong) }
}

#[test]
fn the_commands_of_the_pages_print_what_the_pages_show() {
    let only = std::env::var("STRIPEWISE_PAGE").unwrap_or_default();
    let mut all: Vec<PathBuf> = FOLDERS.iter().flat_map(|folder| pages(&document(folder))).collect();
    all.sort();
    all.retain(|page| page.to_string_lossy().contains(&only));
    let began = Instant::now();
    // Two at a time: some of what they do is waiting.
    let halves: Vec<Vec<&PathBuf>> = (0..2).map(|half| all.iter().skip(half).step_by(2).collect()).collect();
    let results: Vec<Result<usize, String>> = std::thread::scope(|scope| {
        let running: Vec<_> = halves
            .iter()
            .map(|half| scope.spawn(move || half.iter().map(|page| run(page)).collect::<Vec<_>>()))
            .collect();
        running.into_iter().flat_map(|half| half.join().expect("no panic")).collect()
    });
    let wrong: String = results.iter().filter_map(|result| result.as_ref().err()).cloned().collect();
    assert!(wrong.is_empty(), "\n{wrong}");
    let count: usize = results.iter().flatten().sum();
    println!("{count} commands of {} pages in {:.1?}", all.len(), began.elapsed());
    assert!(!only.is_empty() || count > 20, "{count} commands");
    assert!(began.elapsed() < Duration::from_secs(600), "the examples take too long: smaller runs, please");
}

#[test]
fn blocks_are_read_with_their_markers() {
    let page = "# T\n\n```console\n$ a |\n> b\none\n> two\n$ c\n```\n\n<!-- exit code 2 -->\n\
                <!-- exit code: 2 -->\n```console\n$ d\n```\n\n<!-- not run: no -->\n```console\n$ e\n```\n\n\
                <!-- file: x.toml -->\n\n```toml\nk = 1\n```\n\n```sh\nf\n```\n";
    let command = |line, text: &str, code, output: &[&str]| Step::Command {
        line,
        text: text.to_owned(),
        code,
        output: output.iter().map(|line| (*line).to_owned()).collect(),
    };
    let file = Step::File { name: "x.toml".to_owned(), text: "k = 1\n".to_owned() };
    let expected = [
        command(4, "a |\nb", None, &["one", "> two"]),
        command(8, "c", None, &[]),
        command(14, "d", Some(2), &[]),
    ];
    assert_eq!(steps(page), expected.into_iter().chain([file]).collect::<Vec<_>>());
}

#[test]
fn an_ellipsis_stands_for_any_text_and_nothing_else_does() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (shown, actual, expected) in [
        ("a\nb", "a\nb", true),
        ("a", "a\nb", false),
        ("a\nb", "a", false),
        ("a\n…", "a\nb\nc", true),
        ("a\n…\nd", "a\nd", true),
        ("a\n…\nd", "a\nb\nc", false),
        ("took … s, … runs", "took 1.5 s, 3 runs", true),
        ("took … s", "took 1.5 ms", false),
        ("", "", true),
        ("", "a", false),
    ] {
        assert_eq!(matches(&lines(shown), &lines(actual)), expected, "{shown:?} {actual:?}");
    }
}
