//! What parity logging would cost over the requests of a study point, by a model without devices or time.

use stripewise_runs::overhead::{Counter, Overhead, Stripe};
use stripewise_trace::{Request, Source};

use crate::error::Error;
use crate::paper::Paper;
use crate::point::StudyPoint;

/// Requests that are read at a time.
const BATCH: usize = 4096;

impl Paper {
    /// What the model of parity logging counts over the `requests` of a point, folded onto one array, to their end; none where
    /// the paper does not compare it. `requests` is called only where it does.
    ///
    /// # Errors
    /// When the requests cannot be read, or what is wrong in the paper's file.
    pub fn parity_logging<S: Source>(
        &self,
        point: &StudyPoint,
        requests: impl FnOnce() -> Result<S, stripewise_runs::Error>,
    ) -> Result<Option<(Stripe, Overhead)>, Error> {
        let Some(model) = &self.document.parity_logging else { return Ok(None) };
        let names = point.names();
        let count = |text| -> Result<u32, Error> {
            let count = self.language.count(text, &names)?;
            Ok(u32::try_from(count.unwrap_or(0)).unwrap_or(u32::MAX))
        };
        let stripe = Stripe {
            data: count(&model.data)?,
            parity: count(&model.parity)?,
            chunk_bytes: model.chunk_bytes,
        };
        let filled = self.language.holds(Some(&model.filled), &names)?;
        let counter = Counter::new(stripe, filled);
        let mut counter = counter.map_err(|error| self.language.error(&model.data, error))?;
        let mut requests = requests()?;
        let mut batch: Vec<Request> = Vec::with_capacity(BATCH);
        loop {
            requests.next_batch(&mut batch)?;
            if batch.is_empty() {
                return Ok(Some((stripe, *counter.overhead())));
            }
            batch.iter().for_each(|request| counter.add(&Request { volume: 0, ..*request }));
        }
    }
}
