//! `stripewise-check kill`: kills the server of an array under load and restarts it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use stripewise_check::kill::{Broken, Counts, Settings, run};

use super::progress::Progress;

/// Kill `stripewise serve` (-9) at random times under the load of several NBD connections, let its members lose a part of the
/// unflushed writes, start it again, and check each sector by docs/design/fault-contract.md; in the end `stripewise check`
/// must be clean
#[derive(Args)]
pub(crate) struct Kill {
    /// The number of kills
    #[arg(long, default_value_t = 100)]
    count: u64,
    /// The seed of everything random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The command [default: `stripewise` beside this one]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The folder of the array [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The scheme of the array
    #[arg(long, value_name = "NAME|FILE", default_value = "durable-was")]
    scheme: String,
    /// The number of members
    #[arg(long, alias = "elements", default_value_t = 5)]
    members: u16,
    /// The size of each member
    #[arg(long, default_value = "16MiB")]
    size: String,
    /// The number of connections
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    connections: u16,
    /// Requests in flight on each
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=128))]
    depth: u16,
    /// The longest time of load before a kill, in milliseconds
    #[arg(long, default_value_t = 300)]
    longest_ms: u64,
    /// Also fail members and replace them, one at a time
    #[arg(long)]
    losses: bool,
    /// Send no trims: for a scheme in place they are only advice
    #[arg(long)]
    no_trims: bool,
    /// Keep unflushed writes: kill the server without losing power
    #[arg(long)]
    no_drops: bool,
}

impl Kill {
    /// Runs the command; false if a promise was broken.
    pub(crate) fn work(&self) -> anyhow::Result<bool> {
        let settings = Settings {
            program: self.program()?,
            folder: self.folder.clone().unwrap_or_else(std::env::temp_dir),
            scheme: self.scheme.clone(),
            members: self.members,
            size: self.size.clone(),
            connections: self.connections.into(),
            depth: self.depth.into(),
            kills: self.count,
            longest: Duration::from_millis(self.longest_ms),
            losses: self.losses,
            trims: !self.no_trims,
            drops: !self.no_drops,
            deaf: None,
            seed: self.seed,
        };
        let mut progress = Progress::new();
        let report =
            &mut |counts: &Counts| progress.show(|| format!("{} of {} kills", counts.kills, self.count));
        match run(&settings, report) {
            Ok(counts) => {
                println!("seed {}: everything held\n{counts}", self.seed);
                Ok(true)
            }
            Err(error) => match error.downcast::<Broken>() {
                Ok(broken) => {
                    println!("seed {}: {broken}", self.seed);
                    Ok(false)
                }
                Err(other) => Err(other),
            },
        }
    }

    fn program(&self) -> anyhow::Result<PathBuf> {
        if let Some(program) = &self.program {
            return Ok(program.clone());
        }
        let beside =
            std::env::current_exe().context("this program has no path")?.with_file_name("stripewise");
        if !beside.exists() {
            bail!(
                "there is no {}; build it (`cargo build -p stripewise`) or give --program",
                beside.display()
            );
        }
        Ok(beside)
    }
}
