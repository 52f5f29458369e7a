//! For any bytes, split in any way: the same requests and the same replies, within the limits.

use proptest::collection::vec;
use proptest::prelude::*;
use stripewise_nbd::client::{Client, Wishes};
use stripewise_nbd::wire::*;
use stripewise_nbd::{Limits, Violation};

use crate::support::{Host, export};

/// The requests, the output and the violation of a connection that receives bytes in pieces of these lengths,
/// repeatedly.
fn made_of(bytes: &[u8], pieces: &[usize], send_bytes: usize) -> (Vec<String>, Vec<u8>, Option<Violation>) {
    let mut host = Host::new(export(), Limits { requests: 3, bytes: 0 });
    host.send_bytes = send_bytes;
    let mut ended = host.serve().err();
    let mut rest = bytes;
    for &piece in pieces.iter().cycle() {
        let has_space = host.connection.space().iter().any(|part| !part.is_empty());
        if rest.is_empty() || ended.is_some() || !has_space {
            break;
        }
        ended = host.receive(&mut rest, piece).err();
        host.send();
    }
    assert!(ended.is_some() || rest.is_empty() || host.connection.is_over(), "it stopped for no reason");
    (host.seen, host.output, ended)
}

/// An option or a request, mostly a valid one.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let option = (0..12_u32, vec(any::<u8>(), 0..40)).prop_map(|(option, data)| {
        let length = (data.len() as u32).to_be_bytes();
        [&OPTION_MAGIC.to_be_bytes()[..], &option.to_be_bytes(), &length, &data].concat()
    });
    let sectors = |range: std::ops::Range<u32>| range.prop_map(|sectors| sectors * 512);
    let request = (0..9_u16, 0..40_u16, any::<u64>(), sectors(0..140), sectors(0..36));
    let request = request.prop_map(|(command, flags, cookie, offset, bytes)| {
        let flags = if flags < 32 { 0 } else { 1 << (flags - 32) };
        let command = if command == 8 { 4711 } else { command };
        let header = RequestHeader { flags, command, cookie, offset: offset.into(), bytes };
        let payload = vec![cookie as u8; if command == CMD_WRITE { bytes as usize } else { 0 }];
        [&header.encode()[..], &payload].concat()
    });
    prop_oneof![1 => option, 8 => request, 1 => vec(any::<u8>(), 0..60)]
}

/// A client's handshake, or none.
fn beginning() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![1 => Just(Vec::new()), 1 => vec(any::<u8>(), 4), 8 => any::<(bool, bool)>().prop_map(handshake)]
}

/// All bytes that a client sends before its requests.
fn handshake((structured, allocation): (bool, bool)) -> Vec<u8> {
    let mut host = Host::new(export(), Limits::default());
    let mut client = Client::new("", Wishes { structured, allocation });
    let mut sent = Vec::new();
    host.serve().expect("nothing was sent");
    while client.export().is_none() {
        client.receive(&std::mem::take(&mut host.output)).expect("the server keeps to the protocol");
        let outgoing = client.take_outgoing();
        host.receive(&mut &outgoing[..], usize::MAX).expect("the client keeps to the protocol");
        sent.extend(outgoing);
    }
    sent
}

proptest! {
    #[test]
    fn any_cutting_of_any_bytes_means_the_same(
        beginning in beginning(),
        messages in vec(message(), 0..12),
        pieces in vec(1..9000_usize, 1..20),
        send_bytes in 1..3000_usize,
    ) {
        let bytes = [beginning, messages.concat()].concat();
        let whole = made_of(&bytes, &[usize::MAX], usize::MAX);
        prop_assert_eq!(&made_of(&bytes, &pieces, send_bytes), &whole);
        let first = &bytes[..bytes.len().min(2000)];
        prop_assert_eq!(made_of(first, &[1], 1), made_of(first, &[usize::MAX], usize::MAX));
    }

    /// A client with random requests gets exactly the bytes that it wrote, and an answer to each request, whatever the
    /// order of the host's answers and however low the limits.
    #[test]
    fn every_request_is_answered_and_reads_return_written_data(
        structured in any::<bool>(),
        requests in 1..6_u32,
        commands in vec((0..4_u8, 0..120_u64, 1..8_u32, any::<u8>()), 1..60),
        order in vec(any::<prop::sample::Index>(), 60),
    ) {
        let wishes = Wishes { structured, allocation: false };
        let limits = Limits { requests, bytes: 0 };
        let (mut host, mut client) = crate::support::connected_with(export(), wishes, limits);
        let mut disk = vec![0; crate::support::DISK_BYTES];
        for ((kind, sector, sectors, byte), order) in commands.iter().cycle().zip(&order) {
            let (offset, bytes) = (sector * 512, sectors * 512);
            let range = offset as usize..offset as usize + bytes as usize;
            match kind {
                0 => { client.read(offset, bytes); }
                1 => {
                    client.write(offset, &vec![*byte; bytes as usize], byte % 2 == 0);
                    disk[range].fill(*byte);
                }
                2 => { client.write_zeroes(offset, bytes, false); disk[range].fill(0); }
                _ => { client.flush(); }
            }
            // Two at once; only flushes and reads may be reordered.
            if matches!(kind, 0 | 3) {
                host.is_prompt = false;
                client.flush();
            }
            let mut answers = host.talk(&mut client);
            while !host.waiting.is_empty() {
                host.answer_waiting(order.index(host.waiting.len()));
                host.serve().expect("the client keeps to the protocol");
                answers.extend(host.talk(&mut client));
            }
            host.is_prompt = true;
            prop_assert!(answers.iter().all(|answer| answer.outcome.is_ok()), "{:?}", answers);
            prop_assert_eq!(client.in_flight(), 0);
            prop_assert!(host.connection.is_idle());
        }
        prop_assert_eq!(&host.disk, &disk);
    }
}
