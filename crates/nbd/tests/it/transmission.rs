//! The transmission phase: requests, replies, errors and limits.

use stripewise_nbd::client::{Found, Wishes};
use stripewise_nbd::wire::*;
use stripewise_nbd::{Export, Extent, Fault, Limits, Violation};

use crate::support::{DISK_BYTES, connected, connected_with, export, fault, found};

const SIMPLE: Wishes = Wishes { structured: false, allocation: false };

/// With structured replies and without.
fn both() -> [Wishes; 2] {
    [SIMPLE, Wishes::default()]
}

#[test]
fn written_data_is_read_with_either_kind_of_replies() {
    for wishes in both() {
        let (mut host, mut client) = connected(export(), wishes);
        let data: Vec<u8> = (0..8192).map(|at| at as u8 ^ (at >> 8) as u8).collect();
        client.write(512, &data, false);
        assert_eq!(found(host.talk(&mut client)), Found::Nothing);
        client.read(0, 8192 + 1024);
        let expected = [&[0; 512][..], &data, &[0; 512]].concat();
        assert_eq!(found(host.talk(&mut client)), Found::Data(expected));
        client.flush();
        assert_eq!(found(host.talk(&mut client)), Found::Nothing);
        assert_eq!(host.seen.len(), 3);
    }
}

#[test]
fn the_host_sees_the_flags_of_requests() {
    let (mut host, mut client) = connected(export(), Wishes::default());
    for fua in [false, true] {
        client.write(0, &[1; 512], fua);
        client.trim(512, 1024, fua);
        client.write_zeroes(0, 512, fua);
    }
    client.request(CMD_WRITE_ZEROES, CMD_FLAG_NO_HOLE, 0, 4096, &[]);
    client.request(CMD_WRITE_ZEROES, CMD_FLAG_FAST_ZERO, 0, 4096, &[]);
    client.request(CMD_READ, CMD_FLAG_DF | CMD_FLAG_FUA, 0, 512, &[]);
    let answers = host.talk(&mut client);
    assert!(answers.iter().all(|answer| answer.outcome.is_ok()), "{answers:?}");
    for (at, fua) in [(0, false), (3, true)] {
        assert!(host.seen[at].starts_with("Write { offset: 0, data: [1, 1,"), "{}", host.seen[at]);
        assert!(host.seen[at].ends_with(&format!("bytes: 512, fua: {fua} }}")), "{}", host.seen[at]);
        assert_eq!(host.seen[at + 1], format!("Trim {{ offset: 512, bytes: 1024, fua: {fua} }}"));
        let zeroes = format!("WriteZeroes {{ offset: 0, bytes: 512, fua: {fua}, keep_space: false }}");
        assert_eq!(host.seen[at + 2], zeroes);
    }
    for (seen, keep_space) in [(&host.seen[6], true), (&host.seen[7], false)] {
        let zeroes =
            format!("WriteZeroes {{ offset: 0, bytes: 4096, fua: false, keep_space: {keep_space} }}");
        assert_eq!(*seen, zeroes);
    }
    assert_eq!(host.seen[8], "Read { offset: 0, bytes: 512 }");
}

#[test]
fn trims_and_zeros_may_be_longer_than_a_payload() {
    let (mut host, mut client) = connected(export(), Wishes::default());
    client.write_zeroes(0, DISK_BYTES as u32, false);
    assert_eq!(found(host.talk(&mut client)), Found::Nothing);
    client.trim(0, DISK_BYTES as u32, false);
    assert_eq!(found(host.talk(&mut client)), Found::Nothing);
}

#[test]
fn block_status_reports_holes_up_to_the_end_of_the_request() {
    let (mut host, mut client) = connected(export(), Wishes::default());
    client.write(4096, &[1; 512], false);
    host.talk(&mut client);
    let extent = |bytes, hole| Extent { bytes, hole, zero: hole };
    client.block_status(512, 8192);
    let extents = vec![extent(3584, true), extent(4096, false), extent(512, true)];
    assert_eq!(found(host.talk(&mut client)), Found::Extents(extents));
    client.request(CMD_BLOCK_STATUS, CMD_FLAG_REQ_ONE, 4096, 16384, &[]);
    assert_eq!(found(host.talk(&mut client)), Found::Extents(vec![extent(4096, false)]));
}

