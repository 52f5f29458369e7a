//! RAID-6 over files: bytes where Linux md places them, arrays that are assembled without two of their files, and the
//! loss of one member too many.

use rustix::io::Errno;
use stripewise_array::MemberNo;
use stripewise_array::Scheme;
use stripewise_array::geometry::Rotation;
use stripewise_base::prng::Prng;
use stripewise_engine::{Backend, Engine, EngineError, Failed, FileError, FileTrouble};

use crate::support::faulty::Faults;
use crate::support::media::Media;
use crate::support::{options, read, scheme};

const PAGE: usize = 4096;
/// Two pages.
const CHUNK: usize = 2 * PAGE;
const DISKS: usize = 5;
/// One rotation of the parity and one more stripe.
const STRIPES: usize = DISKS + 1;
const ROTATIONS: [Rotation; 5] = [
    Rotation::LeftSymmetric,
    Rotation::LeftAsymmetric,
    Rotation::RightSymmetric,
    Rotation::RightAsymmetric,
    Rotation::None,
];
const UPDATES: [&str; 3] = ["baseline", "always-rmw", "always-rcw"];

fn raid6(rotation: Rotation, update: &str) -> Scheme {
    let mut scheme = scheme(&format!(
        "name = \"{update}\"\n[geometry]\nlevel = \"raid6\"\nchunk = \"8KiB\"\n[update]\npolicy = \"{update}\""
    ));
    scheme.geometry.rotation = rotation;
    scheme
}

fn media() -> Media {
    Media::new(DISKS as u32, (STRIPES * CHUNK / PAGE) as u32, PAGE as u32)
}

/// Disks of a stripe: of P, of Q, and of each data chunk in the order of the array's addresses.
struct Stripe {
    p: usize,
    q: usize,
    data: Vec<usize>,
}

/// Where Linux md places a stripe of RAID-6: `raid5_compute_sector` of drivers/md/raid5.c, Linux 6.1.
fn of_md(rotation: Rotation, stripe: usize) -> Stripe {
    let n = DISKS;
    let p = match rotation {
        Rotation::LeftSymmetric | Rotation::LeftAsymmetric => n - 1 - stripe % n,
        Rotation::RightSymmetric | Rotation::RightAsymmetric => stripe % n,
        Rotation::None => n - 2,
    };
    let q = (p + 1) % n;
    let disk = |nth: usize| match rotation {
        Rotation::LeftSymmetric | Rotation::RightSymmetric => (p + 2 + nth) % n,
        Rotation::LeftAsymmetric | Rotation::RightAsymmetric if p == n - 1 => nth + 1,
        Rotation::LeftAsymmetric | Rotation::RightAsymmetric if nth >= p => nth + 2,
        _ => nth,
    };
    Stripe { p, q, data: (0..n - 2).map(disk).collect() }
}

/// Twice a number of GF(2^8) by the polynomial 0x11D.
fn twice(byte: u8) -> u8 {
    (byte << 1) ^ if byte & 0x80 != 0 { 0x1D } else { 0 }
}

/// The disks of an array with the content `bytes`, by the formulas of Linux md alone: P is the sum of all data, Q the
/// sum of `2^i` times the `i`-th data disk behind Q (`set_syndrome_sources` and lib/raid6).
fn disks_of(rotation: Rotation, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut disks = vec![vec![0; STRIPES * CHUNK]; DISKS];
    for (stripe, chunks) in bytes.chunks((DISKS - 2) * CHUNK).enumerate() {
        let Stripe { p, q, data } = of_md(rotation, stripe);
        let at = stripe * CHUNK;
        for (chunk, &disk) in chunks.chunks(CHUNK).zip(&data) {
            disks[disk][at..at + CHUNK].copy_from_slice(chunk);
        }
        // By Horner's rule, from the highest power to the lowest.
        let behind_q = (1..DISKS).map(|step| (q + step) % DISKS).filter(|&disk| disk != p);
        let (mut sum, mut weighted) = (vec![0; CHUNK], vec![0; CHUNK]);
        for disk in behind_q.rev() {
            for ((sum, weighted), &byte) in
                sum.iter_mut().zip(&mut weighted).zip(&disks[disk][at..at + CHUNK])
            {
                *sum ^= byte;
                *weighted = twice(*weighted) ^ byte;
            }
        }
        disks[p][at..at + CHUNK].copy_from_slice(&sum);
        disks[q][at..at + CHUNK].copy_from_slice(&weighted);
    }
    disks
}

