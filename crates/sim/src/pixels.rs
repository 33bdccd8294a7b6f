//! Simulates the charge that particles free in pixels, and finds the clusters of pixels and their positions.

use super::few::Few;
use super::normal::{NormalPair, NormalTables};
use super::random::Random;
use super::transport::Crossing;
use peloton::velo::geometry::{
    COLUMNS, PITCH, SENSOR_LENGTH, SENSOR_WIDTH, Sensor, column_edge, column_of, row_of,
};

/// Thickness of a sensor, mm.
const THICKNESS: f64 = 0.2;
/// Diffusion of the charge in the sensor, mm.
const DIFFUSION: f64 = 0.0055;
/// Smallest number of points at which charge is freed.
const POINTS: usize = 8;
/// Longest path across a sensor that is followed, pixels.
const LONGEST: f64 = 24.0;

/// A group of pixels with signals, and the particles that caused them.
#[derive(Debug, Clone, Default)]
pub(super) struct Cluster {
    /// Column and row of each pixel, in rising order without duplicates.
    pub pixels: Few<(u32, u32), 4>,
    /// Indices of the particles that caused the cluster; empty for noise.
    pub flights: Few<usize, 2>,
}

/// Scratch memory of [`ignite`](Ignition::ignite).
#[derive(Default)]
pub(super) struct Ignition {
    pairs: Vec<NormalPair>,
    /// Approximate normal numbers; NaN where the tables are too coarse.
    rough: Vec<f64>,
    /// Pixels that received a portion of charge: column and row in one word, so that words sort like pixels.
    touched: Vec<u32>,
}

/// Bits of the row in a word of column and row.
const ROW_BITS: u32 = 16;

impl Ignition {
    /// Returns the cluster of pixels in which one particle causes a signal.
    pub fn ignite(&mut self, crossing: &Crossing, random: &mut Random) -> Cluster {
        let way = crossing.slope.map(|slope| {
            let limit = LONGEST * PITCH;
            (slope * THICKNESS).clamp(-limit, limit)
        });
        let length = (way[0] * way[0] + way[1] * way[1]).sqrt();
        let points = POINTS.max((3.0 * length / PITCH) as usize);
        self.free_charge(crossing, way, points, random);
        self.touched.sort_unstable();
        // A pixel with only one portion stays below threshold, unless no pixel has more.
        let mut pixels = Few::default();
        let several = self.touched.chunk_by(|a, b| a == b).filter(|same| same.len() > 1);
        several.for_each(|same| pixels.push((same[0] >> ROW_BITS, same[0] & ((1 << ROW_BITS) - 1))));
        if pixels.is_empty() {
            let [u, v] = crossing.at;
            pixels.push((column_of(u), row_of(v)));
        }
        Cluster { pixels, flights: Few::one(crossing.flight) }
    }

    /// Lets portions of charge diffuse into pixels from `points` points of the path. The end point of a portion may
    /// be approximate if its pixel is certain.
    fn free_charge(&mut self, crossing: &Crossing, way: [f64; 2], points: usize, random: &mut Random) {
        let Self { pairs, rough, touched } = self;
        let tables = NormalTables::get();
        // Each point takes two normal numbers. The first may be a spare one; then one is spare again at the end.
        let spare = random.take_spare();
        let waiting = usize::from(spare.is_some());
        pairs.resize(points, NormalPair::default());
        rough.resize(2 * points + waiting, 0.0);
        rough[0] = spare.unwrap_or(0.0);
        for (pair, rough) in pairs.iter_mut().zip(rough[waiting..].as_chunks_mut().0) {
            *pair = random.normal_pair();
            *rough = pair.rough(tables);
        }
        let exact = |i: usize| match spare {
            Some(value) if i == 0 => value,
            _ => {
                let i = i - waiting;
                pairs[i / 2].exact()[i % 2]
            }
        };
        touched.clear();
        for (point, rough) in rough.as_chunks::<2>().0.iter().take(points).enumerate() {
            let depth = (point as f64 + 0.5) / points as f64 - 0.5;
            let middle = [0, 1].map(|axis| crossing.at[axis] + depth * way[axis]);
            let near = surely_in([0, 1].map(|axis| middle[axis] + DIFFUSION * rough[axis]));
            let pixel = near.or_else(|| {
                let [u, v] = [0, 1].map(|axis| middle[axis] + DIFFUSION * exact(2 * point + axis));
                Sensor::contains(u, v).then(|| (column_of(u), row_of(v)))
            });
            touched.extend(pixel.map(|(column, row)| column << ROW_BITS | row));
        }
        if spare.is_some() {
            random.put_spare(exact(2 * points));
        }
    }
}

