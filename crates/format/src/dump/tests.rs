//! Dumps of an array that is built structure by structure.

use proptest::prelude::*;
use stripewise_core::geometry::Level;
use stripewise_core::media::{At, Found, Media};
use stripewise_core::operation::Outcome;

use super::super::superblock::tests::of_five;
use super::super::{RedoEntry, RedoKind, *};
use super::{Dump, DumpError, Finding};

const PAGE: usize = 512;

/// Members in memory.
#[derive(Clone, Debug)]
struct Members(Vec<Vec<u8>>);

impl Media for Members {
    fn count(&self) -> u16 {
        self.0.len() as u16
    }

    fn size(&self, member: u16) -> (u32, u32) {
        ((self.0[usize::from(member)].len() / PAGE) as u32, PAGE as u32)
    }

    /// Backward: no reader may rely on the order.
    fn read(&mut self, at: &[At], found: &mut Found<'_>) {
        for (nth, at) in at.iter().enumerate().rev() {
            found(nth, Ok(&self.0[usize::from(at.member)][at.page as usize * PAGE..][..PAGE]));
        }
    }

    fn write(&mut self, at: &[At], _: &[&[u8]]) -> Vec<Outcome> {
        panic!("a dump writes nothing, least of all at {at:?}")
    }

    fn flush(&mut self, _: &[u16]) -> Vec<Outcome> {
        panic!("a dump flushes nothing")
    }
}

impl Members {
    fn page(&mut self, member: u16, page: u32) -> &mut [u8] {
        &mut self.0[usize::from(member)][page as usize * PAGE..][..PAGE]
    }

