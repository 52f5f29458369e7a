//! Checks that checking and timed runs are the same: without bytes, the controller makes the same plans at the same
//! times as with them.

use stripewise_array::geometry::Geometry;
use stripewise_array::{
    Acknowledgement, HostRequest, Memory, NoMemory, PageMemory, PlanView, RequestKind, SubmitError, explain,
};
use stripewise_base::Nanos;
use stripewise_check::{Ask, Case, Faults, PageMedia, SECTOR, What, stress};
use stripewise_flash::{Flash, Shape};
use stripewise_sim::{Content, Host, Next, Simulation};

/// Sends the requests of a case and records the events.
struct Recorder<M: Memory> {
    asks: Vec<Ask>,
    next: usize,
    due: Nanos,
    depth: usize,
    under_way: usize,
    refused: Option<(HostRequest, M::Host)>,
    payload: fn(usize) -> M::Host,
    geometry: Geometry,
    lines: Vec<String>,
}

impl<M: Memory> Host<M> for Recorder<M> {
    const OBSERVES: bool = true;

    fn next(&mut self, now: Nanos) -> Next {
        if self.refused.is_some() {
            return Next::At(now);
        }
        match self.asks.get(self.next) {
            None => Next::End,
            Some(_) if self.under_way >= self.depth => Next::Waiting,
            Some(_) => Next::At(self.due.max(now)),
        }
    }

    fn take(&mut self, now: Nanos) -> (HostRequest, M::Host) {
        self.under_way += 1;
        if let Some(refused) = self.refused.take() {
            return refused;
        }
        let ask = self.asks[self.next];
        let tag = self.next as u64;
        self.next += 1;
        self.due = now + self.asks.get(self.next).map_or(0, |ask| ask.gap_ns);
        let kind = match ask.what {
            What::Read => RequestKind::Read,
            What::Write => RequestKind::Write,
            What::Trim => RequestKind::Trim,
            What::Flush => RequestKind::Flush,
        };
        let bytes = ask.sectors as usize * SECTOR;
        let request =
            HostRequest { tag, arrival: now, offset: ask.sector * SECTOR as u64, bytes: bytes as u32, kind };
        (request, (self.payload)(bytes))
    }

    fn refused(&mut self, request: HostRequest, payload: M::Host, error: SubmitError) {
        assert_eq!(error, SubmitError::Busy);
        self.under_way -= 1;
        self.refused = Some((request, payload));
    }

    fn acknowledged(&mut self, _: Nanos, acknowledgement: &Acknowledgement, _: M::Host) {
        self.under_way -= 1;
        self.lines.push(format!("{acknowledgement:?}"));
    }

    fn planned(&mut self, plan: &PlanView<'_>) {
        self.lines.push(explain::explain(plan, &self.geometry));
    }
}

/// The record of `case` with this memory and these media.
fn record<M: Memory, C: Content<M>>(
    case: &Case,
    memory: M,
    media: C,
    payload: fn(usize) -> M::Host,
) -> Vec<String> {
    let flash = Flash::with_media(&case.device, case.members.level, case.members.devices, case.seed, media);
    let recorder = Recorder {
        asks: case.requests.clone(),
        next: 0,
        due: 0,
        depth: case.depth as usize,
        under_way: 0,
        refused: None,
        payload,
        geometry: case.geometry().expect("a geometry"),
        lines: Vec::new(),
    };
    let flash = flash.expect("a device");
    let mut simulation =
        Simulation::new(&case.scheme, flash, case.page_bytes(), memory, recorder).expect("a simulation");
    let mut losses = case.losses.clone();
    let mut event = 0;
    loop {
        losses.retain(|loss| {
            let is_due = loss.event <= event;
            if is_due {
                simulation.fail_member(loss.member);
            }
            !is_due
        });
        event += 1;
        if !simulation.step() {
            break;
        }
    }
    simulation.drain();
    assert!(simulation.array.is_quiet());
    simulation.world.host.lines
}

#[test]
fn without_bytes_the_plans_and_the_times_are_the_same() {
    let mut plans = 0;
    for seed in 0..400 {
        let case = stress::case(seed);
        let shape = Shape::new(&case.device, case.members.level, case.members.devices).expect("a shape");
        let page = case.page_bytes();
        let media = PageMedia::new(shape.members, shape.pages_per_member, page, Faults::default(), case.seed);
        let checked = record(&case, PageMemory::new(page), media, |bytes| vec![0; bytes].into());
        let timed = record(&case, NoMemory, (), |_| ());
        for (index, (checked, timed)) in checked.iter().zip(&timed).enumerate() {
            assert_eq!(checked, timed, "seed {seed}, line {index}");
        }
        assert_eq!(checked.len(), timed.len(), "seed {seed}");
        plans += timed.len();
    }
    assert!(plans > 20_000, "{plans} plans and acknowledgements");
}
