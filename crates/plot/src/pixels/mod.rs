//! [`PixelDisplay`]: a page with pictures of a stream of pixel clusters: one frame, a map of hits, and distributions.

mod charts;
mod colours;
mod frame;
mod grid;
mod histogram;
mod html;
mod strokes;

use grid::Grid;
use histogram::Histogram;
pub use html::Texts;
use peloton::event::{NS_PER_TICK, PixelClusters};

/// Ticks in a microsecond.
const TICKS_PER_US: i64 = (1000.0 / NS_PER_TICK) as i64;
/// Largest number of drawn hits of a frame: every pixel of a large sensor once.
const MAX_HITS: usize = 1 << 18;
/// Largest sensor whose pixels are counted one by one, pixels; on larger sensors, squares of pixels are counted.
const MAX_PIXELS: usize = 1 << 20;

/// Hits of the clusters that begin in one frame.
#[derive(Debug, Clone, Default)]
struct FrameHits {
    number: u64,
    /// x, y, time over threshold, time since the first cluster in ticks, number of the cluster in the frame.
    hits: Vec<(u16, u16, u16, i64, u32)>,
    clusters: u32,
    left_out: u64,
}

impl FrameHits {
    fn total(&self) -> u64 {
        self.hits.len() as u64 + self.left_out
    }

    fn begin(&mut self, number: u64) {
        self.hits.clear();
        (self.number, self.clusters, self.left_out) = (number, 0, 0);
    }
}

/// Collects the clusters of a stream, and draws them as a page.
pub struct PixelDisplay {
    /// Width and height of the sensor, pixels.
    sensor: [usize; 2],
    /// Number of the frame to draw; none for the frame with the most hits. `frame_ticks`: length of a frame, ticks.
    wanted: Option<u64>,
    frame_ticks: i64,
    /// Time of the first cluster of the current source; each source has its own clock.
    start: Option<i64>,
    /// Drawn time of that cluster, and time of the latest hit so far: ticks since the first cluster of the first source.
    offset: i64,
    end: i64,
    /// Number of ended sources with clusters.
    sources: usize,
    hits: u64,
    clusters: u64,
    toa: Histogram,
    tot: Histogram,
    energy: Histogram,
    size: Histogram,
    /// Clusters by size and time over threshold.
    tot_of_size: Grid,
    /// Hits by pixel, or by square of pixels with this side.
    occupancy: Vec<u64>,
    square: usize,
    /// The frame to draw as far as known, and the frame of the current clusters.
    chosen: FrameHits,
    current: FrameHits,
}

impl PixelDisplay {
    /// Creates a display of frame number `wanted`; none stands for the frame with the most hits (the first of equals).
    /// Each frame lasts `frame_us` us; frame 0 begins with the first cluster.
    pub fn new(sensor: [usize; 2], wanted: Option<u64>, frame_us: f64) -> Self {
        let mut square = 1;
        while sensor[0].div_ceil(square) * sensor[1].div_ceil(square) > MAX_PIXELS {
            square *= 2;
        }
        Self {
            sensor,
            wanted,
            frame_ticks: ((frame_us * 1000.0 / NS_PER_TICK) as i64).max(1),
            start: None,
            offset: 0,
            end: 0,
            sources: 0,
            hits: 0,
            clusters: 0,
            toa: Histogram::new(0, TICKS_PER_US),
            tot: Histogram::new(0, 4),
            energy: Histogram::new(0, 250),
            size: Histogram::new(1, 1),
            tot_of_size: Grid::default(),
            occupancy: vec![0; sensor[0].div_ceil(square) * sensor[1].div_ceil(square)],
            square,
            chosen: FrameHits { number: wanted.unwrap_or(0), ..FrameHits::default() },
            current: FrameHits::default(),
        }
    }

