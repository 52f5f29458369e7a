//! The kill test of a served array: a verifying client drives `stripewise serve` over several NBD connections; the
//! server is killed at any time and restarted, and each sector is compared with docs/design/fault-contract.md.
//!
//! A kill loses the content of the server's memory, but none of the data given to the system. Optionally power is
//! lost at the same time: then each member loses some of its unflushed writes, sector by sector. Everything else is
//! real: processes, sockets, files and the system's I/O. [`crate::crash`] tests other faults of members.

mod broken;
mod counts;
mod link;
mod load;
mod power;
mod server;
mod verdict;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use stripewise_base::prng::Prng;

pub use broken::Broken;
pub use counts::Counts;
use load::Load;
use server::{ArrayFolder, Server};

/// How long a server may take to assemble the array and to accept a client.
const OPENING_TIME: Duration = Duration::from_secs(60);

/// How long an undisturbed rebuild may take.
const HEALING_TIME: Duration = Duration::from_secs(120);

/// Settings of a test.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The command `stripewise`.
    pub program: PathBuf,
    /// The folder in which the test creates a folder for the array, which it removes after success.
    pub folder: PathBuf,
    /// The array's scheme: a preset or a file, with settings.
    pub scheme: String,
    /// Number of members, and the size of each, with its unit.
    pub members: u16,
    /// See [`Settings::members`].
    pub size: String,
    /// Number of connections, and requests in flight on each.
    pub connections: usize,
    /// See [`Settings::connections`].
    pub depth: usize,
    /// Number of kills.
    pub kills: u64,
    /// The longest time from the start of the load to a kill.
    pub longest: Duration,
    /// Whether trims are sent. In the log, trims are binding; in place they are advice, which this client does not
    /// support.
    pub trims: bool,
    /// Whether members are removed from service and replaced under load, one at a time.
    pub losses: bool,
    /// Whether members lose some of their unflushed writes when the server is killed, in two cases of three.
    pub drops: bool,
    /// A member, by the order of names, that also loses flushed writes: a planted flaw that the test must find.
    pub deaf: Option<usize>,
    /// Seed of all random choices.
    pub seed: u64,
}

/// Creates an array, and kills its server the given number of times. Reports each kill to `report`.
///
/// # Errors
/// A [`Broken`] promise, or an error that prevents the test, such as a missing command.
pub fn run(settings: &Settings, report: &mut dyn FnMut(&Counts)) -> anyhow::Result<Counts> {
    let folder = settings.folder.join(format!("stripewise-kill-{}-{}", std::process::id(), settings.seed));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make folder {}", folder.display()))?;
    let place = ArrayFolder::new(&settings.program, &folder);
    let result = trial(settings, &place, report);
    match &result {
        Ok(_) => std::fs::remove_dir_all(&folder)?,
        Err(_) => eprintln!("the array and the server's log are left in {}", folder.display()),
    }
    result
}

fn trial(
    settings: &Settings,
    place: &ArrayFolder,
    report: &mut dyn FnMut(&Counts),
) -> anyhow::Result<Counts> {
    place.create(&settings.scheme, settings.members, &settings.size)?;
    let mut random = Prng::stream(settings.seed, 0);
    let mut load = Load::new(Prng::stream(settings.seed, 1), settings.depth, settings.trims);
    let mut power = settings.drops.then(|| place.power(settings.deaf, Prng::stream(settings.seed, 2)));
    let mut counts = Counts::default();
    while counts.kills < settings.kills {
        let mut server = Server::start(place, power.as_mut())?;
        // A server may be killed again before it serves.
        if random.chance(1, 4) {
            std::thread::sleep(within(&mut random, Duration::from_millis(30)));
            server.kill()?;
            counts.kills_while_opening += 1;
        } else {
            let begun = Instant::now();
            let links = server.connect(settings.connections, begun + OPENING_TIME)?;
            counts.opened(begun.elapsed());
            load.verify(links, &mut counts)?;
            if !settings.losses {
                verdict::whole(&place.status()?, &mut counts)?;
            }
            let mut links = server.connect(settings.connections, Instant::now() + OPENING_TIME)?;
            let times = [(); 2].map(|()| within(&mut random, settings.longest));
            let mut served = load.run(&mut links, times[0], &mut counts);
            if settings.losses && served.is_ok() {
                lose_or_replace(place, &mut random, &mut counts)?;
                served = load.run(&mut links, times[1], &mut counts);
            }
            served.map_err(|error| server.why(error))?;
            server.kill()?;
            load.cut_off(links, &mut counts)?;
        }
        if let Some(power) = &mut power {
            power.after_kill(&mut counts)?;
        }
        counts.kills += 1;
        report(&counts);
    }
    let mut server = Server::start(place, power.as_mut())?;
    load.verify(server.connect(settings.connections, Instant::now() + OPENING_TIME)?, &mut counts)?;
    if settings.losses {
        heal(place)?;
    }
    place.ask("scrub", &["--wait"])?;
    verdict::scrubbed(&place.status()?, &mut counts)?;
    server.stop()?;
    // A clean stop has flushed everything.
    if let Some(power) = &mut power {
        power.lose(&mut counts)?;
    }
    place.check()?;
    Ok(counts)
}

/// Removes a member from service if all are in service, or has a missing one replaced. A rebuild in progress is left
/// alone.
fn lose_or_replace(place: &ArrayFolder, random: &mut Prng, counts: &mut Counts) -> anyhow::Result<()> {
    let status = place.status()?;
    if let Some(member) = status.out_of_service() {
        let file = place.file(&format!("new-{}", counts.kills));
        place.ask("replace", &[&member.to_string(), &file.to_string_lossy(), "--force"])?;
        counts.replaced += 1;
    } else if status.health == "clean" {
        let member = random.below(status.members.len() as u64);
        place.ask("fail", &[&member.to_string()])?;
        counts.lost += 1;
    }
    Ok(())
}

/// Has missing members replaced, and waits until everything is rebuilt.
fn heal(place: &ArrayFolder) -> anyhow::Result<()> {
    let until = Instant::now() + HEALING_TIME;
    loop {
        let status = place.status()?;
        if status.health == "clean" {
            return Ok(());
        }
        if let Some(member) = status.out_of_service() {
            let file = place.file("last");
            place.ask("replace", &[&member.to_string(), &file.to_string_lossy(), "--force"])?;
        }
        if Instant::now() > until {
            return Err(Broken(format!("nothing is lost, and the array stays {}", status.health)).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn within(random: &mut Prng, longest: Duration) -> Duration {
    Duration::from_micros(random.below(longest.as_micros() as u64 + 1))
}
