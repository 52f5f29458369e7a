//! Devices for virtual machines, seen from a guest with queues that are driven by hand.

mod linux;
mod machine;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stripewise_array::format::Uuid;
use stripewise_array::{AssemblyOptions, Identity, Scheme, create};
use stripewise_base::prng::Prng;
use stripewise_engine::{Engine, FileMedia, MemberFile, Options};
use stripewise_serve::{Client, Command, ServeError, Server, Settings, Status};
use vhost::VhostBackend;
use virtio_bindings::virtio_blk::*;
use virtio_bindings::virtio_ring::{VRING_DESC_F_INDIRECT, VRING_DESC_F_NEXT, VRING_DESC_F_WRITE};
use vm_memory::{Bytes, GuestAddress};

use machine::{Answer, Machine, SIZE, SLOTS, Wish};

const LOG: &str = "name = \"log\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n[placement]\npolicy = \"elastic\"\n\
     buffer_persistence = \"volatile\"\n[elastic]\nsegment_rows = 16\nacknowledge = \"buffered\"\nwait = \"1ms\"\n\
     [hotness]\npolicy = \"glru\"\ntiers = 2\n";
const IN_PLACE: &str = "name = \"in place\"\nmetadata = \"on\"\n[geometry]\nlevel = \"raid5\"\n";

const OK: u8 = VIRTIO_BLK_S_OK as u8;
const FAILED: u8 = VIRTIO_BLK_S_IOERR as u8;
const UNKNOWN: u8 = VIRTIO_BLK_S_UNSUPP as u8;