/// Writes of random length at random places over `expected`: sectors, pages and whole stripes.
fn scribble<B: Backend>(engine: &mut Engine<B>, prng: &mut Prng, expected: &mut [u8], writes: u32) {
    let sectors = expected.len() as u64 / 512;
    for _ in 0..writes {
        let most = [8, 20, 200][prng.below(3) as usize];
        let first = prng.below(sectors);
        let count = (1 + prng.below(most)).min(sectors - first);
        let range = first as usize * 512..(first + count) as usize * 512;
        expected[range.clone()].iter_mut().for_each(|byte| *byte = prng.next_u64() as u8);
        engine.write(first * 512, &expected[range]).unwrap();
    }
}

fn random(prng: &mut Prng) -> Vec<u8> {
    (0..STRIPES * (DISKS - 2) * CHUNK).map(|_| prng.next_u64() as u8).collect()
}

fn pairs() -> impl Iterator<Item = [u16; 2]> {
    let all = 0..DISKS as u16;
    all.clone().flat_map(move |first| all.clone().skip(first as usize + 1).map(move |second| [first, second]))
}

#[test]
fn the_first_stripes_of_four_disks_written_out() {
    // Left-symmetric, as mdadm makes arrays: P on the last disk, Q behind it, data behind Q; then one disk down.
    let scheme = scheme("name = \"four\"\n[geometry]\nlevel = \"raid6\"");
    let media = Media::new(4, 2, 512);
    let options = stripewise_engine::Options { page_bytes: 512, ..options() };
    let mut engine = Engine::new(&scheme, media.open(), options).unwrap();
    for (sector, byte) in [0x01, 0x80, 0xA5, 0x3C].into_iter().enumerate() {
        engine.write(sector as u64 * 512, &[byte; 512]).unwrap();
    }
    drop(engine.close().unwrap());
    let bytes = media.contents().iter().map(|disk| [disk[0], disk[512]]).collect::<Vec<_>>();
    // Q of 01 and 80 is 01 + 1D, of A5 and 3C it is A5 + 78.
    assert_eq!(bytes, [[0x1C, 0xA5], [0x01, 0x3C], [0x80, 0x99], [0x81, 0xDD]]);
}

#[test]
fn written_data_lies_where_linux_md_puts_it_byte_for_byte() {
    for rotation in ROTATIONS {
        for (seed, update) in UPDATES.into_iter().enumerate() {
            let media = media();
            let mut engine = Engine::new(&raid6(rotation, update), media.open(), options()).unwrap();
            let mut expected = vec![0; engine.capacity() as usize];
            scribble(&mut engine, &mut Prng::new(seed as u64), &mut expected, 150);
            drop(engine.close().unwrap());
            for (disk, (found, expected)) in
                media.contents().iter().zip(disks_of(rotation, &expected)).enumerate()
            {
                let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
                assert_eq!(differs, None, "{rotation:?}, {update}: first byte of disk {disk} that differs");
            }
        }
    }
}

#[test]
fn disks_that_linux_md_could_have_written_are_read_without_any_two_of_them() {
    for rotation in ROTATIONS {
        let bytes = random(&mut Prng::new(7));
        let media = media();
        for (path, disk) in media.paths().iter().zip(disks_of(rotation, &bytes)) {
            std::fs::write(path, disk).unwrap();
        }
        for lost in pairs() {
            let mut engine = Engine::new(&raid6(rotation, "baseline"), media.open(), options()).unwrap();
            lost.iter().for_each(|&member| engine.fail(MemberNo::new(member)).unwrap());
            assert!(read(&mut engine, 0, bytes.len()).unwrap() == bytes, "{rotation:?} without {lost:?}");
        }
    }
}

