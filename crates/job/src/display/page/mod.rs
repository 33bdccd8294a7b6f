//! [`PixelDisplay`]: what a stream looks like, as a page of pictures: distributions and one frame.

mod draw;
mod histogram;

use histogram::Histogram;
use peloton::event::{NS_PER_TICK, PixelClusters};

/// Ticks in a microsecond.
const TICKS_PER_US: i64 = (1000.0 / NS_PER_TICK) as i64;

/// Takes in the clusters of a stream and draws them.
pub struct PixelDisplay {
    /// Width and height of the sensor, pixels.
    sensor: [usize; 2],
    /// Which frame is drawn, and how long frames are, ticks.
    frame: u64,
    frame_ticks: i64,
    /// Time of the first cluster.
    start: Option<i64>,
    toa: Histogram,
    tot: Histogram,
    energy: Histogram,
    size: Histogram,
    /// Hits of the clusters that begin in the frame: x, y, tot, cluster.
    hits: Vec<(u16, u16, u16, u32)>,
    clusters: u32,
    left_out: u64,
}

/// Hits of a frame that are drawn at most: every pixel of a large sensor once.
const MAX_HITS: usize = 1 << 18;

impl PixelDisplay {
    /// Draws frame number `frame` of those of `frame_us` that begin with the first cluster.
    pub fn new(sensor: [usize; 2], frame: u64, frame_us: f64) -> Self {
        Self {
            sensor,
            frame,
            frame_ticks: ((frame_us * 1000.0 / NS_PER_TICK) as i64).max(1),
            start: None,
            toa: Histogram::new(0, TICKS_PER_US),
            tot: Histogram::new(0, 4),
            energy: Histogram::new(0, 250),
            size: Histogram::new(1, 1),
            hits: Vec::new(),
            clusters: 0,
            left_out: 0,
        }
    }

    /// Takes clusters in, which come in order.
    pub fn add(&mut self, clusters: &PixelClusters) {
        for cluster in 0..clusters.len() {
            let range = clusters.of_cluster(cluster);
            let features = &clusters.features;
            let first = *self.start.get_or_insert(features.time[cluster]);
            let since = features.time[cluster].saturating_sub(first);
            self.size.add(range.len() as i64);
            self.energy.add(i64::try_from(features.energy[cluster]).unwrap_or(i64::MAX));
            for i in range.clone() {
                let (time, _, _, tot) = clusters.hits.get(i);
                self.toa.add(time.saturating_sub(first));
                self.tot.add(tot.into());
            }
            if u64::try_from(since / self.frame_ticks) == Ok(self.frame) {
                self.clusters += 1;
                for i in range {
                    let (_, x, y, tot) = clusters.hits.get(i);
                    if self.hits.len() < MAX_HITS {
                        self.hits.push((x, y, tot, self.clusters));
                    } else {
                        self.left_out += 1;
                    }
                }
            }
        }
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.start.is_none()
    }

    /// Hits and clusters in the frame.
    pub fn frame(&self) -> [u64; 2] {
        [self.hits.len() as u64 + self.left_out, self.clusters.into()]
    }
}