#[test]
fn requests_that_cannot_be_are_refused_by_number_and_the_connection_continues() {
    let end = DISK_BYTES as u64;
    let requests: [(u16, u16, u64, u32, Fault); 22] = [
        (CMD_READ, 0, end, 512, Fault::Invalid),
        (CMD_READ, 0, end - 512, 1024, Fault::Invalid),
        (CMD_READ, 0, u64::MAX - 511, 512, Fault::Invalid),
        (CMD_READ, 0, 1, 512, Fault::Invalid),
        (CMD_READ, 0, 0, 511, Fault::Invalid),
        (CMD_READ, 0, 0, 32768, Fault::Invalid),
        (CMD_READ, CMD_FLAG_NO_HOLE, 0, 512, Fault::Invalid),
        (CMD_WRITE, 0, end, 512, Fault::NoSpace),
        (CMD_WRITE, 0, u64::MAX, 512, Fault::NoSpace),
        (CMD_WRITE, 0, 100, 512, Fault::Invalid),
        (CMD_WRITE, 0, 0, 32768, Fault::Invalid),
        (CMD_WRITE, CMD_FLAG_DF, 0, 512, Fault::Invalid),
        (CMD_FLUSH, 0, 0, 512, Fault::Invalid),
        (CMD_FLUSH, 0, 512, 0, Fault::Invalid),
        (CMD_TRIM, 0, end, 512, Fault::NoSpace),
        (CMD_TRIM, 0, 0, u32::MAX, Fault::NoSpace),
        (CMD_TRIM, CMD_FLAG_FAST_ZERO, 0, 512, Fault::Invalid),
        (CMD_WRITE_ZEROES, 0, 512, end as u32, Fault::NoSpace),
        (CMD_BLOCK_STATUS, 0, end - 512, 1024, Fault::Invalid),
        (CMD_BLOCK_STATUS, 0, 0, 0, Fault::Invalid),
        (5, 0, 0, 512, Fault::Invalid),
        (4711, 0, 0, 0, Fault::Invalid),
    ];
    for wishes in both() {
        let (mut host, mut client) = connected(export(), wishes);
        for (command, flags, offset, bytes, expected) in requests {
            let payload = if command == CMD_WRITE { vec![7; bytes as usize] } else { vec![] };
            client.request(command, flags, offset, bytes, &payload);
            let (number, text) = fault(host.talk(&mut client));
            assert_eq!(number, expected, "command {command}, {bytes} bytes at {offset}: {text}");
            assert_eq!(text.is_empty(), !wishes.structured, "chunks tell why");
        }
        assert_eq!(host.seen, [""; 0], "none of them reaches the host");
        client.write(0, &[3; 512], false);
        assert_eq!(found(host.talk(&mut client)), Found::Nothing);
        assert_eq!(host.disk[..513], [&[3; 512][..], &[0]].concat());
    }
}

#[test]
fn what_was_not_agreed_upon_is_refused() {
    let (mut host, mut client) = connected(export(), SIMPLE);
    client.request(CMD_READ, CMD_FLAG_DF, 0, 512, &[]);
    assert_eq!(fault(host.talk(&mut client)).0, Fault::Invalid);
    client.block_status(0, 512);
    assert_eq!(fault(host.talk(&mut client)).0, Fault::Invalid);
}

#[test]
fn a_read_only_export_refuses_whatever_writes() {
    let (mut host, mut client) = connected(Export { read_only: true, ..export() }, Wishes::default());
    client.write(0, &[1; 4096], true);
    client.trim(0, 512, false);
    client.write_zeroes(0, 512, false);
    for answer in host.talk(&mut client) {
        assert_eq!(answer.outcome.unwrap_err().0, Fault::Permission);
    }
    client.read(0, 512);
    assert_eq!(found(host.talk(&mut client)), Found::Data(vec![0; 512]));
    client.flush();
    assert_eq!(found(host.talk(&mut client)), Found::Nothing);
}

#[test]
fn fast_zeros_are_refused_where_they_are_slow() {
    let (mut host, mut client) = connected(Export { zeroes_fast: false, ..export() }, Wishes::default());
    client.request(CMD_WRITE_ZEROES, CMD_FLAG_FAST_ZERO, 0, 512, &[]);
    assert_eq!(fault(host.talk(&mut client)).0, Fault::NotSupported);
    // Zeros are fast only where they may make a hole.
    let (mut host, mut client) = connected(export(), Wishes::default());
    client.request(CMD_WRITE_ZEROES, CMD_FLAG_FAST_ZERO | CMD_FLAG_NO_HOLE, 0, 512, &[]);
    assert_eq!(fault(host.talk(&mut client)).0, Fault::NotSupported);
    assert_eq!(host.seen, [""; 0]);
    client.write_zeroes(0, 512, false);
    assert_eq!(found(host.talk(&mut client)), Found::Nothing);
}

