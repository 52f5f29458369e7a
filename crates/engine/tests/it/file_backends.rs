//! The backends that reach files behave the same to the caller: data that one wrote, the other reads.

use proptest::prelude::*;
use stripewise_array::{MemberNo, Scheme, SubmitError};
use stripewise_engine::{Completion, Engine, Rejected, Request, Ticket};

use crate::support::arrays::{IN_PLACE, LOG, created, opened, ways};
use crate::support::model::{Model, SECTOR};

const MEMBER_BYTES: u64 = 1 << 20;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Read,
    Write,
    Forced,
    Zero,
    Trim,
    Flush,
}

#[derive(Clone, Debug)]
enum Action {
    Submit {
        kind: Kind,
        at: usize,
        sectors: usize,
    },
    Settle,
    Fail(u16),
    /// The array is closed, or dropped after everything was flushed, and assembled again.
    Reopen {
        closes: bool,
    },
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let kind = prop_oneof![
        4 => Just(Kind::Read),
        6 => Just(Kind::Write),
        1 => Just(Kind::Forced),
        1 => Just(Kind::Zero),
        1 => Just(Kind::Trim),
        1 => Just(Kind::Flush),
    ];
    let sectors = prop_oneof![8 => Just(8usize), 4 => 1usize..40, 1 => 200usize..600];
    let action = prop_oneof![
        80 => (kind, any::<usize>(), sectors).prop_map(|(kind, at, sectors)| Action::Submit { kind, at, sectors }),
        4 => Just(Action::Settle),
        1 => (0u16..4).prop_map(Action::Fail),
        3 => any::<bool>().prop_map(|closes| Action::Reopen { closes }),
    ];
    prop::collection::vec(action, 1..120)
}

struct Bench {
    engine: Option<Engine>,
    model: Model<Ticket>,
}

impl Bench {
    fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().expect("it is open but while it is opened")
    }

    fn submit(&mut self, kind: Kind, at: usize, sectors: usize) {
        // Adjacent pages become runs; partial pages are merged.
        let first = if sectors == 8 { at / 8 * 8 } else { at } % self.model.len();
        let range = first..first + sectors.min(self.model.len() - first);
        let (offset, bytes) = ((first * SECTOR) as u64, range.len() * SECTOR);
        let fresh = |model: &mut Model<Ticket>| (*model.fresh(range.clone())).into();
        let mut request = match kind {
            Kind::Read => Request::read(offset, bytes),
            Kind::Write => Request::Write { offset, data: fresh(&mut self.model), fua: false },
            Kind::Forced => Request::Write { offset, data: fresh(&mut self.model), fua: true },
            Kind::Zero => {
                Request::Zero { offset, bytes: bytes as u64, fua: false, keep_space: at.is_multiple_of(2) }
            }
            Kind::Trim => Request::trim(offset, bytes as u64),
            Kind::Flush => Request::Flush,
        };
        let ticket = loop {
            match self.engine().submit(request) {
                Ok(ticket) => break ticket,
                Err(Rejected { error: SubmitError::Busy, request: back }) => request = back,
                Err(other) => panic!("{other}"),
            }
            self.engine().step();
            self.take_completions();
        };
        match kind {
            Kind::Read => self.model.read_submitted(ticket, range),
            Kind::Write | Kind::Forced => self.model.write_submitted(ticket, range),
            Kind::Zero | Kind::Trim => self.model.trim_submitted(ticket, range),
            Kind::Flush => {}
        }
        self.take_completions();
    }

    fn take_completions(&mut self) {
        while let Some(completion) = self.engine().take_completion() {
            self.completed(&completion);
        }
    }

    fn completed(&mut self, completion: &Completion) {
        completion.result.expect("parity bears what fails here");
        self.model.completed(completion.ticket, &completion.payload);
    }

    /// Completes everything, and reads everything.
    fn settle(&mut self) {
        while let Some(completion) = self.engine().poll() {
            self.completed(&completion);
        }
        let mut bytes = vec![0; self.model.len() * SECTOR];
        self.engine().read(0, &mut bytes).unwrap();
        self.model.settle(&bytes);
    }
}

fn run(text: &str, actions: &[Action]) {
    let scheme = Scheme::from_toml("test", text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut paths = created(&scheme, folder.path(), 4, MEMBER_BYTES);
    let mut turn = ways().into_iter().cycle();
    let engine = opened(&scheme, &paths, turn.next().unwrap()).unwrap();
    let model = Model::new(engine.capacity());
    let mut bench = Bench { engine: Some(engine), model };
    let mut failed = None;
    for action in actions {
        match *action {
            Action::Submit { kind, at, sectors } => bench.submit(kind, at, sectors),
            Action::Settle => bench.settle(),
            Action::Fail(member) => {
                if *failed.get_or_insert(member) == member {
                    bench.engine().fail(MemberNo::new(member)).unwrap();
                    bench.take_completions();
                }
            }
            Action::Reopen { closes } => {
                bench.settle();
                bench.engine().flush().unwrap();
                let engine = bench.engine.take().unwrap();
                if closes {
                    engine.close().unwrap();
                } else {
                    drop(engine);
                }
                paths.rotate_left(1);
                bench.engine = Some(opened(&scheme, &paths, turn.next().unwrap()).unwrap());
                bench.settle();
            }
        }
    }
    bench.settle();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_log_is_the_same_by_all_ways(actions in actions()) {
        run(LOG, &actions);
    }

    #[test]
    fn an_array_in_place_is_the_same_by_all_ways(actions in actions()) {
        run(IN_PLACE, &actions);
    }
}

#[test]
fn files_are_reached_by_a_ring_where_there_is_one() {
    let scheme = Scheme::from_toml("test", LOG).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let paths = created(&scheme, folder.path(), 4, MEMBER_BYTES);
    let [plain, best] = ways();
    let engine = opened(&scheme, &paths, plain).unwrap();
    assert_eq!(engine.status().way, "plain");
    assert!(engine.fd().is_none());
    drop(engine);
    let engine = opened(&scheme, &paths, best).unwrap();
    if engine.status().way == "plain" {
        println!("skipped: the system has no io_uring, or forbids it");
        return;
    }
    assert!(engine.fd().is_some());
}
