//! Outages, in which more members were lost than parity tolerates, and the clients that must know of them. Members that
//! return may lack data that was acknowledged and that no flush had covered. So the next flush of each client fails, once.
//!
//! Source: the kernel reports an error of writeback to each open file once, too (`errseq_t`).

use stripewise_engine::Failed;

/// The number of outages that a client knows of.
#[derive(Debug)]
pub(crate) struct Outages(u64);

impl Outages {
    /// Those of a client that comes now, after this number of outages: none of them concerns its data.
    pub(crate) fn before(outages: u64) -> Self {
        Self(outages)
    }

    /// The result of a request of the client. `outages` is their number if the request was a flush.
    pub(crate) fn judge(&mut self, result: Result<(), Failed>, outages: Option<u64>) -> Result<(), Failed> {
        let Some(outages) = outages else { return result };
        let known = std::mem::replace(&mut self.0, outages);
        if known < outages { result.and(Err(Failed::Lost)) } else { result }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_flush_of_each_client_after_an_outage_fails_and_no_later_one() {
        let (mut one, mut two) = (Outages::before(0), Outages::before(0));
        assert_eq!(one.judge(Ok(()), Some(0)), Ok(()));
        assert_eq!(one.judge(Ok(()), None), Ok(()), "a write says nothing");
        assert_eq!(one.judge(Ok(()), Some(1)), Err(Failed::Lost));
        assert_eq!(one.judge(Ok(()), Some(1)), Ok(()));
        assert_eq!(two.judge(Ok(()), Some(2)), Err(Failed::Lost), "two outages are reported at once");
        assert_eq!(two.judge(Ok(()), Some(2)), Ok(()));
        assert_eq!(Outages::before(2).judge(Ok(()), Some(2)), Ok(()), "a client that came later");
        assert_eq!(one.judge(Err(Failed::NoSpace), Some(2)), Err(Failed::NoSpace));
        assert_eq!(one.judge(Ok(()), Some(2)), Ok(()), "a flush that fails during an outage reports it");
    }
}
