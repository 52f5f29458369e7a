//! The client detects a server that breaks the protocol.

use stripewise_nbd::client::{Client, Found, ServerError, Wishes};
use stripewise_nbd::wire::*;

/// A client with structured replies, and with a read of 1024 bytes at 512 in flight, with cookie 1.
fn reading(wishes: Wishes) -> Client {
    let mut client = Client::new("", wishes);
    client.read(512, 1024);
    client.receive(&[&NBD_MAGIC.to_be_bytes()[..], &OPTION_MAGIC.to_be_bytes(), &[0, 3]].concat()).unwrap();
    let reply = |option: u32, kind: u32, data: &[u8]| {
        let length = (data.len() as u32).to_be_bytes();
        [&OPTION_REPLY_MAGIC.to_be_bytes()[..], &option.to_be_bytes(), &kind.to_be_bytes(), &length, data]
            .concat()
    };
    if wishes.structured {
        client.receive(&reply(OPT_STRUCTURED_REPLY, REP_ACK, &[])).unwrap();
    }
    client.receive(&reply(OPT_GO, REP_INFO, &[0; 12])).unwrap();
    client.take_outgoing();
    client.receive(&reply(OPT_GO, REP_ACK, &[])).unwrap();
    let request = RequestHeader { flags: 0, command: CMD_READ, cookie: 1, offset: 512, bytes: 1024 };
    assert_eq!(client.take_outgoing(), request.encode(), "requests wait for the end of the handshake");
    client
}

const CHUNKS: Wishes = Wishes { structured: true, allocation: false };

/// A chunk of the read.
fn chunk(flags: u16, kind: u16, content: &[&[u8]]) -> Vec<u8> {
    let content = content.concat();
    let header = [CHUNK_MAGIC.to_be_bytes(), [0, flags as u8, (kind >> 8) as u8, kind as u8]].concat();
    [&header[..], &1_u64.to_be_bytes(), &(content.len() as u32).to_be_bytes(), &content].concat()
}

fn data(flags: u16, offset: u64, bytes: usize) -> Vec<u8> {
    chunk(flags, CHUNK_OFFSET_DATA, &[&offset.to_be_bytes(), &vec![7; bytes]])
}

fn wrong(chunks: &[Vec<u8>]) -> &'static str {
    match reading(CHUNKS).receive(&chunks.concat()) {
        Err(ServerError::Reply { cookie: 1, what }) => what,
        other => panic!("it is {other:?}"),
    }
}

#[test]
fn data_and_holes_may_come_in_any_order_and_in_any_pieces() {
    let hole = chunk(0, CHUNK_OFFSET_HOLE, &[&512_u64.to_be_bytes(), &512_u32.to_be_bytes()]);
    let chunks = [data(0, 1024, 512), hole, chunk(1, CHUNK_NONE, &[])].concat();
    for piece in [1, 7, chunks.len()] {
        let mut client = reading(CHUNKS);
        for bytes in chunks.chunks(piece) {
            assert_eq!(client.next_answer(), None);
            client.receive(bytes).unwrap();
        }
        let answer = client.next_answer().unwrap();
        assert_eq!(answer.outcome, Ok(Found::Data([[0; 512], [7; 512]].concat())));
    }
}

#[test]
fn data_that_does_not_fit_the_read_is_found() {
    assert_eq!(wrong(&[data(1, 0, 512)]), "has data before the request");
    assert_eq!(wrong(&[data(1, 1024, 1024)]), "has data beyond the request");
    assert_eq!(wrong(&[data(1, u64::MAX, 512)]), "has data beyond the request");
    let twice = "has data of no bytes or data that came before";
    assert_eq!(wrong(&[data(0, 512, 1024), data(1, 1024, 512)]), twice);
    assert_eq!(wrong(&[data(1, 512, 0)]), twice);
    assert_eq!(wrong(&[data(1, 512, 512)]), "ends before all data came");
    assert_eq!(wrong(&[chunk(1, CHUNK_NONE, &[])]), "ends before all data came");
}

#[test]
fn chunks_that_do_not_belong_or_are_malformed_are_found() {
    assert_eq!(wrong(&[chunk(1, CHUNK_BLOCK_STATUS, &[&[0; 12]])]), "has a chunk that does not belong to it");
    assert_eq!(wrong(&[chunk(1, CHUNK_NONE, &[&[0]])]), "has a chunk that does not belong to it");
    assert_eq!(wrong(&[chunk(1, 99, &[])]), "has a chunk that does not belong to it");
    assert_eq!(wrong(&[chunk(1, CHUNK_OFFSET_DATA, &[&[0; 7]])]), "has a chunk that is too short");
    assert_eq!(
        wrong(&[chunk(1, CHUNK_ERROR, &[&[0, 0, 0, 5, 0, 9], b"8 bytes."])]),
        "has a chunk that is too short"
    );
    assert_eq!(wrong(&[chunk(1, CHUNK_ERROR, &[&[0; 6]])]), "is an error of number 0");
}

#[test]
fn an_answer_to_nothing_and_what_is_no_answer_are_found() {
    let simple = |cookie: u64| [&[0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0][..], &cookie.to_be_bytes()].concat();
    assert_eq!(reading(CHUNKS).receive(&simple(2)), Err(ServerError::Cookie { cookie: 2 }));
    let found = ServerError::Magic { what: "a reply", found: 0x0909_0909 };
    assert_eq!(reading(CHUNKS).receive(&[9; 16]), Err(found));
    let mut client = reading(Wishes { structured: false, allocation: false });
    client.receive(&[simple(1), vec![7; 1024]].concat()).unwrap();
    assert_eq!(client.receive(&simple(1)), Err(ServerError::Cookie { cookie: 1 }), "it was answered before");
}

#[test]
fn a_simple_reply_to_a_read_is_found_where_chunks_were_agreed_upon() {
    let simple = [&[0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0][..], &1_u64.to_be_bytes(), &[7; 1024]].concat();
    let what = "is a simple one, to a read, although chunks were agreed upon";
    assert_eq!(reading(CHUNKS).receive(&simple), Err(ServerError::Reply { cookie: 1, what }));
}
