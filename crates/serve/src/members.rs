//! Members that are failed, replaced, rebuilt and scrubbed while the array serves.

use std::path::{Path, PathBuf};

use stripewise_array::Rejoining;
use stripewise_engine::{Engine, EngineError, MemberCondition, Rate};

use crate::candidate::{Candidate, CandidateRole, Vacancy};
use crate::control::{Command, ControlError};

/// Why a command was not executed.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The member has operations in flight; retry.
    NotYet(String),
    /// The array cannot do it: the reason, and the remedy.
    For(String),
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::InFlight { .. } => Self::NotYet(error.to_string()),
            other => Self::For(other.to_string()),
        }
    }
}

impl From<Refusal> for ControlError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotYet(reason) => Self::new(Self::BUSY, reason),
            Refusal::For(reason) => Self::refused(reason),
        }
    }
}

/// State of members that the engine does not have.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// Files that were added as spares, in order. The engine takes them from the front.
    spares: Vec<PathBuf>,
}

impl Members {
    /// Executes a command on the array, other than one with a file.
    ///
    /// # Errors
    /// Why it was not executed.
    pub(crate) fn obey(command: &Command, engine: &mut Engine) -> Result<(), Refusal> {
        match command {
            &Command::Fail { member, force } => {
                let serves = engine.failure(member)?.is_none();
                if serves && !force && !engine.array().tolerates_loss_of(member) {
                    return Err(Refusal::For(format!(
                        "without member {member} too, the array lacks more than its parity tolerates, and part of its data \
                         cannot be read; wait for its rebuild, replace what is missing, or use --force"
                    )));
                }
                engine.fail(member)?;
            }
            Command::Scrub => {
                if engine.status().is_read_only {
                    return Err(Refusal::For(
                        "the array is read-only: `stripewise check` reads all of it".to_owned(),
                    ));
                }
                engine.scrub();
            }
            Command::StopScrub => engine.stop_scrub(),
            Command::RebuildRate { bytes_per_second } => {
                engine.set_rate(bytes_per_second.map_or(Rate::Unlimited, Rate::BytesPerSecond));
            }
            Command::Replace { .. } | Command::AddSpare { .. } => unreachable!("files come as candidates"),
            Command::Status | Command::Stop => {}
        }
        Ok(())
    }

    /// The requirements for `place`.
    ///
    /// # Errors
    /// Why nothing is accepted there now.
    pub(crate) fn vacancy(engine: &Engine, place: CandidateRole) -> Result<Vacancy, Refusal> {
        let missing = match place {
            CandidateRole::Member(member) if engine.failure(member)?.is_none() => {
                return Err(Refusal::For(format!(
                    "member {member} is in service; take it out with `stripewise fail` first"
                )));
            }
            CandidateRole::Member(member) => {
                // The size of the new member is checked when it is offered.
                let pages = engine.array().member_pages();
                engine.check_rejoin(member, Rejoining::Returned { pages, stamp: None })?;
                Some(member)
            }
            CandidateRole::Spare => None,
        };
        let status = engine.status();
        if status.is_read_only {
            return Err(Refusal::For("the array is read-only: nothing is rebuilt".to_owned()));
        }
        let known = missing.and_then(|member| status.members[member.index()].uuid);
        let living = status.members.into_iter().filter(|member| member.state != MemberCondition::Failed);
        Ok(Vacancy {
            page_bytes: engine.page_bytes(),
            pages: engine.array().member_pages(),
            own: status.uuid.zip(known),
            living: living.filter_map(|member| member.path).collect(),
        })
    }

    /// Puts a candidate in its place. The caller keeps or removes a file that was created for it.
    ///
    /// # Errors
    /// Why the array does not accept it.
    pub(crate) fn take(&mut self, candidate: Candidate, engine: &mut Engine) -> Result<(), Refusal> {
        let Candidate { place, file, returned, made: _ } = candidate;
        match (place, returned) {
            (CandidateRole::Member(member), Some(returned)) => engine.rejoin_as(member, file, &returned)?,
            (CandidateRole::Member(member), None) => engine.replace(member, file)?,
            (CandidateRole::Spare, _) => {
                let path = file.path().to_owned();
                engine.add_spare(file)?;
                self.spares.push(path);
            }
        }
        Ok(())
    }

    /// Adds a spare before any client is served.
    ///
    /// # Errors
    /// Why it is not accepted: it does not exist, has content, or the array does not accept it.
    pub(crate) fn add_spare(&mut self, path: &Path, engine: &mut Engine) -> Result<(), ControlError> {
        if !path.exists() {
            return Err(ControlError::refused(
                "it is not there; `stripewise spare` gives it again when it is",
            ));
        }
        let vacancy = || Self::vacancy(engine, CandidateRole::Spare).map_err(ControlError::from);
        let candidate = Candidate::prepare(CandidateRole::Spare, path, false, vacancy)?;
        Ok(self.take(candidate, engine)?)
    }

    /// The spares that are still waiting.
    pub(crate) fn spares(&self, engine: &Engine) -> Vec<PathBuf> {
        let waiting = engine.status().spares.min(self.spares.len());
        self.spares[self.spares.len() - waiting..].to_vec()
    }
}
