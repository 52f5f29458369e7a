//! The examples of the pages: the commands of `console` blocks run, and print what the pages show; those of `sh` blocks
//! run, shortened; `toml` blocks are read. docs/develop/build-and-test.md describes the form.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::docs::{document, pages};
use crate::support::Sandbox;

/// Pages beside those of `docs`.
const OTHERS: [&str; 4] = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "crates/papers/README.md"];

/// Languages of blocks that are examples: each runs, or says why not.
const EXAMPLES: [&str; 4] = ["console", "sh", "toml", "python"];

/// Languages of blocks that show something.
const SHOWN: [&str; 5] = ["text", "json", "bibtex", "markdown", ""];

/// What reads a block of TOML, by its marker, `<!-- read as: scheme -->`.
const READERS: [(&str, &str); 4] = [
    ("scheme", "command stripewise scheme show"),
    ("part of a scheme", "command stripewise scheme show"),
    ("device", "command stripewise device show"),
    ("study", "command stripewise study check"),
];

/// What the commands of `sh` blocks run in: shorter runs than a reader makes, and servers in the background, which end with
/// the page. No argument that a page shows is left out. The first command that fails ends the block.
const SHORTENED: &str = r#"
stripewise() {
    local words=() last="" counted="" detached="" word
    for word in "$@"; do
        case "$1$last" in
        compare-n | compare--requests | run-n | run--requests | timeline-n | timeline--requests) word=300 counted=1 ;;
        compare--warmup | run--warmup) word=30 ;;
        compare--seeds | run--seeds) word=2 ;;
        timeline--from) word=50 ;;
        reliability--monte-carlo | reliability-m) word=1000 ;;
        esac
        [ "$word" != --detach ] || detached=1
        last="$word" words+=("$word")
    done
    case "$1" in
    events)
        if [[ "$*" == *--follow* ]]; then
            timeout 1 stripewise "$@" || [ $? = 124 ]
            return
        fi
        ;;
    compare | run | timeline) [ "$counted" ] || words+=(-n 300) ;;
    serve) [ "$detached" ] || words+=(--detach); echo "$2" >>"$KEPT/served" ;;
    esac
    command stripewise "${words[@]}"
}
trap 'failed=$?; return $failed' ERR
"#;

/// What stands for any text: a line of its own for any lines, within a line for any characters.
const ANY: &str = "…";

/// The longest time that the commands of one page may take, with much to spare for a busy machine.
const PATIENCE_S: &str = "300";

/// What ends with the page: jobs, and the servers that `sh` blocks left.
const ENDED: &str = r#"
trap 'kill $(jobs -p); while read -r name; do stripewise stop "$name"; done <"$KEPT/served"' EXIT
"#;

/// Something that a page does, in its order.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A block that is saved as a file.
    File { name: String, text: String },
    /// A command, its line on the page, the exit code of its marker and the output that the page shows.
    Command { line: usize, text: String, code: Option<i32>, output: Vec<String> },
    /// A block of `sh` from this line on, or what a marker asks for: it must succeed.
    Script { line: usize, text: String },
}

/// The value of a marker, a comment above a block: `<!-- file: NAME -->` has the value `NAME` of `file`.
fn marker<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix("<!-- ")?.strip_suffix(" -->")?.strip_prefix(name)?.strip_prefix(": ")
}

/// A fenced block, with the markers above it.
#[derive(Debug, Default)]
struct Block<'a> {
    line: usize,
    language: &'a str,
    markers: Vec<&'a str>,
    lines: Vec<(usize, &'a str)>,
}

impl<'a> Block<'a> {
    fn marker(&self, name: &str) -> Option<&'a str> {
        self.markers.iter().find_map(|line| marker(line, name))
    }

    fn text(&self) -> String {
        self.lines.iter().map(|(_, line)| format!("{line}\n")).collect()
    }
}

/// The blocks of a page. Markers stand directly above a block, with empty lines between them at most.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut markers) = (Vec::new(), Vec::new());
    let mut lines = (1..).zip(page.lines());
    while let Some((line, text)) = lines.next() {
        let fence = &text[..text.len() - text.trim_start_matches('`').len()];
        if fence.len() >= 3 {
            let language = &text[fence.len()..];
            let lines = lines.by_ref().take_while(|(_, inner)| *inner != fence).collect();
            blocks.push(Block { line, language, markers: std::mem::take(&mut markers), lines });
        } else if text.starts_with("<!-- ") {
            markers.push(text);
        } else if !text.is_empty() {
            markers.clear();
        }
    }
    blocks
}

