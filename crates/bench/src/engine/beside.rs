//! Compares two schemes, each over its own files, under the same loads in turn.

use anyhow::Result;
use stripewise_runs::SchemeSpec;

use crate::Arguments;
use crate::bed::Bed;
use crate::cases::{Against, Report, cases};
use crate::load::{Load, drive};

/// Measures the scheme and `other`, and prints both.
pub(crate) fn run(arguments: &Arguments, other: &str) -> Result<()> {
    let array = |named: &str| -> Result<_> {
        let spec = SchemeSpec::parse(named)?;
        let bed = Bed::new(arguments, stripewise_runs::scheme(&spec.document, &spec.settings)?)?;
        let mut engine = bed.create()?;
        bed.fill(&mut engine)?;
        Ok((bed, engine))
    };
    let (bed, mut ours) = array(&arguments.scheme)?;
    let (other_bed, mut theirs) = array(other)?;
    println!(
        "{} beside {other} over {} files of {} MiB each in {}, by {}",
        arguments.scheme,
        arguments.members,
        arguments.mib,
        arguments.folder.display(),
        ours.status().way,
    );
    let span = bed.load(&ours).span.min(other_bed.load(&theirs).span);
    let mut report = Report::new(arguments);
    for case in cases(&Load { span, ..bed.load(&ours) }, arguments.requests) {
        if case.against == Against::Whole || !report.wants(case.name) {
            continue;
        }
        let mut runs = Vec::new();
        for _ in 0..arguments.runs {
            let taken = drive(&mut ours, &case.load, &mut report.random)?;
            // The other array must not wait for work that this one leaves to its members.
            ours.flush()?;
            runs.push((taken, drive(&mut theirs, &case.load, &mut report.random)?));
            theirs.flush()?;
        }
        report.row(case.name, &runs, other, 1.0);
    }
    report.print();
    Ok(())
}
