//! Random read times, behind the feature `service-override`. Queueing theory states the waiting times for exponential
//! service, and the reads of a modelled device are never exponential.

use stripewise_base::Nanos;

/// The source of a read's cell time. Without the feature it is always the specification.
#[derive(Clone, Debug, Default)]
pub(crate) struct Service {
    #[cfg(feature = "service-override")]
    drawn: Option<stripewise_base::prng::Prng>,
}

impl Service {
    /// Draws read times at random from now on.
    #[cfg(feature = "service-override")]
    pub(crate) fn draw(&mut self, seed: u64) {
        self.drawn = Some(stripewise_base::prng::Prng::stream(seed, 0x7365_7276));
    }

    /// Cell time of the next read of a device; `specified` is the specified time.
    #[cfg(feature = "service-override")]
    #[inline]
    pub(crate) fn read(&mut self, specified: Nanos) -> Nanos {
        let Some(random) = &mut self.drawn else { return specified };
        // 1 - u lies in (0, 1], where the logarithm is finite; half is added so that truncation rounds.
        (0.5 - specified as f64 * libm::log(1.0 - random.unit())) as Nanos
    }

    #[cfg(not(feature = "service-override"))]
    #[inline(always)]
    pub(crate) fn read(&mut self, specified: Nanos) -> Nanos {
        specified
    }
}

#[cfg(all(test, feature = "service-override"))]
mod tests {
    use super::*;

    #[test]
    fn without_a_draw_a_read_takes_what_is_specified() {
        assert_eq!(Service::default().read(40_000), 40_000);
    }

    #[test]
    fn drawn_times_have_the_mean_and_the_tail_of_the_exponential_law() {
        let mut service = Service::default();
        service.draw(1);
        let times: Vec<Nanos> = (0..100_000).map(|_| service.read(40_000)).collect();
        let mean = times.iter().sum::<Nanos>() as f64 / 100_000.0;
        // The standard error of the mean is 40,000 / sqrt(100,000) = 126.
        assert!((mean - 40_000.0).abs() < 4.0 * 126.0, "{mean}");
        // P(X > 2 means) = e^-2 = 0.1353, with a standard error of 0.0011.
        let beyond = times.iter().filter(|&&time| time > 80_000).count() as f64 / 100_000.0;
        assert!((beyond - 0.1353).abs() < 4.0 * 0.0011, "{beyond}");
    }
}