/// The pixel of an approximate point, if the exact point is certainly in the same pixel; none for NaN.
fn surely_in([u, v]: [f64; 2]) -> Option<(u32, u32)> {
    const ERROR: f64 = DIFFUSION * NormalPair::ROUGH;
    let inside = |at: f64, end: f64| at > ERROR && at < end - ERROR;
    if !inside(u, SENSOR_LENGTH) || !inside(v, SENSOR_WIDTH) {
        return None;
    }
    let (column, row) = (column_of(u), row_of(v));
    let clear = |at: f64, low: f64, high: f64| at - low > ERROR && high - at > ERROR;
    let sure = clear(u, column_edge(column), column_edge(column + 1))
        && clear(v, f64::from(row) * PITCH, f64::from(row + 1) * PITCH);
    sure.then_some((column, row))
}

/// Merges clusters of one sensor whose pixels touch, corners included. Merged clusters are in the order of
/// their first members.
pub(super) fn merge_touching(clusters: &mut Vec<Cluster>) {
    let mut first = 0;
    while first < clusters.len() {
        // A merged cluster may touch further clusters: searches again until none touches.
        let mut other = first + 1;
        while other < clusters.len() {
            if touch(&clusters[first].pixels, &clusters[other].pixels) {
                let Cluster { pixels, flights } = clusters.remove(other);
                let into = &mut clusters[first];
                into.pixels.extend(&pixels);
                into.pixels.sort_and_dedup();
                into.flights.extend(&flights);
                other = first + 1;
            } else {
                other += 1;
            }
        }
        first += 1;
    }
}

fn touch(a: &[(u32, u32)], b: &[(u32, u32)]) -> bool {
    // Most clusters are far apart, as their columns show: pixels are sorted by column.
    let apart = |low: &[(u32, u32)], high: &[(u32, u32)]| match (low.last(), high.first()) {
        (Some(low), Some(high)) => low.0 + 1 < high.0,
        _ => true,
    };
    if apart(a, b) || apart(b, a) {
        return false;
    }
    a.iter().any(|p| b.iter().any(|q| p.0.abs_diff(q.0) <= 1 && p.1.abs_diff(q.1) <= 1))
}