/// What a page does.
fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for block in blocks(page) {
        let is_run = block.marker("not run").is_none();
        if let Some(before) = block.marker("before") {
            steps.push(Step::Script { line: block.line, text: before.to_owned() });
        }
        let reader = block.marker("read as").filter(|_| is_run);
        if let Some(name) = block.marker("file") {
            steps.push(Step::File { name: name.to_owned(), text: block.text() });
        } else if let Some(what) = reader {
            let (_, command) = READERS.into_iter().find(|(kind, _)| *kind == what).expect("a known reader");
            let name = format!("block-{}.toml", block.line);
            let head = if what == "part of a scheme" { "name = \"a\"\n" } else { "" };
            steps.push(Step::File { name: name.clone(), text: format!("{head}{}", block.text()) });
            steps.push(Step::Script { line: block.line, text: format!("{command} {name}") });
        } else if block.language == "sh" && is_run {
            steps.push(Step::Script { line: block.line + 1, text: block.text() });
        } else if block.language == "console" && is_run {
            let first = steps.len();
            commands(&block.lines, block.line, &mut steps);
            assert!(
                steps.len() > first,
                "line {}: a console block without a command, `$ command`",
                block.line
            );
            let stated = block.marker("exit code");
            if let Some(Step::Command { code, .. }) = steps.last_mut() {
                *code = stated.map(|stated| stated.parse().expect("an exit code is a number"));
            }
        }
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
    let mut script = format!("KEPT={}\n{ENDED}", folder.display());
    for (nth, step) in steps.iter().enumerate() {
        let at = folder.join(nth.to_string());
        let at = at.display();
        match step {
            Step::File { name, text } => {
                fs::write(format!("{at}.text"), text).expect("the folder can be written");
                let _ = writeln!(script, "mkdir -p \"$(dirname '{name}')\" && cp {at}.text '{name}'");
            }
            Step::Command { text, .. } | Step::Script { text, .. } => {
                let text = match step {
                    Step::Script { .. } => format!("{SHORTENED}{text}\n"),
                    _ => format!("{text}\n"),
                };
                fs::write(format!("{at}.sh"), text).expect("the folder can be written");
                let _ = writeln!(
                    script,
                    ". {at}.sh >{at}.out 2>&1 </dev/null; code=$?; echo $code >{at}.code; trap - ERR; unset -f stripewise"
                );
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
    let count = steps.iter().filter(|step| !matches!(step, Step::File { .. })).count();
    if count == 0 {
        return Ok(0);
    }
    let (sandbox, kept) =
        (Sandbox::with_trace(), tempfile::tempdir().expect("there is room for temporary files"));
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
        let (line, text, output) = match step {
            Step::Command { line, text, output, .. } => (line, text, Some(output)),
            Step::Script { line, text } => (line, text, None),
            Step::File { .. } => continue,
        };
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
        if let Some(output) = output.filter(|output| !matches(output, &lines)) {
            let shown = output.join("\n");
            let _ = writeln!(wrong, "{name}:{line}: $ {text}\n--- the page\n{shown}\n--- printed\n{actual}");
        }
    }
    if wrong.is_empty() { Ok(count) } else { Err(wrong) }
}

/// Every page: those of `docs`, and the others.
fn all_pages() -> Vec<PathBuf> {
    let others = OTHERS.iter().map(|name| document("..").join(name));
    let mut all: Vec<PathBuf> = pages(&document("")).into_iter().chain(others).collect();
    all.sort();
    all
}

#[test]
fn the_commands_of_the_pages_print_what_the_pages_show() {
    let only = std::env::var("STRIPEWISE_PAGE").unwrap_or_default();
    let mut all = all_pages();
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

/// What is wrong with the blocks of a page: examples that neither run nor say why not.
fn unaccounted(page: &str) -> Vec<String> {
    let all = blocks(page);
    let run: String = all.iter().filter(|block| block.marker("not run").is_none()).map(Block::text).collect();
    let mut wrong = Vec::new();
    for block in &all {
        let mut refuse = |reason: &str| wrong.push(format!("{}: {reason}", block.line));
        let is_example = EXAMPLES.contains(&block.language);
        if !is_example && !SHOWN.contains(&block.language) {
            refuse("a block of a language that no test knows");
        }
        let begins =
            |line: &str| ["$ ", "cargo ", "python ", "pip "].iter().any(|word| line.starts_with(word));
        if SHOWN.contains(&block.language)
            && block.language != "markdown"
            && block.lines.iter().any(|(_, line)| begins(line))
        {
            refuse("commands stand in blocks of the language `console` or `sh`");
        }
        if block.language == "toml" && block.marker("not run").is_none() {
            match (block.marker("file"), block.marker("read as")) {
                (Some(name), _) if !run.contains(name) => refuse("no example uses this file"),
                (None, None) => refuse("a block of TOML has a marker: `file`, `read as` or `not run`"),
                _ => {}
            }
        }
        for marker in &block.markers {
            let name = marker.trim_start_matches("<!-- ").split(':').next().unwrap_or_default();
            if !["file", "before", "read as", "not run", "exit code"].contains(&name) {
                refuse(&format!("no marker is called `{name}`"));
            }
        }
    }
    wrong
}

#[test]
fn every_block_of_the_pages_runs_or_says_why_not() {
    let (mut wrong, mut reasons) = (Vec::new(), BTreeSet::new());
    for page in all_pages() {
        let text = fs::read_to_string(&page).expect("a page is text");
        let found = unaccounted(&text);
        wrong.extend(found.into_iter().map(|reason| format!("{}:{reason}", page.display())));
        reasons.extend(blocks(&text).iter().filter_map(|block| block.marker("not run").map(str::to_owned)));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(reasons.len() > 5, "reasons are stated: {reasons:?}");
}

#[test]
fn a_block_that_nothing_runs_is_found() {
    for (page, expected) in [
        ("```ruby\na\n```\n", true),
        ("```text\n$ stripewise list\n```\n", true),
        ("```toml\na = 1\n```\n", true),
        ("<!-- file: a.toml -->\n```toml\na = 1\n```\n", true),
        ("<!-- notrun: why -->\n```sh\na\n```\n", true),
        ("<!-- file: a.toml -->\n```toml\na = 1\n```\n\n```sh\ncat a.toml\n```\n", false),
        ("<!-- read as: scheme -->\n```toml\na = 1\n```\n", false),
        ("<!-- not run: why -->\n```toml\na = 1\n```\n", false),
        ("```text\na\n```\n", false),
    ] {
        assert_eq!(!unaccounted(page).is_empty(), expected, "{page}");
    }
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
        file,
        Step::Script { line: 29, text: "f\n".to_owned() },
    ];
    assert_eq!(steps(page), expected);
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
