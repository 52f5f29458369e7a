//! Read policies over real files: they use the times of operations, and really read from the other members.

use stripewise_engine::{Engine, Options, Order, Request};

use crate::support::media::Media;
use crate::support::{options, scheme};

const PAGE: u64 = 4096;

#[test]
fn policies_that_ask_members_are_refused_with_the_remedy_and_run_on_what_is_observed() {
    for policy in ["brr", "gc-avoiding", "least-finish"] {
        let media = Media::new(4, 8, 4096);
        let text = format!("name = \"test\"\n[read]\npolicy = \"{policy}\"\n");
        let error = Engine::new(&scheme(&text), media.open(), options()).map(drop).unwrap_err().to_string();
        assert!(error.contains("use read.state = \"observed\""), "{error}");
        let observed = scheme(&format!("{text}state = \"observed\"\n"));
        Engine::new(&observed, media.open(), options()).unwrap_or_else(|error| panic!("{policy}: {error}"));
    }
}

#[test]
fn hedged_reads_of_files_race_and_return_written_data() {
    let media = Media::new(4, 64, 4096);
    let hedged = scheme("name = \"test\"\n[read]\npolicy = \"hedged\"\nhedge = \"proactive\"\n");
    let random = Options { order: Order::Shuffled(7), window: 2, ..options() };
    let mut engine = Engine::new(&hedged, media.open(), random).unwrap();
    let pages = engine.capacity() / PAGE;
    for number in 0..pages {
        engine.write(number * PAGE, &[number as u8; PAGE as usize]).unwrap();
    }
    // All requests at once, so that operations wait in the queues, and one of two sides is ahead by chance.
    let mut requested = Vec::new();
    for number in 0..pages {
        let ticket = engine.submit(Request::read(number * PAGE, PAGE as usize)).unwrap();
        requested.push((ticket, number as u8));
    }
    while let Some(completion) = engine.poll() {
        let at =
            requested.iter().position(|&(ticket, _)| ticket == completion.ticket).expect("asked for once");
        let (_, byte) = requested.swap_remove(at);
        completion.result.unwrap();
        assert!(completion.payload.iter().all(|&found| found == byte), "page {byte}");
    }
    assert!(requested.is_empty());
    let counts = engine.array().read_counts();
    assert!(counts.hedged > pages / 2, "{counts:?}");
    assert!(counts.hedges_won > 0 && counts.hedges_won < counts.hedged, "{counts:?}: either side may win");
}