    /// Adds clusters of the current source; calls must follow the order of time.
    pub fn add(&mut self, clusters: &PixelClusters) {
        for cluster in 0..clusters.len() {
            let range = clusters.of_cluster(cluster);
            let features = &clusters.features;
            let (first, offset) = (*self.start.get_or_insert(features.time[cluster]), self.offset);
            let since_first = |time: i64| time.saturating_sub(first).saturating_add(offset);
            let since = since_first(features.time[cluster]);
            self.clusters += 1;
            self.hits += range.len() as u64;
            self.size.add(range.len() as i64);
            self.tot_of_size.add(range.len() as u64, features.tot[cluster].into());
            // Without a calibration there are no energies.
            if features.energy[cluster] > 0 {
                self.energy.add(i64::try_from(features.energy[cluster]).unwrap_or(i64::MAX));
            }
            let in_frame = self.enter(since);
            for i in range {
                let (time, x, y, tot) = clusters.hits.get(i);
                let since = since_first(time);
                self.end = self.end.max(since);
                self.toa.add(since);
                self.tot.add(tot.into());
                self.count(x, y);
                if in_frame && self.current.hits.len() < MAX_HITS {
                    self.current.hits.push((x, y, tot, since, self.current.clusters));
                } else if in_frame {
                    self.current.left_out += 1;
                }
            }
        }
    }

    /// Enters the frame of a cluster that begins at this time; returns whether this frame may be drawn.
    fn enter(&mut self, since: i64) -> bool {
        let Ok(number) = u64::try_from(since / self.frame_ticks) else { return false };
        if since < 0 || self.wanted.is_some_and(|wanted| wanted != number) {
            return false;
        }
        if number != self.current.number {
            self.choose();
            self.current.begin(number);
        }
        self.current.clusters += 1;
        true
    }

    /// Chooses the current frame if it has more hits than the chosen one.
    fn choose(&mut self) {
        if self.current.total() > self.chosen.total() {
            std::mem::swap(&mut self.chosen, &mut self.current);
        }
    }

    fn count(&mut self, x: u16, y: u16) {
        let width = self.sensor[0].div_ceil(self.square);
        let at = usize::from(y) / self.square * width + usize::from(x) / self.square;
        if let Some(count) = self.occupancy.get_mut(at) {
            *count += 1;
        }
    }

    /// Ends a source. The next source has another clock; its first cluster begins the next frame.
    pub fn end_source(&mut self) {
        if self.start.take().is_some() {
            self.sources += 1;
            let frames = self.end / self.frame_ticks + 1;
            self.offset = frames.saturating_mul(self.frame_ticks);
        }
    }

    /// Ends the last source and frame. No clusters may be added afterwards.
    pub fn end(&mut self) {
        self.end_source();
        self.choose();
    }

    /// Returns whether no cluster was added.
    pub fn is_empty(&self) -> bool {
        self.clusters == 0
    }

    /// Returns the number of hits in clusters.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Returns the number of ended sources that had clusters.
    pub fn sources(&self) -> usize {
        self.sources
    }

    /// Returns the index of the drawn frame, and the numbers of hits and clusters in the frame.
    pub fn frame(&self) -> (u64, [u64; 2]) {
        (self.chosen.number, [self.chosen.total(), self.chosen.clusters.into()])
    }

    /// Returns the number of frames from the first cluster to the last hit.
    pub fn frames(&self) -> u64 {
        (self.ticks() / self.frame_ticks) as u64 + 1
    }

    /// Returns the time from the first cluster to the last hit, s.
    pub fn seconds(&self) -> f64 {
        self.ticks() as f64 * NS_PER_TICK * 1e-9
    }

    /// Returns the time from the first cluster to the last hit as text with a unit.
    pub fn duration(&self) -> String {
        match 1e6 * self.seconds() {
            us if us < 1e3 => format!("{us:.1} us"),
            us if us < 1e6 => format!("{:.2} ms", us / 1e3),
            us => format!("{:.2} s", us / 1e6),
        }
    }