/// A served array.
struct Served {
    folder: tempfile::TempDir,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Served {
    fn new(scheme: &str) -> Self {
        Self::opened(scheme, AssemblyOptions::default())
    }

    fn opened(scheme: &str, opening: AssemblyOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scheme = Scheme::from_toml("test", scheme).unwrap();
        let paths: Vec<PathBuf> = (0..4).map(|nth| folder.path().join(format!("member-{nth}"))).collect();
        let files = MemberFile::create_all(&paths, 16 << 20, 4096).unwrap();
        let mut media = FileMedia::new(files, 4096);
        let members = media.members();
        let identity = Identity {
            array: Uuid([7; 16]),
            members: (1..=4).map(|nth| Uuid([nth; 16])).collect(),
            name: "test".into(),
        };
        create(&scheme, members, &identity, &mut media).unwrap();
        drop(media);
        let media = FileMedia::open(&paths, 4096).unwrap();
        let (engine, _) = Engine::resume(&scheme, media, Options::default(), opening).unwrap();
        let settings = Settings {
            name: "pool".into(),
            vhost_user: vec![folder.path().join("one"), folder.path().join("two")],
            control: folder.path().join("control"),
            ..Settings::default()
        };
        let server = Server::start(engine, &settings).unwrap();
        Self { thread: Some(std::thread::spawn(move || server.run())), folder }
    }

    fn device(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn status(&self) -> Status {
        let mut client = Client::connect(&self.folder.path().join("control")).unwrap();
        serde_json::from_value(client.ask(&Command::Status).unwrap()).unwrap()
    }

    /// Waits until this many guests or queues were dropped.
    #[track_caller]
    fn drops(&self, count: u64) {
        let until = Instant::now() + Duration::from_secs(20);
        while self.status().dropped_connections != count {
            assert!(Instant::now() < until, "{} were dropped", self.status().dropped_connections);
        }
    }

    fn stop(mut self) {
        let mut client = Client::connect(&self.folder.path().join("control")).unwrap();
        client.ask(&Command::Stop).unwrap();
        self.thread.take().unwrap().join().unwrap().unwrap();
        assert!(!self.device("one").exists(), "the socket is removed");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            if let Ok(mut client) = Client::connect(&self.folder.path().join("control")) {
                let _ = client.ask(&Command::Stop);
            }
            let _ = thread.join();
        }
    }
}

fn read(sector: u64, bytes: usize) -> Wish {
    Wish { kind: VIRTIO_BLK_T_IN, sector, room: bytes, ..Wish::default() }
}

fn write(sector: u64, out: Vec<u8>) -> Wish {
    Wish { kind: VIRTIO_BLK_T_OUT, sector, out, room: 0 }
}

fn flush() -> Wish {
    Wish { kind: VIRTIO_BLK_T_FLUSH, ..Wish::default() }
}

/// A discard or write-zeroes request, with its range behind the header.
fn range(kind: u32, sector: u64, sectors: u32, flags: u32) -> Wish {
    let out = [&sector.to_le_bytes()[..], &sectors.to_le_bytes(), &flags.to_le_bytes()].concat();
    Wish { kind, sector: 0, out, room: 0 }
}

fn noise(bytes: usize, chance: &mut Prng) -> Vec<u8> {
    (0..bytes.div_ceil(8)).flat_map(|_| chance.next_u64().to_le_bytes()).take(bytes).collect()
}

/// The expected content of the array. Requests in flight at the same time touch different parts of it, one a slot.
fn stress(scheme: &str, seed: u64, discards: bool) {
    const QUEUES: usize = 3;
    const PART: usize = 1 << 20;
    let served = Served::new(scheme);
    let mut machine = Machine::boot(&served.device("one"), QUEUES);
    let mut chance = Prng::new(seed);
    let mut model = vec![0; QUEUES * usize::from(SLOTS) * PART];
    let mut under_way: Vec<[Option<(Wish, usize)>; SLOTS as usize]> =
        (0..QUEUES).map(|_| Default::default()).collect();
    for step in 0..1200 {
        let queue = chance.below(QUEUES as u64) as usize;
        let waits = under_way[queue].iter().any(Option::is_some);
        let free = (0..SLOTS).find(|&slot| under_way[queue][usize::from(slot)].is_none());
        let Some(slot) = free.filter(|_| !waits || chance.chance(2, 3)) else {
            let answer = machine.answer(queue);
            let (wish, at) = under_way[queue][usize::from(answer.slot)].take().expect("it was asked");
            check(&answer, &wish, &model[at..], &format!("seed {seed}, step {step}"));
            continue;
        };
        let part = (queue * usize::from(SLOTS) + usize::from(slot)) * PART;
        let at = part + chance.below(1024) as usize * 512;
        let bytes = 512 * (1 + chance.below(128) as usize);
        let sector = at as u64 / 512;
        let wish = match chance.below(8) {
            0..=2 => {
                let data = noise(bytes, &mut chance);
                model[at..at + bytes].copy_from_slice(&data);
                write(sector, data)
            }
            3..=5 => read(sector, bytes),
            6 if discards && chance.chance(1, 2) => {
                // Trimmed pages read as zeros in a log; edges keep their content.
                let (at, bytes) = (at / 4096 * 4096, bytes.next_multiple_of(4096));
                model[at..at + bytes].fill(0);
                range(VIRTIO_BLK_T_DISCARD, at as u64 / 512, (bytes / 512) as u32, 0)
            }
            6 => {
                model[at..at + bytes].fill(0);
                range(VIRTIO_BLK_T_WRITE_ZEROES, sector, (bytes / 512) as u32, chance.below(2) as u32)
            }
            _ => flush(),
        };
        machine.ask(queue, slot, &wish, &mut chance);
        under_way[queue][usize::from(slot)] = Some((wish, at));
    }
    for (queue, slots) in under_way.iter_mut().enumerate() {
        for _ in 0..slots.iter().flatten().count() {
            let answer = machine.answer(queue);
            let (wish, at) = slots[usize::from(answer.slot)].take().expect("it was asked");
            check(&answer, &wish, &model[at..], &format!("seed {seed}, at the end"));
        }
    }
    for at in (0..model.len()).step_by(128 << 10) {
        let found = machine.done(1, &read(at as u64 / 512, 128 << 10));
        assert!(found.read == model[at..at + (128 << 10)], "seed {seed}: at {at}");
    }
    let status = served.status();
    let counts_of = |kind: &str| status.requests.iter().find(|one| one.kind == kind).unwrap().clone();
    assert!(
        counts_of("write").requests > 100
            && counts_of("flush").requests > 10
            && counts_of("trim").requests > 10
    );
    assert_eq!((counts_of("write").failed, status.connections, status.dropped_connections), (0, 1, 0));
    served.stop();
}

fn check(answer: &Answer, wish: &Wish, model: &[u8], when: &str) {
    assert_eq!(answer.status, OK, "{when}: {:?}", wish.kind);
    assert_eq!(answer.written as usize, wish.room + 1, "{when}");
    assert!(answer.read == model[..wish.room], "{when}: what was read at {} is something else", wish.sector);
}

#[test]
fn what_a_guest_reads_is_what_it_wrote_in_a_log() {
    (1..=3).for_each(|seed| stress(LOG, seed, true));
}

#[test]
fn what_a_guest_reads_is_what_it_wrote_in_place() {
    (4..=5).for_each(|seed| stress(IN_PLACE, seed, false));
}

#[test]
fn what_a_guest_reads_is_what_it_wrote_where_the_array_takes_few_requests_at_a_time() {
    stress(&format!("{LOG}[queues]\nrequests = 3\n"), 6, true);
}

#[test]
fn a_guest_learns_what_the_disk_is() {
    let served = Served::new(LOG);
    let mut machine = Machine::boot(&served.device("one"), 1);
    let capacity = served.status().capacity_bytes;
    let config = machine.config(0, 60);
    assert_eq!(config[..8], (capacity / 512).to_le_bytes());
    assert_eq!(config[20..24], 512u32.to_le_bytes(), "bytes of a block");
    assert_eq!(config[24], 3, "pages of eight blocks");
    assert_eq!(config[34..36], 16u16.to_le_bytes(), "queues");
    assert_eq!(machine.config(12, 4), config[12..16], "a part of it");
    assert_eq!(machine.config(80, 20), [0; 20], "what is not told of");
    let serial = machine.done(0, &Wish { kind: VIRTIO_BLK_T_GET_ID, room: 20, ..Wish::default() });
    assert_eq!((serial.status, &serial.read[..]), (OK, &b"pool\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"[..]));
    for bit in [VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_WRITE_ZEROES, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_MQ] {
        assert_ne!(machine.features & (1 << bit), 0, "feature {bit}");
    }
    assert_eq!(machine.features & (1 << VIRTIO_BLK_F_RO), 0);
}

#[test]
fn a_read_only_array_refuses_writes() {
    let served = Served::opened(LOG, AssemblyOptions { read_only: true, ..AssemblyOptions::default() });
    let mut machine = Machine::boot(&served.device("one"), 1);
    assert_ne!(machine.features & (1 << VIRTIO_BLK_F_RO), 0);
    assert_eq!(machine.done(0, &write(0, vec![1; 512])).status, FAILED);
    let found = machine.done(0, &read(0, 512));
    assert_eq!((found.status, found.read), (OK, vec![0; 512]));
}

#[test]
fn a_request_that_cannot_be_fails_alone() {
    let served = Served::new(LOG);
    let mut machine = Machine::boot(&served.device("one"), 1);
    let sectors = served.status().capacity_bytes / 512;
    let data = vec![7; 4096];
    assert_eq!(machine.done(0, &write(sectors - 8, data.clone())).status, OK);
    let zeroes = VIRTIO_BLK_T_WRITE_ZEROES;
    for (wish, status) in [
        (read(sectors - 7, 4096), FAILED),
        (read(u64::MAX, 512), FAILED),
        (read(u64::MAX / 512, 512), FAILED),
        (write(sectors, vec![1; 512]), FAILED),
        (read(0, 511), FAILED),
        (read(0, 0), FAILED),
        (write(0, vec![1; 513]), FAILED),
        (write(0, vec![]), FAILED),
        (range(zeroes, sectors - 1, 2, 0), FAILED),
        (range(zeroes, 0, 0, 0), FAILED),
        (range(zeroes, u64::MAX - 1, u32::MAX, 0), FAILED),
        (range(zeroes, 0, 8, 2), UNKNOWN),
        (range(VIRTIO_BLK_T_DISCARD, 0, 8, 1), UNKNOWN),
        (Wish { out: [0; 32].into(), ..range(zeroes, 0, 8, 0) }, FAILED),
        (Wish { out: [0; 15].into(), ..range(zeroes, 0, 8, 0) }, FAILED),
        (Wish { kind: VIRTIO_BLK_T_SECURE_ERASE, ..Wish::default() }, UNKNOWN),
        (Wish { kind: u32::MAX, ..Wish::default() }, UNKNOWN),
    ] {
        let answer = machine.done(0, &wish);
        assert_eq!(answer.status, status, "{:?} at {} with {} bytes", wish.kind, wish.sector, wish.out.len());
        assert!(answer.read.iter().all(|&byte| byte == 0xEE), "nothing was read");
    }
    let found = machine.done(0, &read(sectors - 8, 4096));
    assert_eq!((found.status, found.read), (OK, data), "the last page is as it was");
    assert_eq!(served.status().dropped_connections, 0);
}

#[test]
fn a_chain_that_is_broken_fails_alone() {
    const NEXT: u16 = VRING_DESC_F_NEXT as u16;
    const WRITE: u16 = VRING_DESC_F_WRITE as u16;
    const INDIRECT: u16 = VRING_DESC_F_INDIRECT as u16;
    let served = Served::new(LOG);
    let mut machine = Machine::boot(&served.device("one"), 1);
    let outside = 1 << 40;
    // The header is 16 bytes; 512 bytes of room follow, then the status.
    type Describe<'a> = &'a dyn Fn(&Machine, u64);
    let chains: &[Describe<'_>] = &[
        // The descriptor is its own successor.
        &|guest, at| guest.describe(0, 0, at, 16, NEXT, 0),
        // The successor is outside of the table.
        &|guest, at| guest.describe(0, 0, at, 16, NEXT, SIZE),
        // No place for the status.
        &|guest, at| guest.describe(0, 0, at, 16, 0, 0),
        // A header that is too short, and no memory there.
        &|guest, at| {
            guest.describe(0, 0, at, 15, NEXT, 1);
            guest.describe(0, 1, at + 16, 513, WRITE, 0);
        },
        &|guest, at| {
            guest.describe(0, 0, outside, 16, NEXT, 1);
            guest.describe(0, 1, at + 16, 513, WRITE, 0);
        },
        // Room for the data and for the status at addresses without memory.
        &|guest, at| {
            guest.describe(0, 0, at, 16, NEXT, 1);
            guest.describe(0, 1, outside, 512, NEXT | WRITE, 2);
            guest.describe(0, 2, at + 528, 1, WRITE, 0);
        },
        &|guest, at| {
            guest.describe(0, 0, at, 16, NEXT, 1);
            guest.describe(0, 1, at + 16, 512, NEXT | WRITE, 2);
            guest.describe(0, 2, u64::MAX, 1, WRITE, 0);
        },
        // Memory for the device to read lies behind memory for it to write.
        &|guest, at| {
            guest.describe(0, 0, at + 16, 513, NEXT | WRITE, 1);
            guest.describe(0, 1, at, 16, 0, 0);
        },
        // Four gigabytes, and an indirect table without an end or a beginning.
        &|guest, at| {
            guest.describe(0, 0, at, 16, NEXT, 1);
            guest.describe(0, 1, at + 16, u32::MAX, WRITE, 0);
        },
        &|guest, at| guest.describe(0, 0, at, 17, INDIRECT, 0),
        &|guest, _| guest.describe(0, 0, outside, 1 << 20, INDIRECT, 0),
    ];
    assert_eq!(machine.done(0, &write(0, vec![7; 512])).status, OK);
    for (nth, chain) in chains.iter().enumerate() {
        let at = machine.lay_down(0, 0, &read(0, 512));
        chain(&machine, at);
        machine.offer(0, 0);
        let answer = machine.answer(0);
        assert_ne!(answer.status, OK, "chain {nth}");
        let found = machine.done(0, &read(0, 512));
        assert_eq!((found.status, found.read), (OK, vec![7; 512]), "after chain {nth}");
    }
    assert_eq!(served.status().dropped_connections, 0);
}

#[test]
fn requests_of_any_bytes_do_no_harm() {
    let served = Served::new(LOG);
    let mut other = Machine::boot(&served.device("two"), 1);
    let sectors = served.status().capacity_bytes / 512;
    let secret = vec![9; 4096];
    assert_eq!(other.done(0, &write(sectors - 8, secret.clone())).status, OK);
    for seed in 0..40 {
        let mut chance = Prng::new(seed);
        let mut machine = Machine::boot(&served.device("one"), 2);
        for _ in 0..30 {
            // Addresses and lengths that are nearly valid more often than not; sectors that are never those of the
            // other queue.
            let at = machine.lay_down(0, 0, &read(chance.below(sectors - 8), 1024));
            for index in 0..SIZE {
                let place = [at, at + 16, chance.below(1 << 20), chance.next_u64()][chance.below(4) as usize];
                let bytes = [1, 16, 512, 1024, chance.next_u64() as u32][chance.below(5) as usize];
                machine.describe(0, index, place, bytes, chance.below(8) as u16, chance.below(80) as u16);
            }
            machine.offer(0, chance.below(u64::from(SIZE) + 4) as u16);
        }
        machine.advance(1, chance.next_u64() as u16);
    }
    let found = other.done(0, &read(sectors - 8, 4096));
    assert_eq!((found.status, found.read), (OK, secret));
    served.stop();
}

#[test]
fn a_guest_that_breaks_its_ring_loses_that_queue_and_nothing_else() {
    let served = Served::new(LOG);
    let mut machine = Machine::boot(&served.device("one"), 2);
    let mut other = Machine::boot(&served.device("two"), 1);
    machine.advance(0, SIZE + 1);
    assert!(machine.is_broken(0));
    assert_eq!(machine.done(1, &write(0, vec![3; 512])).status, OK);
    assert_eq!(other.done(0, &read(0, 512)).read, [3; 512]);
    served.drops(1);
    served.stop();
}

#[test]
fn a_chain_may_be_as_long_as_the_longest_queue_and_no_longer() {
    let served = Served::new(LOG);
    let mut machine = Machine::boot(&served.device("one"), 1);
    // A read in an indirect table of `count` descriptors: the header, room in many pieces, the status.
    let ask = |machine: &mut Machine, count: u16| {
        let at = machine.lay_down(0, 0, &read(0, 2048));
        let table: Vec<u8> = (0..count)
            .flat_map(|nth| {
                let (next, write) = (VRING_DESC_F_NEXT as u16, VRING_DESC_F_WRITE as u16);
                let place = at + 15 + u64::from(nth);
                let (place, bytes, flags) = match nth {
                    0 => (at, 16, next),
                    _ if nth == count - 2 => (place, 2049 - u32::from(nth), next | write),
                    _ if nth == count - 1 => (at + 16 + 2048, 1, write),
                    _ => (place, 1, next | write),
                };
                let ends = [flags.to_le_bytes(), (nth + 1).to_le_bytes()].concat();
                [&place.to_le_bytes()[..], &bytes.to_le_bytes(), &ends].concat()
            })
            .collect();
        machine.memory.write_slice(&table, GuestAddress(at + 4096)).unwrap();
        machine.describe(0, 0, at + 4096, table.len() as u32, VRING_DESC_F_INDIRECT as u16, 0);
        machine.offer(0, 0);
    };
    assert_eq!(machine.done(0, &write(0, vec![7; 2048])).status, OK);
    ask(&mut machine, 1024);
    let answer = machine.answer(0);
    assert_eq!((answer.status, answer.read, answer.written), (OK, vec![7; 2048], 2049));
    ask(&mut machine, 1025);
    assert!(machine.is_broken(0));
    served.drops(1);
    served.stop();
}

#[test]
fn a_stopped_queue_has_answered_all_that_it_took_and_continues_from_there() {
    let served = Served::new(LOG);
    let mut machine = Machine::boot(&served.device("one"), 2);
    let mut chance = Prng::new(1);
    for round in 1..=20 {
        for slot in 0..SLOTS {
            machine.ask(0, slot, &write(u64::from(slot) * 8, vec![round; 4096]), &mut chance);
        }
        machine.ask(1, 0, &flush(), &mut chance);
        let base = machine.frontend.get_vring_base(0).unwrap() as u16;
        assert_eq!(machine.used(0), base, "all that was taken is answered, in round {round}");
        machine.start(0, base);
        assert_eq!(machine.answer(1).status, OK);
        (0..SLOTS).for_each(|_| assert_eq!(machine.answer(0).status, OK));
    }
    assert_eq!(machine.done(0, &read(0, 4096)).read, [20; 4096]);
}

#[test]
fn a_guest_that_goes_comes_again_and_its_remaining_writes_land_before() {
    let served = Served::new(LOG);
    for round in 0..30 {
        let mut machine = Machine::boot(&served.device("one"), 1);
        let mut chance = Prng::new(round);
        for slot in 0..SLOTS {
            machine.ask(0, slot, &write(0, vec![1; 64 << 10]), &mut chance);
        }
        // Like a machine that is switched off: the guest waits for nothing.
        drop(machine);
        let mut machine = Machine::boot(&served.device("one"), 1);
        assert_eq!(machine.done(0, &write(0, vec![2; 64 << 10])).status, OK);
        assert_eq!(machine.done(0, &read(0, 64 << 10)).read, vec![2; 64 << 10], "round {round}");
    }
    served.stop();
}

#[test]
fn what_the_array_was_too_busy_for_is_forgotten_with_its_guest() {
    const QUEUES: u16 = 16;
    let served = Served::new(&format!("{LOG}[queues]\nrequests = 2\n"));
    // Together more than a guest may have in flight.
    for round in 0..16 {
        let mut machine = Machine::boot(&served.device("one"), QUEUES.into());
        let mut chance = Prng::new(round);
        for queue in (0..QUEUES).rev() {
            machine.ask(queue.into(), 0, &write(0, vec![1; 192 << 10]), &mut chance);
        }
        assert_eq!(machine.answer(0).status, OK, "round {round}");
    }
    let mut machine = Machine::boot(&served.device("one"), 1);
    assert_eq!(machine.done(0, &flush()).status, OK);
    served.stop();
}

#[test]
fn a_guest_that_continues_after_its_disk_was_gone_is_refused() {
    let served = Served::new(LOG);
    let mut machine = Machine::boot(&served.device("one"), 1);
    assert_eq!(machine.done(0, &write(0, vec![1; 512])).status, OK);
    // Like QEMU with `reconnect`: the same memory, and the ring at its old position.
    machine.connect_again(&served.device("one"));
    assert!(machine.try_start(0, 1).is_err());
    served.drops(1);
    // A restarted guest has a new ring.
    let mut machine = Machine::boot(&served.device("one"), 1);
    assert_eq!(machine.done(0, &read(0, 512)).read, [1; 512]);
    served.stop();
}

#[test]
fn a_host_that_talks_nonsense_is_dropped_and_the_next_one_is_served() {
    let served = Served::new(LOG);
    for seed in 0..50 {
        let mut rude = UnixStream::connect(served.device("one")).unwrap();
        // The server may disconnect before all of it is written.
        let _ = rude.write_all(&noise(4000, &mut Prng::new(seed)));
    }
    // Rings at addresses without memory, and of size zero.
    let machine = Machine::connect(&served.device("one"), 1);
    machine.frontend.set_owner().unwrap();
    machine.frontend.set_features(machine.frontend.get_features().unwrap()).unwrap();
    machine.frontend.set_vring_num(0, 3).unwrap();
    drop(machine);
    let mut machine = Machine::boot(&served.device("one"), 1);
    assert_eq!(machine.done(0, &write(0, vec![1; 512])).status, OK);
    served.drops(51);
    served.stop();
}

#[test]
fn a_socket_of_a_killed_server_is_replaced_and_one_in_use_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let stale = folder.path().join("stale");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    let served = Served::new(LOG);
    let engine = |name: &str| {
        let paths = ["a", "b", "c"].map(|member| folder.path().join(name).with_extension(member));
        let scheme = Scheme::from_toml("test", "name = \"test\"").unwrap();
        Engine::create(&scheme, &paths, 1 << 20, Options::default()).unwrap()
    };
    let settings = |socket: &Path| Settings {
        vhost_user: vec![socket.to_owned()],
        control: folder.path().join("control"),
        ..Settings::default()
    };
    let server = Server::start(engine("first"), &settings(&stale)).unwrap();
    assert_eq!(server.addresses(), [format!("vhost-user unix:{}", stale.display())]);
    drop(server);
    let refused = Server::start(engine("second"), &settings(&served.device("one")));
    assert!(matches!(refused, Err(ServeError::InUse(_))), "{refused:?}");
    // The attempt to connect was a host that came and went.
    let mut machine = Machine::boot(&served.device("one"), 1);
    assert_eq!(machine.done(0, &flush()).status, OK);
}