#[test]
fn requests_of_no_bytes_are_done_without_the_host() {
    for wishes in both() {
        let (mut host, mut client) = connected(export(), wishes);
        client.read(512, 0);
        assert_eq!(found(host.talk(&mut client)), Found::Data(vec![]));
        client.write(DISK_BYTES as u64, &[], false);
        assert_eq!(found(host.talk(&mut client)), Found::Nothing);
        assert_eq!(host.seen, [""; 0]);
    }
}

#[test]
fn replies_may_come_in_any_order_and_carry_their_requests_cookies() {
    for wishes in both() {
        let (mut host, mut client) = connected(export(), wishes);
        host.disk[512..1024].fill(9);
        host.is_prompt = false;
        let first = client.read(0, 512);
        let second = client.read(512, 512);
        let third = client.write(0, &[1; 512], false);
        assert_eq!(host.talk(&mut client), []);
        host.answer_waiting(1);
        host.fail_waiting(1, Fault::Io, "the medium is gone");
        host.answer_waiting(0);
        let answers = host.talk(&mut client);
        assert_eq!(answers.iter().map(|answer| answer.cookie).collect::<Vec<_>>(), [second, third, first]);
        assert_eq!(answers[0].outcome, Ok(Found::Data(vec![9; 512])));
        assert_eq!(answers[1].outcome.as_ref().unwrap_err().0, Fault::Io);
        assert_eq!(answers[2].outcome, Ok(Found::Data(vec![0; 512])));
        assert!(host.connection.is_idle());
    }
}

#[test]
fn a_reason_that_is_too_long_is_cut_between_characters() {
    let (mut host, mut client) = connected(export(), Wishes::default());
    host.is_prompt = false;
    client.flush();
    host.talk(&mut client);
    host.fail_waiting(0, Fault::Io, &"x€".repeat(200));
    let (_, text) = fault(host.talk(&mut client));
    assert_eq!(text, "x€".repeat(64), "256 bytes");
}

#[test]
fn what_is_no_request_ends_the_connection() {
    let (mut host, _) = connected(export(), Wishes::default());
    assert_eq!(
        host.receive(&mut &[7; 28][..], usize::MAX),
        Err(Violation::RequestMagic { found: 0x0707_0707 })
    );
    assert!(host.connection.space().iter().all(|part| part.is_empty()), "nothing more is received");
    assert_eq!(host.serve(), Ok(()), "and nothing more is understood");
}

#[test]
fn a_goodbye_waits_for_what_is_under_way() {
    let (mut host, mut client) = connected(export(), Wishes::default());
    host.is_prompt = false;
    client.write(0, &[1; 512], false);
    client.disconnect();
    assert_eq!(host.talk(&mut client), []);
    assert!(!host.connection.is_over() && host.connection.space().iter().all(|part| part.is_empty()));
    host.answer_waiting(0);
    assert!(!host.connection.is_over(), "the reply is not sent");
    assert_eq!(found(host.talk(&mut client)), Found::Nothing);
    assert!(host.connection.is_over());
}

#[test]
fn a_server_about_to_end_finishes_what_it_took_and_refuses_the_rest() {
    let (mut host, mut client) = connected(export(), Wishes::default());
    host.is_prompt = false;
    client.write(0, &[1; 512], false);
    host.talk(&mut client);
    host.connection.shut_down();
    client.write(0, &[2; 512], false);
    client.read(0, 512);
    for answer in host.talk(&mut client) {
        assert_eq!(answer.outcome.unwrap_err().0, Fault::ShuttingDown);
    }
    assert!(!host.connection.is_idle());
    host.answer_waiting(0);
    assert_eq!(found(host.talk(&mut client)), Found::Nothing);
    assert!(host.connection.is_idle());
    assert_eq!(host.disk[0], 1);
}

/// Sends `bytes` as far as the connection takes them while nothing is answered. Returns how many requests it took.
fn taken(limits: Limits, bytes: &[u8]) -> usize {
    let (mut host, _) = connected_with(export(), Wishes::default(), limits);
    host.is_prompt = false;
    let mut rest = bytes;
    loop {
        let before = rest.len();
        host.receive(&mut rest, usize::MAX).unwrap();
        if rest.len() == before {
            break;
        }
    }
    let count = host.waiting.len();
    // As replies are sent, the rest is taken.
    while !host.waiting.is_empty() {
        host.answer_waiting(0);
        host.serve().unwrap();
        while !host.connection.space()[0].is_empty() && !rest.is_empty() {
            host.receive(&mut rest, usize::MAX).unwrap();
        }
        assert!(host.waiting.len() <= count, "no more at once than before");
    }
    assert!(rest.is_empty() && host.connection.is_idle());
    count
}

