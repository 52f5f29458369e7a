//! The controller's central structures stay small: what only one placement or one purpose needs has a place of its own.

use crate::Complaint;

/// A structure or trait: its file, the line that begins it, what its members begin with, and the most that it may have.
struct Limit {
    file: &'static str,
    head: &'static str,
    member: &'static str,
    most: usize,
}

/// The limits. Lower one when a change makes its structure smaller.
const LIMITS: [Limit; 6] = [
    Limit { file: "crates/exec/src/plan/mod.rs", head: "pub struct Plan {", member: "    pub ", most: 28 },
    Limit {
        file: "crates/exec/src/executor.rs",
        head: "pub struct Executor<M: Memory> {",
        member: "    pub ",
        most: 0,
    },
    Limit {
        file: "crates/exec/src/executor.rs",
        head: "pub struct Executor<M: Memory> {",
        member: "    pub(crate) ",
        most: 51,
    },
    // Together with the next one at most 30.
    Limit {
        file: "crates/exec/src/placement.rs",
        head: "pub trait Placement<M: Memory>: PlanHandler<M> + Metadata<M> + Sized {",
        member: "    fn ",
        most: 17,
    },
    Limit {
        file: "crates/exec/src/metadata.rs",
        head: "pub trait Metadata<M: Memory>: Sized {",
        member: "    fn ",
        most: 12,
    },
    Limit {
        file: "crates/exec/src/plan_handler.rs",
        head: "pub trait PlanHandler<M: Memory>: Sized {",
        member: "    fn ",
        most: 24,
    },
];

/// Checks that a structure has no more members than it may have.
pub fn structures_stay_small(path: &str, text: &str) -> Vec<Complaint> {
    LIMITS.iter().filter(|limit| limit.file == path).filter_map(|limit| limit.complaint(text)).collect()
}

/// Where plans are changed.
const CHANGES_PLANS: &str = "crates/exec/src/";

/// Checks that nothing but the executor changes a plan: placements use its functions.
pub fn plans_belong_to_the_executor(path: &str, text: &str) -> Vec<Complaint> {
    let is_controller =
        ["crates/exec/", "crates/array/", "crates/check/"].iter().any(|part| path.starts_with(part));
    if !is_controller || path.starts_with(CHANGES_PLANS) {
        return Vec::new();
    }
    let is_bad = |line: &str| line.contains("&mut Plan ") || line.contains(".plans[");
    let numbers = text.lines().zip(1..).filter(|(line, _)| is_bad(line)).map(|(_, number)| number);
    let rule = "only the executor changes a plan; use its functions (crates/exec/src/building.rs)";
    numbers.map(|number| Complaint::new(path, number, rule.to_owned())).collect()
}

impl Limit {
    fn complaint(&self, text: &str) -> Option<Complaint> {
        let Some(line) = text.lines().position(|line| line == self.head) else {
            let text = format!("no `{}`; name it in crates/tidy/src/structures.rs", self.head);
            return Some(Complaint::new(self.file, 1, text));
        };
        let body = text.lines().skip(line + 1).take_while(|line| *line != "}");
        let members = body.filter(|line| line.starts_with(self.member)).count();
        (members > self.most).then(|| {
            let text = format!(
                "`{}` has {members} members, at most {}: what one placement or one purpose needs goes to its job",
                self.head.trim_end_matches(" {"),
                self.most
            );
            Complaint::new(self.file, line + 1, text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_beyond_the_limit_is_complained_of() {
        for limit in LIMITS {
            let member = format!("{}x\n        {}not a member\n", limit.member, limit.member);
            let with =
                |count: usize| format!("use a;\n{}\n{}}}\n\n{member}", limit.head, member.repeat(count));
            assert_eq!(structures_stay_small(limit.file, &with(limit.most)), []);
            let complaints = structures_stay_small(limit.file, &with(limit.most + 1));
            assert_eq!(complaints.len(), 1);
            assert_eq!(complaints[0].line, 2);
        }
    }

    #[test]
    fn a_structure_that_has_another_name_is_complained_of() {
        assert_eq!(structures_stay_small(LIMITS[0].file, "pub struct Other {}\n").len(), 1);
        assert_eq!(structures_stay_small("crates/core/src/lib.rs", "pub struct Other {}\n"), []);
    }

    #[test]
    fn a_plan_that_a_placement_changes_is_complained_of() {
        let text = "fn plan(&mut self) -> &mut Plan {\n    &mut self.plans[plan]\n}\n";
        let lines =
            |path| plans_belong_to_the_executor(path, text).iter().map(|one| one.line).collect::<Vec<_>>();
        assert_eq!(lines("crates/array/src/log/read.rs"), [1, 2]);
        assert!(lines("crates/exec/src/getters.rs").is_empty());
        assert!(lines("crates/sim/src/timeline.rs").is_empty());
    }
}
