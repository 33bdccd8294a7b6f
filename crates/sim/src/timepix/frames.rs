//! Frames: the hits of a chip with a shutter. A pixel has one value in each frame, and no time of arrival.

use peloton::event::{NS_PER_TICK, PixelHits};

/// Hits that wait for their frames.
pub(super) struct Frames {
    /// Time for which the shutter is open, ticks.
    length: i64,
    /// Number of the open frame.
    frame: i64,
    /// Time, x, y, time over threshold of hits in this frame and later ones.
    waiting: Vec<(i64, u16, u16, u16)>,
}

impl Frames {
    /// Creates the frames of a shutter that is open for `us` microseconds.
    pub fn new(us: f64) -> Self {
        Self { length: ((us * 1000.0 / NS_PER_TICK) as i64).max(1), frame: 0, waiting: Vec::new() }
    }

    /// Returns the end of the open frame, ticks.
    pub fn end(&self) -> i64 {
        (self.frame + 1) * self.length
    }

    /// Adds the hits of a cluster.
    pub fn add(&mut self, cluster: &PixelHits) {
        self.waiting.extend((0..cluster.len()).map(|i| cluster.get(i)));
    }

    /// Appends the hits of the open frame to `hits`, and opens the next frame with hits. Clusters that are added later
    /// must not begin before the end of the open frame. Returns false at the end of the stream.
    pub fn take(&mut self, is_more: bool, hits: &mut PixelHits) -> bool {
        let end = self.end();
        self.waiting.sort_unstable_by_key(|&(time, x, y, tot)| (time >= end, x, y, time, tot));
        let count = self.waiting.partition_point(|hit| hit.0 < end);
        let mut last = None;
        for (_, x, y, tot) in self.waiting.drain(..count) {
            if last == Some((x, y)) {
                let sum = hits.tot.last_mut().expect("there is an earlier hit");
                *sum = sum.saturating_add(tot);
            } else {
                hits.push(self.frame, x, y, tot);
                last = Some((x, y));
            }
        }
        self.frame += 1;
        match self.waiting.iter().map(|hit| hit.0).min() {
            Some(first) => self.frame = self.frame.max(first.div_euclid(self.length)),
            None if !is_more => return count > 0,
            None => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PixelSim, PixelSimSpec};
    use peloton::event::PixelHits;

    fn read(spec: &str, piece: usize) -> PixelHits {
        let (mut sim, mut hits) =
            (PixelSim::new(spec.parse::<PixelSimSpec>().unwrap()), PixelHits::default());
        while sim.read(hits.len() + piece, &mut hits) {}
        hits
    }

    #[test]
    fn frames_are_rasters_and_do_not_depend_on_pieces() {
        let spec = "sim:timepix,preset=pion45,hits=20000,frame=50";
        let hits = read(spec, 1000);
        assert_eq!(read(spec, 1), hits);
        let rows: Vec<_> = (0..hits.len()).map(|i| (hits.time[i], hits.x[i], hits.y[i])).collect();
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(rows.len() > 19_000 && rows.last().unwrap().0 > 30);
        // Frames without hits are skipped.
        assert!(read("sim:timepix,hits=50,rate=1,frame=1", 1).len() > 40);
    }
}
