use super::*;

const PAGE: u64 = 4096;

fn jobs() -> Jobs {
    Jobs::new(64, PAGE as u32, false)
}

/// All parts that the controller would receive now.
fn parts(jobs: &mut Jobs) -> Vec<HostRequest> {
    std::iter::from_fn(|| jobs.next_part()).map(|(host, _)| host).collect()
}

fn end(jobs: &mut Jobs, host: &HostRequest) {
    let over = Acknowledgement { tag: host.tag, ..Acknowledgement::default() };
    jobs.part_over(&over, Payload::new());
}

#[test]
fn however_long_zeros_are_others_have_their_turn() {
    let mut jobs = jobs();
    let (offset, bytes) = (0, 4 << 30);
    jobs.push(0, Request::Zero { offset, bytes, fua: false, keep_space: true }, false);
    jobs.push(0, Request::read(100 * PAGE, 4096), false);
    jobs.push(0, Request::read(bytes - PAGE, 4096), false);
    jobs.push(0, Request::write(bytes, &[7; 4096]), false);
    jobs.push(0, Request::write(bytes - PAGE, &[7; 8192]), false);
    jobs.push(0, Request::read(bytes, 4096), false);
    jobs.push(0, Request::Flush, false);
    let found = parts(&mut jobs);
    let (zeros, others) = found.split_at((CLEAR_BYTES / DATA_BYTES) as usize);
    assert!(zeros.iter().all(|host| u64::from(host.bytes) == DATA_BYTES));
    let kinds: Vec<(RequestKind, u64)> = others.iter().map(|host| (host.kind, host.offset)).collect();
    // A read that overlaps a waiting request waits as well, whether that request writes zeros or waits for one that
    // does.
    assert_eq!(
        kinds,
        [(RequestKind::Read, 100 * PAGE), (RequestKind::Write, bytes), (RequestKind::Flush, 0)]
    );
    for zeros in zeros {
        end(&mut jobs, zeros);
        let next = parts(&mut jobs);
        assert_eq!(next.iter().map(|host| u64::from(host.bytes)).collect::<Vec<_>>(), [DATA_BYTES]);
    }
}

#[test]
fn reads_have_room_where_all_else_waits() {
    let mut jobs = jobs();
    let write = |nth: u64| Request::write(nth * PAGE, &[1; 4096]);
    let mut written = 0;
    while !jobs.is_full(&write(written)) {
        jobs.push(0, write(written), false);
        written += 1;
    }
    assert_eq!((written, parts(&mut jobs).len()), (56, 56));
    let read = Request::read(1000 * PAGE, 4096);
    assert!(!jobs.is_full(&read));
    jobs.push(0, read, false);
    assert_eq!(parts(&mut jobs).iter().map(|host| host.kind).collect::<Vec<_>>(), [RequestKind::Read]);
}

#[test]
fn what_is_refused_needs_no_room_and_gives_its_own_back() {
    let mut jobs = jobs();
    let ticket = jobs.push(0, Request::write(0, &[1; 4096]), false);
    let (host, payload) = jobs.next_part().unwrap();
    jobs.hold(host, payload);
    assert!(jobs.refuse_stuck(1, 0));
    assert_eq!(jobs.take_done().map(|over| (over.ticket, over.result)), Some((ticket, Err(Failed::NoSpace))));
    assert!(jobs.is_idle() && jobs.next_part().is_none(), "the controller never gets it");

    let read = Request::read(0, 4096);
    while !jobs.is_full(&read) {
        jobs.push(0, read.clone(), false);
    }
    let ticket = jobs.refuse(Request::write(0, &[2; 4096]));
    let over = jobs.take_done_of(ticket).unwrap();
    assert_eq!((over.result, over.payload.len()), (Err(Failed::NoSpace), 4096));
}