/// (u, v) of the mean pixel, mm, computed as in the detector's readout: the fraction of a column is the
/// fraction of the distance to the next one.
pub(super) fn position(pixels: &[(u32, u32)]) -> [f64; 2] {
    let count = pixels.len() as f64;
    let (columns, rows) =
        pixels.iter().fold((0, 0), |(columns, rows), pixel| (columns + pixel.0, rows + pixel.1));
    let middle = |column: u32| 0.5 * (column_edge(column) + column_edge(column + 1));
    let column = columns / pixels.len() as u32;
    let fraction = f64::from(columns) / count - f64::from(column);
    let next = (column + 1).min(COLUMNS - 1);
    let u = middle(column) + fraction * (middle(next) - middle(column));
    [u, (f64::from(rows) / count + 0.5) * PITCH]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn straight_crossings_mostly_turn_on_one_pixel() {
        let mut random = Random::new(5, 6);
        let mut single = 0;
        let mut error = 0.0;
        for _ in 0..2000 {
            let at = [random.between(1.0, 13.0), random.between(1.0, 13.0)];
            let crossing = Crossing { flight: 3, sensor: 0, at, slope: [0.0; 2] };
            let cluster = Ignition::default().ignite(&crossing, &mut random);
            single += usize::from(cluster.pixels.len() == 1);
            let [u, _] = position(&cluster.pixels);
            error += (u - at[0]) * (u - at[0]);
        }
        assert!((1200..1900).contains(&single), "{single}");
        // The error is never larger than for a pixel without charge information.
        assert!((error / 2000.0).sqrt() < PITCH / 12.0f64.sqrt() * 1.02);
    }

    #[test]
    fn slanted_crossings_leave_connected_pixels() {
        let mut random = Random::new(5, 7);
        for slope in [[1.0, 0.0], [-3.0, 2.0], [60.0, 0.0]] {
            let crossing = Crossing { flight: 0, sensor: 0, at: [20.0, 7.0], slope };
            let mut parts: Vec<Cluster> = Ignition::default()
                .ignite(&crossing, &mut random)
                .pixels
                .iter()
                .map(|&pixel| Cluster { pixels: Few::one(pixel), flights: Few::one(0) })
                .collect();
            assert!(parts.len() > 2);
            merge_touching(&mut parts);
            assert_eq!(parts.len(), 1, "{slope:?}");
        }
    }

    /// The pixels computed by the definition, one number after the other.
    fn ignited_plainly(crossing: &Crossing, random: &mut Random) -> Vec<(u32, u32)> {
        let way = crossing.slope.map(|slope| (slope * THICKNESS).clamp(-LONGEST * PITCH, LONGEST * PITCH));
        let points = POINTS.max((3.0 * (way[0] * way[0] + way[1] * way[1]).sqrt() / PITCH) as usize);
        let mut touched = BTreeMap::<(u32, u32), usize>::new();
        for point in 0..points {
            let depth = (point as f64 + 0.5) / points as f64 - 0.5;
            let u = crossing.at[0] + depth * way[0] + DIFFUSION * random.normal();
            let v = crossing.at[1] + depth * way[1] + DIFFUSION * random.normal();
            if Sensor::contains(u, v) {
                *touched.entry((column_of(u), row_of(v))).or_default() += 1;
            }
        }
        touched.into_iter().filter(|(_, portions)| *portions > 1).map(|(pixel, _)| pixel).collect()
    }

    #[test]
    fn rough_numbers_change_no_pixel() {
        let (mut random, mut plain) = (Random::new(8, 1), Random::new(8, 1));
        let mut places = Random::new(8, 2);
        let mut ignition = Ignition::default();
        for number in 0..40_000 {
            // Includes edges of sensors and of wide pixels; sometimes the spare number is used before.
            let at = match number % 4 {
                0 => [places.between(-0.02, 0.02), places.between(-0.02, 0.02)],
                1 => [places.between(13.9, 14.5), SENSOR_WIDTH + places.between(-0.02, 0.02)],
                2 => [SENSOR_LENGTH + places.between(-0.02, 0.02), 7.0 * PITCH],
                _ => [places.between(0.0, SENSOR_LENGTH), places.between(0.0, SENSOR_WIDTH)],
            };
            let slope = [places.between(-1.0, 1.0), places.between(-1.0, 1.0)];
            if places.chance(0.3) {
                assert_eq!(random.normal(), plain.normal());
            }
            let crossing = Crossing { flight: 0, sensor: 0, at, slope };
            let expected = ignited_plainly(&crossing, &mut plain);
            let cluster = ignition.ignite(&crossing, &mut random);
            if !expected.is_empty() {
                assert_eq!(cluster.pixels[..], expected[..], "{at:?} {slope:?}");
            }
            assert_eq!(random.take_spare(), plain.take_spare());
            assert_eq!(random.uniform(), plain.uniform());
        }
    }

    #[test]
    fn touching_clusters_become_one() {
        let cluster = |pixel, flight| Cluster { pixels: Few::one(pixel), flights: Few::one(flight) };
        let mut clusters =
            vec![cluster((10, 10), 0), cluster((12, 12), 1), cluster((20, 20), 2), cluster((11, 11), 3)];
        merge_touching(&mut clusters);
        assert_eq!(clusters.len(), 2);
        assert_eq!(clusters[0].flights[..], [0, 3, 1]);
        assert_eq!(position(&clusters[0].pixels)[1], 11.5 * PITCH);
    }

    #[test]
    fn the_position_is_that_of_the_mean_pixel() {
        assert_eq!(position(&[(0, 0)]), [0.5 * PITCH, 0.5 * PITCH]);
        let [u, v] = position(&[(3, 7), (4, 7)]);
        assert!((u - 4.0 * PITCH).abs() < 1e-12 && (v - 7.5 * PITCH).abs() < 1e-12);
        let [u, _] = position(&[(COLUMNS - 1, 0)]);
        assert!((u - (column_edge(COLUMNS) - 0.5 * PITCH)).abs() < 1e-9);
    }
}
