//! Arrays of the first version of the format, which every later version opens. The fixtures are never made anew: what a program
//! wrote then is what people have.

#![allow(dead_code, reason = "each test uses what it needs of the disk")]

mod disk;

use disk::{Disk, Host};

const LOG: &str = "name = \"fixture\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
    buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 4\nbuffer = \"stripe\"\nacknowledge = \"buffered\"\n";

/// The elements that a fixture describes: a line for each page that is not zeros, with its element, its number and its bytes.
fn elements(text: &str) -> Disk {
    let mut disk = Disk::new(3, 192, 512);
    for line in text.lines() {
        let mut words = line.split(' ');
        let mut number = || words.next().and_then(|word| word.parse::<usize>().ok()).expect("a number");
        let (element, page) = (number(), number());
        let bytes = words.next().unwrap_or_default().as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).expect("two digits");
        let content: Vec<u8> = bytes.map(byte).collect();
        disk.elements[element].pages[page].copy_from_slice(&content);
    }
    disk
}

/// What hosts wrote to the fixture before its power was lost: 40 chunks, of which ten were written anew, and five trimmed.
fn expected(chunk: u64) -> u8 {
    match chunk {
        10..20 => 100 + chunk as u8,
        30..35 | 40.. => 0,
        _ => chunk as u8 + 1,
    }
}

#[test]
fn invariant_m_a_log_of_the_first_version_is_opened_and_has_what_was_written() {
    let mut host = Host::open_as(LOG, elements(include_str!("fixtures/format-1-log.txt")));
    assert_eq!(host.opened.epoch, 3);
    (0..50).for_each(|chunk| assert_eq!(host.read(chunk), Some(expected(chunk)), "chunk {chunk}"));
    host.write(45, 9);
    host.flush();
    let mut host = host.lose_power();
    assert_eq!((host.read(45), host.read(12)), (Some(9), Some(112)));
}

/// How the fixture was made. Run by hand when the format gets another version, for that one's fixture.
#[test]
#[ignore = "makes a fixture: set FIXTURE to where it goes"]
fn make_a_fixture() {
    let Ok(path) = std::env::var("FIXTURE") else { return };
    let mut host = Host::create(LOG, Disk::new(3, 192, 512));
    (0..40).for_each(|chunk| host.write(chunk, chunk as u8 + 1));
    host.flush();
    let mut host = host.lose_power();
    (10..20).for_each(|chunk| host.write(chunk, 100 + chunk as u8));
    host.trim(30, 5);
    host.flush();
    // No flush covers this: it may be dropped, and is.
    host.write(1, 2);
    let mut text = String::new();
    for (number, element) in host.disk().elements.iter().enumerate() {
        for (page, content) in
            element.pages.iter().enumerate().filter(|(_, page)| page.iter().any(|&b| b != 0))
        {
            let bytes: String = content.iter().map(|byte| format!("{byte:02x}")).collect();
            text.push_str(&format!("{number} {page} {bytes}\n"));
        }
    }
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{error}"));
}
