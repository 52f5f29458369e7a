//! A log with metadata: what a flush covered is there when the array is opened again.

mod disk;

use disk::{Disk, Host};
use stripewise_array::Outcome;

const WAS: &str = "name = \"kept\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\nbuffer_persistence = \"volatile\"\n\
    [elastic]\nsegment_rows = 8\nacknowledge = \"buffered\"\n[hotness]\npolicy = \"glru\"\ntiers = 2\n";

fn host(pages: u32) -> Host {
    Host::create(WAS, Disk::new(4, pages, 1024))
}

#[test]
fn what_a_flush_covered_is_there_after_a_loss_of_power() {
    let mut host = host(400);
    for chunk in 0..40 {
        host.write(chunk, chunk as u8 + 1);
    }
    host.flush();
    let mut host = host.lose_power();
    for chunk in 0..40 {
        assert_eq!(host.read(chunk), Some(chunk as u8 + 1), "chunk {chunk}");
    }
    assert_eq!(host.read(40), Some(0));
}

#[test]
fn what_was_written_over_and_over_is_collected_and_there() {
    let mut host = host(400);
    let chunks = host.capacity();
    let mut expected = vec![0; chunks as usize];
    for round in 0..2000u64 {
        let chunk = round * 7919 % chunks;
        let value = (round % 250 + 1) as u8;
        host.write(chunk, value);
        expected[chunk as usize] = value;
        if round % 97 == 0 {
            host.flush();
        }
    }
    host.flush();
    assert!(host.array.elastic_counts().collected > 0);
    let mut host = host.lose_power();
    for chunk in 0..chunks {
        assert_eq!(host.read(chunk), Some(expected[chunk as usize]), "chunk {chunk}");
    }
}

#[test]
fn any_element_may_be_gone_when_the_array_is_opened() {
    for gone in 0..4 {
        let mut host = host(400);
        (0..60).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
        host.flush();
        host.disk().elements[gone].is_gone = true;
        let mut host = host.lose_power();
        for chunk in 0..60 {
            assert_eq!(host.read(chunk), Some(chunk as u8 + 1), "chunk {chunk} without element {gone}");
        }
        (0..60).for_each(|chunk| host.write(chunk, 200));
        host.flush();
        host.disk().elements[gone].is_gone = false;
        let mut host = host.lose_power();
        assert!(host.opened.positions[gone].is_none(), "it is stale");
        (0..60).for_each(|chunk| assert_eq!(host.read(chunk), Some(200)));
    }
}

#[test]
fn a_trim_that_a_flush_covered_stays_a_trim() {
    let mut host = host(400);
    (0..30).for_each(|chunk| host.write(chunk, 9));
    host.flush();
    host.trim(3, 10);
    host.flush();
    let mut host = host.lose_power();
    for chunk in 0..30 {
        let expected = if (3..13).contains(&chunk) { 0 } else { 9 };
        assert_eq!(host.read(chunk), Some(expected), "chunk {chunk}");
    }
}

#[test]
fn a_rotten_page_is_decoded_and_its_chunk_written_anew() {
    let mut host = host(400);
    (0..30).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    let (element, page) = host.array.chunk_in_log(11).unwrap_or_default();
    host.disk().elements[element as usize].pages[page as usize][5] ^= 1;
    assert_eq!(host.read(11), Some(12));
    host.flush();
    assert_ne!(host.array.chunk_in_log(11), Some((element, page)));
}

#[test]
fn a_stripe_that_an_element_cannot_write_goes_elsewhere() {
    let mut host = host(400);
    host.disk().elements[1].next_write = Some(Outcome::MediumError);
    (0..60).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    assert!((0..4).all(|element| !host.array.is_failed(element)));
    let mut host = host.lose_power();
    (0..60).for_each(|chunk| assert_eq!(host.read(chunk), Some(chunk as u8 + 1)));
}

#[test]
fn an_array_that_is_full_says_so_and_goes_on_when_something_was_trimmed() {
    let mut host = host(300);
    let chunks = host.capacity();
    for round in 0..3 {
        (0..chunks).for_each(|chunk| host.write(chunk, round + 1));
    }
    host.flush();
    let mut host = host.lose_power();
    (0..chunks).for_each(|chunk| assert_eq!(host.read(chunk), Some(3), "chunk {chunk}"));
    (0..chunks).for_each(|chunk| host.write(chunk, 7));
    host.flush();
}
