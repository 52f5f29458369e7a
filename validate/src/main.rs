use stripewise_validate::*;
fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let lab = Lab {
        effort: if args.iter().any(|a| a == "--full") { Effort::Full } else { Effort::Quick },
        seed: 1,
        bend: None,
        traces: std::env::var_os("STRIPEWISE_TRACES").map(Into::into),
    };
    for check in checks() {
        if args.iter().any(|a| !a.starts_with("-") && a != check.name) {
            continue;
        }
        let start = std::time::Instant::now();
        for row in (check.run)(&lab)? {
            println!("{:?} {} {:?} {:?} {}", row.verdict(), row.case, row.expected, row.measured, row.note);
        }
        println!("{} {:?}", check.name, start.elapsed());
    }
    Ok(())
}
