//! The handshake, byte by byte as in the protocol.

use stripewise_nbd::client::{Client, Wishes};
use stripewise_nbd::wire::*;
use stripewise_nbd::{BlockSizes, Export, Limits, Violation};

use crate::support::{Host, export};

/// Flags of a client that supports everything.
const FLAGS: u32 = 3;

/// A host that has greeted, and received these flags.
fn greeted(flags: u32) -> Result<Host, Violation> {
    let mut host = Host::new(export(), Limits::default());
    host.serve()?;
    assert_eq!(host.output, [&NBD_MAGIC.to_be_bytes()[..], &OPTION_MAGIC.to_be_bytes(), &[0, 3]].concat());
    host.output.clear();
    host.receive(&mut &flags.to_be_bytes()[..], usize::MAX)?;
    Ok(host)
}

/// The bytes of an option.
fn option(option: u32, data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u32).to_be_bytes();
    [&OPTION_MAGIC.to_be_bytes()[..], &option.to_be_bytes(), &length, data].concat()
}

/// A string after its length.
fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat()
}

/// Sends an option. Returns the kinds and contents of the replies.
fn ask(host: &mut Host, number: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
    try_ask(host, number, data).expect("the connection goes on")
}

fn try_ask(host: &mut Host, number: u32, data: &[u8]) -> Result<Vec<(u32, Vec<u8>)>, Violation> {
    let sent = option(number, data);
    let mut rest = &sent[..];
    while !rest.is_empty() {
        host.receive(&mut rest, usize::MAX)?;
    }
    Ok(replies(&std::mem::take(&mut host.output), number))
}

fn replies(mut output: &[u8], number: u32) -> Vec<(u32, Vec<u8>)> {
    let mut found = Vec::new();
    while !output.is_empty() {
        let word = |at: usize| u32::from_be_bytes(output[at..at + 4].try_into().unwrap());
        assert_eq!(output[..8], OPTION_REPLY_MAGIC.to_be_bytes());
        assert_eq!(word(8), number, "it says which option it replies to");
        let end = 20 + word(16) as usize;
        found.push((word(12), output[20..end].to_vec()));
        output = &output[end..];
    }
    found
}

/// The data of `OPT_INFO` and `OPT_GO`.
fn info(name: &str, kinds: &[u16]) -> Vec<u8> {
    let kinds: Vec<u8> = kinds.iter().flat_map(|kind| kind.to_be_bytes()).collect();
    [string(name), (kinds.len() as u16 / 2).to_be_bytes().to_vec(), kinds].concat()
}

/// The data of the options of metadata contexts.
fn contexts(name: &str, queries: &[&str]) -> Vec<u8> {
    let queries_sent: Vec<u8> = queries.iter().flat_map(|query| string(query)).collect();
    [string(name), (queries.len() as u32).to_be_bytes().to_vec(), queries_sent].concat()
}

const ACK: (u32, Vec<u8>) = (REP_ACK, Vec::new());

fn kinds(replies: &[(u32, Vec<u8>)]) -> Vec<u32> {
    replies.iter().map(|(kind, _)| *kind).collect()
}

#[test]
fn flags_that_were_not_offered_end_the_connection() {
    for flags in [4, 1 << 16, u32::MAX] {
        assert_eq!(greeted(flags).err(), Some(Violation::ClientFlags { flags }));
    }
}

#[test]
fn export_name_is_answered_by_size_flags_and_zeros_unless_they_are_declined() {
    // Has flags, flush, FUA, trim, zeros, several connections, fast zeros; no DF without structured replies.
    let flags: u16 = 0b1001_0110_1101;
    for (client, zeroes) in [(0, 124), (1, 124), (2, 0), (3, 0)] {
        for name in ["", "disk"] {
            let mut host = greeted(client).unwrap();
            let sent = option(OPT_EXPORT_NAME, name.as_bytes());
            host.receive(&mut &sent[..], usize::MAX).unwrap();
            let expected = [&65536_u64.to_be_bytes()[..], &flags.to_be_bytes(), &vec![0; zeroes]].concat();
            assert_eq!(host.output, expected);
            assert!(host.connection.is_transmitting());
        }
    }
}

#[test]
fn an_export_that_is_not_there_ends_the_connection_where_no_reply_is_possible() {
    for name in ["dusk", "disk\0", &"x".repeat(4097), &"x".repeat(20_000)] {
        let mut host = greeted(FLAGS).unwrap();
        let ended = try_ask(&mut host, OPT_EXPORT_NAME, name.as_bytes());
        assert_eq!(ended, Err(Violation::UnknownExport));
        assert!(!host.connection.wants_to_send(), "no reply exists");
        assert!(host.connection.space().iter().all(|part| part.is_empty()), "nothing more is received");
    }
}