    /// Returns the time from the first cluster to the last hit, ticks; several sources follow one another.
    fn ticks(&self) -> i64 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes three clusters: two hits in the first frame of a microsecond, then one hit, then three in the fifth frame.
    fn display(wanted: Option<u64>) -> PixelDisplay {
        let mut clusters = PixelClusters::default();
        let hits =
            [(0, 3, 4, 9), (1, 3, 5, 200), (700, 0, 0, 1), (2600, 7, 7, 3), (2600, 8, 7, 3), (2601, 8, 8, 3)];
        hits.into_iter().for_each(|(t, x, y, tot)| clusters.hits.push(t, x, y, tot));
        clusters.hit_start.extend_from_slice(&[2, 3, 6]);
        clusters.features.set_len(3);
        clusters.features.time.copy_from_slice(&[0, 700, 2600]);
        clusters.features.tot.copy_from_slice(&[209, 1, 9]);
        clusters.features.energy.copy_from_slice(&[59_600, 1000, 0]);
        let mut display = PixelDisplay::new([16, 16], wanted, 1.0);
        display.add(&clusters);
        display.end();
        display
    }

    fn page(display: &PixelDisplay) -> String {
        display.html(&Texts { title: "a & b".into(), facts: vec![("dropped".into(), "2 < 3".into())] })
    }

    #[test]
    fn the_frame_with_the_most_hits_is_drawn_unless_another_is_wanted() {
        assert_eq!(display(None).frame(), (4, [3, 1]));
        assert_eq!(display(Some(0)).frame(), (0, [2, 1]));
        assert_eq!(display(Some(1)).frame(), (1, [1, 1]));
        assert_eq!(display(Some(2)).frame(), (2, [0, 0]));
        assert_eq!((display(None).frames(), &display(None).duration()[..]), (5, "4.1 us"));
    }

    #[test]
    fn sources_with_clocks_of_their_own_are_drawn_one_behind_the_other() {
        let mut clusters = PixelClusters::default();
        clusters.hits.push(5_000_000, 1, 1, 4);
        clusters.hit_start.push(1);
        clusters.features.set_len(1);
        clusters.features.time[0] = 5_000_000;
        let mut display = PixelDisplay::new([16, 16], None, 1.0);
        display.add(&clusters);
        display.end_source();
        // The clock of the next file begins earlier than the clock of the first file.
        (clusters.hits.time[0], clusters.features.time[0]) = (-7, -7);
        display.add(&clusters);
        display.end();
        assert_eq!((display.sources(), display.frames(), display.toa.below()), (2, 2, 0));
        assert_eq!(display.toa.bins().map(|(_, count)| count).sum::<u64>(), 2);
        assert!(page(&display).contains("the clocks of 2 inputs are joined one after another"));
    }

    #[test]
    fn the_page_has_all_pictures_and_says_what_they_are() {
        let page = page(&display(Some(0)));
        assert_eq!(page.matches("<svg class=\"sensor\"").count(), 1);
        for name in ["frame", "occupancy", "time", "tot", "size", "energy", "tot-size"] {
            assert_eq!(page.matches(&format!("data-name=\"{name}\"")).count(), 1, "{name}");
        }
        for words in [
            "<title>a &amp; b</title>",
            "2 &lt; 3",
            "Frame 0: 0 to 1 us, 2 hits, 1 cluster<",
            "time over threshold, clocks of 25 ns, logarithmic",
            "hits per pixel, logarithmic",
            "Energy of clusters: 2 clusters",
            "const hits = [[3,4,9,0,1],[3,5,200,1.5625,1]];",
            "Hottest pixels",
        ] {
            assert!(page.contains(words), "{words}");
        }
    }

    #[test]
    fn pixels_are_squares_and_clusters_have_outlines() {
        let picture = |display: &PixelDisplay| frame::picture(display);
        let count = |text: &str, what: &str| text.matches(what).count();
        let [one, none] = [Some(4), Some(2)].map(|number| picture(&display(number)));
        // One pixel, and below it two neighbours in a row.
        assert!(one.contains("d=\"m8 7h1m-2 1h2\""), "{one}");
        assert_eq!((count(&one, "<path stroke="), count(&none, "<path stroke=")), (1, 0));
        // Three pixels in an L have six sides.
        let outlines = one.split("class=\"outlines\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(count(outlines, "m"), 6);
    }
}
