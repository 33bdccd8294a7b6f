//! Seeded simulations of detectors. Stand-in until the real one is merged.

use crate::event::{Particle, TruthEvent, VeloBatch};
use crate::{Error, Result};
use std::str::FromStr;

/// What to simulate.
#[derive(Debug, Clone, Copy)]
pub struct SimSpec {
    events: usize,
    seed: u64,
}

impl FromStr for SimSpec {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let mut spec = Self { events: 100, seed: 1 };
        let rest =
            text.strip_prefix("sim:velo").ok_or_else(|| Error::Config(format!("no simulation `{text}`")))?;
        for pair in rest.split(',').filter(|pair| !pair.is_empty()) {
            let number =
                |v: &str| v.parse().map_err(|_| Error::Config(format!("`{pair}` is not KEY=NUMBER")));
            match pair.split_once('=') {
                Some(("events", n)) => spec.events = number(n)? as usize,
                Some(("seed", k)) => spec.seed = number(k)?,
                _ => return Err(Error::Config(format!("`{pair}` is not events=N or seed=K"))),
            }
        }
        Ok(spec)
    }
}

/// Simulated events.
pub struct SimReader {
    next: usize,
    end: usize,
    first: usize,
    seed: u64,
}

impl SimReader {
    /// The events `first .. first + count` of a simulation.
    ///
    /// # Errors
    /// None.
    pub fn new(spec: SimSpec, first: usize, count: Option<usize>) -> Result<Self> {
        let end = count.map_or(spec.events, |count| spec.events.min(first + count));
        Ok(Self { next: first, end, first, seed: spec.seed })
    }
    /// How many events there are in all.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.end.saturating_sub(self.first)
    }
    /// Appends up to `events` events.
    ///
    /// # Errors
    /// None.
    pub fn read(
        &mut self,
        events: usize,
        hits: &mut VeloBatch,
        truth: &mut Vec<TruthEvent>,
    ) -> Result<usize> {
        let end = self.end.min(self.next + events);
        let n = end.saturating_sub(self.next);
        for event in self.next..end.max(self.next) {
            let (mut x, mut starts, mut particles) = (Vec::new(), vec![0], vec![Particle::default(); 12]);
            for module in 0..52u32 {
                for (t, particle) in particles.iter_mut().enumerate() {
                    if module % 2 == 0 && !(module as usize + t + event).is_multiple_of(7) {
                        particle.hits.push(x.len() as u32);
                        x.push((self.seed as usize + event + 10 * t) as f32 + module as f32);
                    }
                }
                starts.push(x.len() as u32);
            }
            for (t, p) in particles.iter_mut().enumerate() {
                (p.key, p.pid, p.p, p.eta, p.has_velo, p.is_long) = (t as i64, 211, 7.0, 3.0, true, true);
            }
            hits.push_event(event as u64, &x, &x, &x, &starts);
            truth.push(TruthEvent { particles });
        }
        self.next = end;
        Ok(n)
    }
}