#[test]
fn a_client_without_fixed_newstyle_may_choose_an_export_alone() {
    for number in [OPT_LIST, OPT_GO, OPT_ABORT, 4711] {
        let mut host = greeted(0).unwrap();
        assert_eq!(try_ask(&mut host, number, &[]), Err(Violation::NotFixed { option: number }));
    }
}

#[test]
fn what_is_no_option_ends_the_connection() {
    let mut host = greeted(FLAGS).unwrap();
    let ended = host.receive(&mut &[7; 16][..], usize::MAX);
    assert_eq!(ended, Err(Violation::OptionMagic { found: 0x0707_0707_0707_0707 }));
}

#[test]
fn abort_is_acknowledged_and_ends_the_session() {
    let mut host = greeted(FLAGS).unwrap();
    assert_eq!(ask(&mut host, OPT_ABORT, &[]), [ACK]);
    assert!(host.connection.is_over());
}

#[test]
fn the_list_names_the_export_and_describes_it() {
    let mut host = greeted(FLAGS).unwrap();
    let entry = [string("disk"), b"A disk of memory".to_vec()].concat();
    assert_eq!(ask(&mut host, OPT_LIST, &[]), [(REP_SERVER, entry), ACK]);
    assert_eq!(kinds(&ask(&mut host, OPT_LIST, b"x")), [REP_ERR_INVALID]);
}

#[test]
fn tls_and_what_is_not_known_are_refused_and_the_haggling_continues() {
    let mut host = greeted(FLAGS).unwrap();
    for number in [OPT_STARTTLS, 4, 8 + 3, 4711, u32::MAX] {
        assert_eq!(kinds(&ask(&mut host, number, &[])), [REP_ERR_UNSUP]);
    }
    assert_eq!(kinds(&ask(&mut host, 4711, &[9; 3000])), [REP_ERR_UNSUP]);
    assert_eq!(kinds(&ask(&mut host, 4711, &[9; 100_000])), [REP_ERR_TOO_BIG]);
    assert_eq!(ask(&mut host, OPT_STRUCTURED_REPLY, &[]), [ACK]);
}

#[test]
fn information_has_size_flags_and_blocks_and_what_else_is_requested() {
    let mut host = greeted(FLAGS).unwrap();
    assert_eq!(ask(&mut host, OPT_STRUCTURED_REPLY, &[]), [ACK]);
    let flags: u16 = 0b1001_1110_1101;
    let size = [&[0, 0][..], &65536_u64.to_be_bytes(), &flags.to_be_bytes()].concat();
    let blocks: Vec<u8> = [512_u32, 4096, 16384].iter().flat_map(|bytes| bytes.to_be_bytes()).collect();
    let blocks = [vec![0, 3], blocks].concat();
    let answers = ask(&mut host, OPT_INFO, &info("disk", &[]));
    assert_eq!(answers, [(REP_INFO, size.clone()), (REP_INFO, blocks.clone()), ACK]);
    let answers = ask(&mut host, OPT_INFO, &info("", &[INFO_DESCRIPTION, 77, INFO_NAME, INFO_BLOCK_SIZE]));
    let (name, description) = (b"\0\x01disk".to_vec(), b"\0\x02A disk of memory".to_vec());
    assert_eq!(
        answers,
        [(REP_INFO, size), (REP_INFO, blocks), (REP_INFO, name), (REP_INFO, description), ACK]
    );
    assert!(!host.connection.is_transmitting());
    assert_eq!(kinds(&ask(&mut host, OPT_GO, &info("disk", &[]))), [REP_INFO, REP_INFO, REP_ACK]);
    assert!(host.connection.is_transmitting());
}

#[test]
fn malformed_or_unknown_requests_for_information_are_refused() {
    let mut host = greeted(FLAGS).unwrap();
    let whole = info("disk", &[INFO_NAME]);
    let longer = [&whole[..], &[0]].concat();
    let endless = [&u32::MAX.to_be_bytes()[..], b"disk"].concat();
    for number in [OPT_INFO, OPT_GO] {
        for bytes in 0..whole.len() {
            assert_eq!(kinds(&ask(&mut host, number, &whole[..bytes])), [REP_ERR_INVALID], "{bytes} bytes");
        }
        assert_eq!(kinds(&ask(&mut host, number, &longer)), [REP_ERR_INVALID]);
        assert_eq!(kinds(&ask(&mut host, number, &endless)), [REP_ERR_INVALID]);
        assert_eq!(kinds(&ask(&mut host, number, &info("dusk", &[]))), [REP_ERR_UNKNOWN]);
    }
    assert!(!host.connection.is_transmitting());
}

