//! Charge in pixels, clusters of pixels, positions of clusters.

use super::few::Few;
use super::random::Random;
use super::transport::Crossing;
use peloton::velo::geometry::{COLUMNS, PITCH, Sensor, column_edge, column_of, row_of};

/// Thickness of a sensor, mm.
const THICKNESS: f64 = 0.2;
/// Diffusion of the charge on its way through the sensor, mm.
const DIFFUSION: f64 = 0.0055;
/// Points at which charge is freed, at least.
const POINTS: usize = 8;
/// Longest way across a sensor that is followed, in pixels.
const LONGEST: f64 = 24.0;

/// The pixels that saw something together, and who was there.
#[derive(Debug, Clone, Default)]
pub(super) struct Cluster {
    /// (column, row), each once, in rising order.
    pub pixels: Few<(u32, u32), 4>,
    /// Numbers of the particles; none for noise.
    pub flights: Few<usize, 2>,
}

/// The pixels that one particle turns on. `touched` is memory to work with.
pub(super) fn ignite(crossing: &Crossing, random: &mut Random, touched: &mut Vec<(u32, u32)>) -> Cluster {
    let way = crossing.slope.map(|slope| {
        let limit = LONGEST * PITCH;
        (slope * THICKNESS).clamp(-limit, limit)
    });
    let length = (way[0] * way[0] + way[1] * way[1]).sqrt();
    let points = POINTS.max((3.0 * length / PITCH) as usize);
    touched.clear();
    for point in 0..points {
        let depth = (point as f64 + 0.5) / points as f64 - 0.5;
        let u = crossing.at[0] + depth * way[0] + DIFFUSION * random.normal();
        let v = crossing.at[1] + depth * way[1] + DIFFUSION * random.normal();
        if Sensor::contains(u, v) {
            touched.push((column_of(u), row_of(v)));
        }
    }
    touched.sort_unstable();
    // A pixel that got but one portion stays below threshold, unless there is nothing else.
    let mut pixels = Few::default();
    touched.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).for_each(|same| pixels.push(same[0]));
    if pixels.is_empty() {
        let [u, v] = crossing.at;
        pixels.push((column_of(u), row_of(v)));
    }
    Cluster { pixels, flights: Few::one(crossing.flight) }
}

/// Puts clusters of one sensor together where their pixels touch, corners included. The order of what
/// remains is that of the first member.
pub(super) fn merge_touching(clusters: &mut Vec<Cluster>) {
    let mut first = 0;
    while first < clusters.len() {
        // What is absorbed may touch others: look again until nothing does.
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
    // Most are far apart, which the columns tell: pixels come by column.
    let apart = |low: &[(u32, u32)], high: &[(u32, u32)]| match (low.last(), high.first()) {
        (Some(low), Some(high)) => low.0 + 1 < high.0,
        _ => true,
    };
    if apart(a, b) || apart(b, a) {
        return false;
    }
    a.iter().any(|p| b.iter().any(|q| p.0.abs_diff(q.0) <= 1 && p.1.abs_diff(q.1) <= 1))
}

/// (u, v) of the mean pixel, mm, as the detector's own cluster position is made: the fraction of a column
/// counts as a fraction of the way to the next one.
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

    #[test]
    fn straight_crossings_mostly_turn_on_one_pixel() {
        let mut random = Random::new(5, 6);
        let mut single = 0;
        let mut error = 0.0;
        for _ in 0..2000 {
            let at = [random.between(1.0, 13.0), random.between(1.0, 13.0)];
            let cluster =
                ignite(&Crossing { flight: 3, sensor: 0, at, slope: [0.0; 2] }, &mut random, &mut Vec::new());
            single += usize::from(cluster.pixels.len() == 1);
            let [u, _] = position(&cluster.pixels);
            error += (u - at[0]) * (u - at[0]);
        }
        assert!((1200..1900).contains(&single), "{single}");
        // Never worse than a pixel that says only yes or no.
        assert!((error / 2000.0).sqrt() < PITCH / 12.0f64.sqrt() * 1.02);
    }

    #[test]
    fn slanted_crossings_leave_connected_pixels() {
        let mut random = Random::new(5, 7);
        for slope in [[1.0, 0.0], [-3.0, 2.0], [60.0, 0.0]] {
            let crossing = Crossing { flight: 0, sensor: 0, at: [20.0, 7.0], slope };
            let mut parts: Vec<Cluster> = ignite(&crossing, &mut random, &mut Vec::new())
                .pixels
                .iter()
                .map(|&pixel| Cluster { pixels: Few::one(pixel), flights: Few::one(0) })
                .collect();
            assert!(parts.len() > 2);
            merge_touching(&mut parts);
            assert_eq!(parts.len(), 1, "{slope:?}");
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