#[test]
fn no_more_requests_are_taken_than_the_limits_allow() {
    let header = |command, bytes| RequestHeader { flags: 0, command, cookie: 1, offset: 0, bytes }.encode();
    let flushes = header(CMD_FLUSH, 0).repeat(500);
    assert_eq!(taken(Limits { requests: 7, bytes: 1 << 20 }, &flushes), 7);
    let reads = header(CMD_READ, 4096).repeat(100);
    assert_eq!(taken(Limits { requests: 100, bytes: 20 << 10 }, &reads), 5);
    let writes = [&header(CMD_WRITE, 4096)[..], &[5; 4096]].concat().repeat(100);
    assert_eq!(taken(Limits { requests: 100, bytes: 20 << 10 }, &writes), 5);
    let largest = header(CMD_READ, 16 << 10).repeat(3);
    assert_eq!(taken(Limits { requests: 0, bytes: 0 }, &largest), 1, "one is always let in");
}

/// Replies that the connection makes itself count too. Otherwise a client that sends nonsense and reads nothing would
/// fill the memory.
#[test]
fn refusals_that_are_not_sent_count_as_under_way() {
    let limits = Limits { requests: 5, bytes: 1 << 20 };
    let (mut host, _) = connected_with(export(), Wishes::default(), limits);
    let nonsense = RequestHeader { flags: 0, command: 99, cookie: 1, offset: 0, bytes: 0 }.encode();
    let many = nonsense.repeat(30);
    let [space, _] = host.connection.space();
    space[..many.len()].copy_from_slice(&many);
    host.connection.received(many.len());
    assert!(host.connection.next_request(|_| None).unwrap().is_none());
    assert!(host.connection.space().iter().all(|part| part.is_empty()), "nothing more is received");
    let mut slices = [std::io::IoSlice::new(&[]); 4];
    assert_eq!(host.connection.slices(&mut slices), 1, "replies without payload are one slice");
    let reply = slices[0].len() / 5;
    host.serve().unwrap();
    assert_eq!(host.output.len(), 30 * reply, "as they are sent, the rest is refused");
}

#[test]
fn a_write_waits_until_there_is_room_for_its_payload() {
    let (mut host, mut client) = connected(export(), Wishes::default());
    host.has_room = false;
    client.write(0, &[4; 4096], false);
    let sent = client.take_outgoing();
    let mut rest = &sent[..];
    host.receive(&mut rest, usize::MAX).unwrap();
    assert!(host.connection.space().iter().all(|part| part.is_empty()), "nothing more is received");
    assert!(host.seen.is_empty());
    host.has_room = true;
    host.serve().unwrap();
    while !rest.is_empty() {
        host.receive(&mut rest, usize::MAX).unwrap();
    }
    assert_eq!(host.disk[..4097], [&[4; 4096][..], &[0]].concat());
}

/// Once writes follow each other, a payload and the header after it are one vectored read, and no part of a payload
/// goes through the inbox.
#[test]
fn payloads_go_straight_to_their_buffers() {
    let (mut host, _) = connected(export(), Wishes::default());
    host.is_prompt = false;
    let header = RequestHeader { flags: 0, command: CMD_WRITE, cookie: 1, offset: 0, bytes: 4096 }.encode();
    let writes = [&header[..], &[5; 4096]].concat().repeat(10);
    let mut rest = &writes[..];
    host.receive(&mut rest, 28).unwrap();
    for count in 1..=10 {
        assert_eq!(host.connection.space().map(|part| part.len()), [4096, 28]);
        host.receive(&mut rest, usize::MAX).unwrap();
        assert_eq!(host.waiting.len(), count);
    }
    assert!(rest.is_empty());
}

#[test]
#[should_panic(expected = "no such reply to command 0")]
fn a_read_that_is_answered_without_data_is_the_hosts_mistake() {
    let (mut host, mut client) = connected(export(), Wishes::default());
    host.is_prompt = false;
    client.read(0, 512);
    host.talk(&mut client);
    let request = host.waiting.remove(0);
    host.connection.reply(request.pending, stripewise_nbd::Reply::Done);
}