#[test]
fn allocation_is_listed_and_selected_by_its_name_once_replies_come_in_chunks() {
    let mut host = greeted(FLAGS).unwrap();
    let named = |id: u32| (REP_META_CONTEXT, [&id.to_be_bytes()[..], b"base:allocation"].concat());
    let (list, set) = (OPT_LIST_META_CONTEXT, OPT_SET_META_CONTEXT);
    let one = contexts("disk", &["base:allocation"]);
    assert_eq!(kinds(&ask(&mut host, set, &one)), [REP_ERR_INVALID]);
    ask(&mut host, OPT_STRUCTURED_REPLY, &[]);
    assert_eq!(ask(&mut host, list, &contexts("", &[])), [named(0), ACK]);
    assert_eq!(ask(&mut host, list, &contexts("", &["x:y", "base:"])), [named(0), ACK]);
    assert_eq!(ask(&mut host, list, &contexts("disk", &["qemu:", "x:y"])), [ACK]);
    assert_eq!(ask(&mut host, set, &contexts("disk", &["base:"])), [ACK]);
    assert_eq!(ask(&mut host, set, &contexts("disk", &["x:y", "base:allocation"])), [named(1), ACK]);
    assert_eq!(kinds(&ask(&mut host, set, &contexts("dusk", &["base:allocation"]))), [REP_ERR_UNKNOWN]);
    for bytes in 0..one.len() {
        assert_eq!(kinds(&ask(&mut host, set, &one[..bytes])), [REP_ERR_INVALID], "{bytes} bytes");
    }
}

#[test]
fn a_selection_that_fails_or_selects_nothing_undoes_the_one_before() {
    for second in [contexts("disk", &[]), contexts("dusk", &["base:allocation"]), vec![1]] {
        let mut host = greeted(FLAGS).unwrap();
        ask(&mut host, OPT_STRUCTURED_REPLY, &[]);
        ask(&mut host, OPT_SET_META_CONTEXT, &contexts("disk", &["base:allocation"]));
        ask(&mut host, OPT_SET_META_CONTEXT, &second);
        ask(&mut host, OPT_GO, &info("disk", &[]));
        let status = RequestHeader { flags: 0, command: CMD_BLOCK_STATUS, cookie: 1, offset: 0, bytes: 512 };
        host.receive(&mut &status.encode()[..], usize::MAX).unwrap();
        assert!(host.seen.is_empty(), "nothing was selected: {:?}", host.seen);
    }
}

#[test]
fn a_server_about_to_end_refuses_options_and_lets_the_client_go() {
    let mut host = greeted(FLAGS).unwrap();
    host.connection.shut_down();
    assert_eq!(kinds(&ask(&mut host, OPT_GO, &info("disk", &[]))), [REP_ERR_SHUTDOWN]);
    assert_eq!(ask(&mut host, OPT_ABORT, &[]), [ACK]);
    assert!(host.connection.is_over());
}

/// No more bytes are read from a client that sends options and reads no replies.
#[test]
fn the_next_option_waits_until_the_reply_to_the_last_is_sent() {
    let mut host = greeted(FLAGS).unwrap();
    let many = option(OPT_LIST, &[]).repeat(1000);
    let mut rest = &many[..];
    let mut turns = 0;
    loop {
        let [space, _] = host.connection.space();
        let bytes = space.len().min(rest.len());
        if bytes == 0 {
            break;
        }
        space[..bytes].copy_from_slice(&rest[..bytes]);
        rest = &rest[bytes..];
        host.connection.received(bytes);
        assert!(host.connection.next_request(|_| None).unwrap().is_none());
        turns += 1;
    }
    assert_eq!((turns, rest.len()), (1, 16_000 - 1024), "one block is received, one option answered");
    while !rest.is_empty() {
        host.serve().unwrap();
        host.receive(&mut rest, usize::MAX).unwrap();
    }
    assert_eq!(replies(&host.output, OPT_LIST).len(), 2000);
}

#[test]
fn the_client_learns_what_the_server_offers() {
    let read_only = Export { read_only: true, ..export() };
    for (offered, flags) in [(export(), 0b1001_1110_1101), (read_only, 0b0001_1000_1111)] {
        let (_, client) = crate::support::connected(offered, Wishes::default());
        let info = client.export().unwrap();
        let block = BlockSizes { minimum: 512, preferred: 4096, maximum: 16384 };
        assert_eq!((info.bytes, info.flags, info.block), (65536, flags, Some(block)));
    }
}

#[test]
fn the_client_gets_an_error_when_its_export_is_refused() {
    let mut host = Host::new(export(), Limits::default());
    host.serve().unwrap();
    let mut client = Client::new("dusk", Wishes::default());
    let error = loop {
        let output = std::mem::take(&mut host.output);
        if let Err(error) = client.receive(&output) {
            break error.to_string();
        }
        let sent = client.take_outgoing();
        host.receive(&mut &sent[..], usize::MAX).unwrap();
    };
    assert!(error.contains("refuses option 7") && error.contains("no such export"), "{error}");
}