#[test]
fn an_array_is_opened_without_one_and_two_of_its_files_and_written_on() {
    let mut prng = Prng::new(3);
    for lost in pairs() {
        let media = media();
        let paths = media.paths();
        let scheme = raid6(Rotation::LeftSymmetric, "baseline");
        let mut engine = Engine::new(&scheme, media.open(), options()).unwrap();
        let mut expected = vec![0; engine.capacity() as usize];
        scribble(&mut engine, &mut prng, &mut expected, 100);
        drop(engine.close().unwrap());
        for gone in 1..=2 {
            let path = &paths[lost[gone - 1] as usize];
            std::fs::remove_file(path).unwrap();
            match Engine::open(&scheme, &paths, options()) {
                Err(EngineError::File(FileError { path: named, trouble: FileTrouble::Missing })) => {
                    assert_eq!(&named, path);
                }
                other => panic!("{other:?}"),
            }
            // An empty file, out of service, replaces the missing one.
            std::fs::File::create(path).unwrap().set_len((STRIPES * CHUNK) as u64).unwrap();
            let mut engine = Engine::open(&scheme, &paths, options()).unwrap();
            lost[..gone].iter().for_each(|&member| engine.fail(MemberNo::new(member)).unwrap());
            assert!(read(&mut engine, 0, expected.len()).unwrap() == expected, "without {:?}", &lost[..gone]);
            scribble(&mut engine, &mut prng, &mut expected, 50);
            assert!(read(&mut engine, 0, expected.len()).unwrap() == expected, "written {:?}", &lost[..gone]);
            drop(engine.close().unwrap());
            assert!(std::fs::read(path).unwrap().iter().all(|&byte| byte == 0), "nothing was written to it");
        }
        // The other disks have the content that md would have there.
        let disks = disks_of(Rotation::LeftSymmetric, &expected);
        for (disk, found) in media.contents().iter().enumerate() {
            assert!(lost.contains(&(disk as u16)) || *found == disks[disk], "disk {disk} without {lost:?}");
        }
    }
}

#[test]
fn the_third_loss_is_an_error_and_not_a_lie() {
    let scheme = raid6(Rotation::LeftSymmetric, "baseline");
    let mut prng = Prng::new(11);
    for lost in pairs() {
        let media = media();
        let mut engine = Engine::new(&scheme, media.open(), options()).unwrap();
        let mut expected = vec![0; engine.capacity() as usize];
        scribble(&mut engine, &mut prng, &mut expected, 100);
        let third = (0..DISKS as u16).find(|member| !lost.contains(member)).unwrap();
        for &member in &[lost[0], lost[1], third] {
            engine.flush().unwrap();
            engine.fail(MemberNo::new(member)).unwrap();
        }
        let gone = [lost[0], lost[1], third].map(usize::from);
        for (chunk, expected) in expected.chunks(CHUNK).enumerate() {
            let Stripe { data, .. } = of_md(Rotation::LeftSymmetric, chunk / (DISKS - 2));
            let is_lost = gone.contains(&data[chunk % (DISKS - 2)]);
            let at = (chunk * CHUNK) as u64;
            match read(&mut engine, at, CHUNK) {
                Ok(found) => assert!(!is_lost && found == expected, "chunk {chunk} without {gone:?}"),
                Err(EngineError::Failed(Failed::Lost)) => assert!(is_lost, "chunk {chunk} without {gone:?}"),
                Err(other) => panic!("{other}"),
            }
            // The loss of three of five members exceeds what any stripe tolerates, whatever the chunk.
            assert!(
                matches!(engine.write(at, &[1; 512]), Err(EngineError::Failed(Failed::Lost))),
                "chunk {chunk}"
            );
        }
        assert!(matches!(engine.flush(), Err(EngineError::Failed(Failed::Lost))));
    }
}

#[test]
fn any_two_pages_of_a_row_may_be_bad_when_it_is_updated() {
    for update in UPDATES {
        for bad in pairs() {
            for bytes in [512, PAGE] {
                let media = media();
                let faults = Faults::default();
                let scheme = raid6(Rotation::LeftAsymmetric, update);
                let mut expected = random(&mut Prng::new(5));
                for (path, disk) in media.paths().iter().zip(disks_of(Rotation::LeftAsymmetric, &expected)) {
                    std::fs::write(path, disk).unwrap();
                }
                let mut engine = Engine::new(&scheme, faults.around(media.open()), options()).unwrap();
                // The third stripe: P and Q in the middle, so that the code's first data member is not the array's.
                let (page, at) = (2 * CHUNK / PAGE, 2 * (DISKS - 2) * CHUNK);
                bad.iter().for_each(|&member| faults.rot(member, page as u32, Errno::IO));
                let new = vec![0x5A; bytes];
                engine.write(at as u64, &new).unwrap_or_else(|error| panic!("{update}, {bad:?}: {error}"));
                expected[at..at + bytes].copy_from_slice(&new);
                assert!(read(&mut engine, 0, expected.len()).unwrap() == expected, "{update}, {bad:?}");
                drop(engine.close().unwrap());
                let disks = disks_of(Rotation::LeftAsymmetric, &expected);
                // Pages that were not read stay bad; all else is as if there had been no error.
                for (disk, found) in media.contents().iter().enumerate() {
                    assert!(*found == disks[disk], "disk {disk} after {update} with {bad:?} bad");
                }
            }
        }
    }
}