    fn dump(&mut self, dump: Dump) -> Result<(String, u64), DumpError> {
        let mut text = String::new();
        let problems = dump.run(self, &mut |finding: &Finding<'_>| text += &finding.to_string())?;
        Ok((text, problems))
    }
}

/// RAID-5 over three members in segments of 4 rows.
fn block(number: u16) -> Superblock {
    let members = of_five().members[..3].to_vec();
    Superblock {
        uuid: members[usize::from(number)].uuid,
        number,
        features: Features::default(),
        page_bytes: PAGE as u32,
        pages: 60,
        level: Level::Raid5,
        code: Some(stripewise_code::Kind::Xor),
        members_of_group: 3,
        segment_rows: 4,
        capacity: 20,
        checkpoint: Area { first: 8, pages: 3 },
        commits: Area { first: 14, pages: 4 },
        data: Area { first: 20, pages: 14 },
        ended: vec![],
        epoch: 1,
        members,
        ..of_five()
    }
}

/// Puts the copies of a summary on the first two slots of a batch in `segment`, followed by a stripe of one chunk.
fn put_batch(members: &mut Members, segment: u32, generation: u32, first: u32, batch: u64) {
    let array = block(0).array;
    let end = first + 4;
    let header = SummaryHeader {
        array,
        epoch: 1,
        batch,
        segment,
        generation,
        first,
        end,
        members: 7,
        horizon: 0,
        stream: 0,
    };
    let entry =
        |role| Entry { role, is_first: role == EntryRole::Data, chunk: batch, write_seq: batch, checksum: 0 };
    let entries = [EntryRole::Copy, EntryRole::Copy, EntryRole::Data, EntryRole::P].map(entry);
    for slot in [first, first + 1] {
        let page = members.page((slot % 3) as u16, 20 + segment * 4 + slot / 3);
        summary::encode(&header, entries.into_iter(), &[], page);
    }
}

/// An array with a checkpoint, a commit record, two batches in segment 1 and one in segment 2.
fn array() -> Members {
    let mut members = Members(vec![vec![0; 60 * PAGE]; 3]);
    for number in 0..3 {
        let bytes = &mut members.0[usize::from(number)];
        block(number).encode(Copy::Front, &mut bytes[..SUPERBLOCK_BYTES]);
        block(number).encode(Copy::Back, &mut bytes[52 * PAGE..]);
    }
    let array = block(0).array;
    for member in 0..2 {
        let mut body = [0; PAGE];
        checkpoint::put_segment(&mut body, 1, SegmentEntry { generation: 2, used: 4, last_batch: 5 });
        checkpoint::put_written(&mut body, 3, 5, true);
        let body_bytes = checkpoint::body_bytes(3, 20);
        let body_checksum = crc32c(&body[..body_bytes as usize]);
        let header = CheckpointHeader {
            array,
            epoch: 1,
            number: 3,
            horizon: 5,
            write_seq: 5,
            body_bytes,
            body_checksum,
            segments: 3,
            chunks: 20,
        };
        header.encode(members.page(member, 11));
        members.page(member, 12).copy_from_slice(&body);
        Commit { array, epoch: 1, number: 6, horizon: 7, checkpoint: 3 }.encode(members.page(member, 16));
    }
    put_batch(&mut members, 1, 2, 0, 5);
    put_batch(&mut members, 1, 2, 4, 6);
    put_batch(&mut members, 2, 1, 0, 7);
    members
}

#[test]
fn all_that_is_on_the_members_is_printed() {
    let (text, problems) = array().dump(Dump::default()).expect("it is an array");
    let expected = "\
#0: front superblock: member 0 of array aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa, update 7, epoch 1
#0: back superblock: member 0 of array aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa, update 7, epoch 1
#1: front superblock: member 1 of array aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa, update 7, epoch 1
#1: back superblock: member 1 of array aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa, update 7, epoch 1
#2: front superblock: member 2 of array aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa, update 7, epoch 1
#2: back superblock: member 2 of array aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa, update 7, epoch 1
";
    let lines = text.strip_prefix(expected).expect(&text);
    let layout = block(0)
        .to_string()
        .replace("this member is 0 of", "this member is 2 of")
        .replace(&format!("to 2: {}", block(0).uuid), &format!("to 2: {}", block(2).uuid));
    let rest = lines.strip_prefix(&layout).expect(lines);
    let expected = "\
member 0: 1 commit record; the newest is commit 6 of epoch 1: durable up to batch 7, behind checkpoint 3
member 1: 1 commit record; the newest is commit 6 of epoch 1: durable up to batch 7, behind checkpoint 3
member 2: 0 commit records
member 0: slot 1: checkpoint 3 of epoch 1: covers batches up to 5 and write sequence numbers up to 5 of epoch 0; \
3 segments and 20 chunks in 51 bytes: 1 segment in use, 1 chunk written
member 1: slot 1: checkpoint 3 of epoch 1: covers batches up to 5 and write sequence numbers up to 5 of epoch 0; \
3 segments and 20 chunks in 51 bytes: 1 segment in use, 1 chunk written
segment 1, generation 2: 2 batches, from 5 to 6, in 8 of 12 slots: 2 chunks in 2 stripes
segment 2, generation 1: 1 batch, from 7 to 7, in 4 of 12 slots: 1 chunk in 1 stripe
1 segment without a batch
";
    assert_eq!(rest, expected);
    assert_eq!(problems, 0);
}

#[test]
fn one_segment_is_reported_batch_by_batch() {
    let (text, _) = array().dump(Dump { segment: Some(1) }).expect("it is an array");
    let tail = text.split_once("slot 1: segment").expect(&text).1;
    let expected = "\
 1 has generation 2, 4 slots in use, batch 5 last
batch 5 of epoch 1: segment 1, generation 2, slots 0 to 3, stream 0, on members 0, 1, 2, durable up to batch 0
  copies of the summary: slots 0, 1
  slot 2: stripe of 1 data and P: chunks 5
  2 copies of the summary found
batch 6 of epoch 1: segment 1, generation 2, slots 4 to 7, stream 0, on members 0, 1, 2, durable up to batch 0
  copies of the summary: slots 4, 5
  slot 6: stripe of 1 data and P: chunks 6
  2 copies of the summary found
segment 1, generation 2: 2 batches, from 5 to 6, in 8 of 12 slots: 2 chunks in 2 stripes
";
    assert!(tail.ends_with(expected), "{tail}");
    assert_eq!(
        array().dump(Dump { segment: Some(3) }),
        Err(DumpError::NoSegment { requested: 3, segments: 3 })
    );
}

#[test]
fn a_damaged_copy_is_reported_and_the_other_one_taken() {
    let mut members = array();
    members.page(1, 3)[17] ^= 4;
    let (text, problems) = members.dump(Dump::default()).expect("it is an array");
    assert!(
        text.contains("#1: DAMAGED: superblock on page 0: superblock: it says that its checksum is "),
        "{text}"
    );
    assert!(text.contains("segment 1, generation 2: 2 batches, from 5 to 6, in 8 of 12 slots"), "{text}");
    assert_eq!(problems, 1);
}

#[test]
fn without_a_superblock_there_is_no_array() {
    let mut members = array();
    for member in 0..3 {
        members.page(member, 0).fill(0);
        members.page(member, 59).fill(1);
    }
    assert_eq!(members.dump(Dump::default()), Err(DumpError::NoArray));
}

#[test]
fn members_of_others_older_ones_and_copies_are_named() {
    let mut members = array();
    let mut older = block(0);
    older.update = 6;
    older.encode(Copy::Back, &mut members.0[0][52 * PAGE..]);
    let mut other = block(1);
    other.array = Uuid([9; 16]);
    other.update = 3;
    other.encode(Copy::Front, &mut members.0[1][..SUPERBLOCK_BYTES]);
    other.encode(Copy::Back, &mut members.0[1][52 * PAGE..]);
    members.0.push(members.0[2].clone());
    let (text, problems) = members.dump(Dump::default()).expect("it is an array");
    for said in [
        "#0: its copies differ: front has update 7, back 6\n",
        "#1: is of another array, 09090909-0909-0909-0909-090909090909, and left out\n",
        "#3: is member 2 as #2 is: a copy of it? left out\n",
        "ABSENT: member 1 (01010101-0101-0101-0101-010101010101) was not offered\n",
    ] {
        assert!(text.contains(said), "{said}{text}");
    }
    assert!(problems >= 4);
}

/// First one copy of the first batch's summary is missing, then both: the chain ends at a batch without a copy.
#[test]
fn a_chain_of_batches_tolerates_the_loss_of_a_copy_and_ends_without_any() {
    let mut members = array();
    members.page(0, 24).fill(0);
    let (text, _) = members.dump(Dump::default()).expect("it is an array");
    assert!(
        text.contains("2 batches, from 5 to 6, in 8 of 12 slots: 2 chunks in 2 stripes; MISSING: 1 copy"),
        "{text}"
    );
    members.page(1, 24).fill(0);
    let (text, _) = members.dump(Dump::default()).expect("it is an array");
    assert!(!text.contains("segment 1, generation"), "{text}");
    assert!(text.contains("2 segments without a batch"), "{text}");
}

/// A segment in a later generation; a batch of the previous generation is left after the new end.
#[test]
fn batches_of_an_older_generation_are_not_reported() {
    let mut members = array();
    put_batch(&mut members, 1, 3, 0, 9);
    let (text, _) = members.dump(Dump::default()).expect("it is an array");
    assert!(text.contains("segment 1, generation 3: 1 batch, from 9 to 9, in 4 of 12 slots"), "{text}");
}

#[test]
fn what_a_superblock_says_of_a_shorter_member_is_not_trusted() {
    let mut members = array();
    for member in &mut members.0 {
        member.truncate(30 * PAGE);
    }
    let (text, _) = members.dump(Dump::default()).expect("it has superblocks");
    assert!(text.contains("#0: has fewer pages than the 60 that the array uses; left out"), "{text}");
}

/// Journal, table and bitmap of an array in place.
#[test]
fn what_an_array_in_place_has_beside_its_data_is_reported() {
    let mut members = Members(vec![vec![0; 60 * PAGE]; 3]);
    let array = block(0).array;
    for number in 0..3u16 {
        let block = Superblock {
            placement: Placement::InPlace,
            checkpoint: Area::default(),
            commits: Area::default(),
            journal: Area { first: 8, pages: 6 },
            table: Area { first: 14, pages: 2 },
            bitmap: Area { first: 16, pages: 2 },
            bitmap_pages: 8,
            ..block(number)
        };
        block.encode(Copy::Front, &mut members.0[usize::from(number)][..SUPERBLOCK_BYTES]);
        block.encode(Copy::Back, &mut members.0[usize::from(number)][52 * PAGE..]);
    }
    let entries = vec![
        RedoEntry { page: 3, ..RedoEntry::default() },
        RedoEntry { page: 3, kind: RedoKind::Before, ..RedoEntry::default() },
    ];
    let record = RedoRecord { array, epoch: 2, number: 8, tail: 7, missing: 4, first: 2, entries };
    record.encode(&mut members.0[1][10 * PAGE..11 * PAGE]);
    ChecksumPage { array, epoch: 2, version: 6, group: 0, number: 0 }.encode(&[1, 2], members.page(1, 14));
    members.page(1, 15).fill(3);
    IntentPage { array, epoch: 2, version: 5, group: 0, bits: 2, missing: 0 }
        .encode(&[2], members.page(1, 16));
    let (text, problems) = members.dump(Dump::default()).expect("it is an array");
    let expected = "\
member 1: redo journal: 1 record; the newest is 8 of epoch 2, done again from 7 on, without members 2, with the chunks that \
deferred parity covers of 1 page
member 1: table of checksums: 1 page, of versions up to 6; DAMAGED or of others: 1 page
member 1: intent bitmap of group 0, version 5: 1 of 2 bits set
";
    assert!(text.contains(expected), "{text}");
    assert_eq!(problems, 1);
}

proptest! {
    /// Whatever happens to the bytes, the dump reports the rest of the array.
    #[test]
    fn damage_anywhere_is_no_panic(places in prop::collection::vec((0usize..3, 0usize..60 * PAGE, any::<u8>()), 0..60)) {
        let mut members = array();
        for (member, at, byte) in places {
            members.0[member][at] = byte;
        }
        for segment in [None, Some(1)] {
            let result = members.dump(Dump { segment });
            prop_assert!(result.is_ok() || result == Err(DumpError::NoArray));
        }
    }
}
