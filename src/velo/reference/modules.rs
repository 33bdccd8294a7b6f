//! Code shared by the naive references of the presets `paper` and `forwarding`: sorted hits of one module.

use crate::event::VeloEvent;

/// A hit by its module and its index among the sorted hits of the module.
pub(super) type Place = (usize, usize);

/// A hit of a module.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    /// Sort key of the hits of the module.
    pub(super) key: f32,
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) z: f32,
    /// Index in the event's columns.
    pub(super) source: usize,
    /// Whether a track has the hit.
    pub(super) used: bool,
}

/// Returns the hits of a module, sorted by a key of x and y, then by input order.
pub(super) fn sorted(event: &VeloEvent<'_>, module: usize, key: impl Fn(f32, f32) -> f32) -> Vec<Hit> {
    let mut hits = Vec::new();
    for source in event.module(module) {
        let (x, y, z) = (event.x[source], event.y[source], event.z[source]);
        hits.push(Hit { key: key(x, y), x, y, z, source, used: false });
    }
    hits.sort_by(|a, b| a.key.total_cmp(&b.key)); // stable
    hits
}

/// Returns the first `most` hits of a module whose key is in a window.
pub(super) fn window(
    modules: &[Vec<Hit>],
    module: usize,
    most: usize,
    is_inside: impl Fn(f32) -> bool,
) -> Vec<Place> {
    let hits = &modules[module];
    let places = (0..hits.len()).filter(|&place| is_inside(hits[place].key));
    places.take(most).map(|place| (module, place)).collect()
}

/// Returns chi2 per degree of freedom of the least-squares line through three hits of weight `weight`, 1/mm^2.
pub(super) fn chi2(hits: &[Hit], weight: f32) -> f32 {
    let mean = |value: fn(&Hit) -> f32| (value(&hits[0]) + value(&hits[1]) + value(&hits[2])) / 3.0;
    let (x, y, z) = (mean(|hit| hit.x), mean(|hit| hit.y), mean(|hit| hit.z));
    let sum = |term: &dyn Fn(&Hit) -> f32| hits.iter().fold(0.0, |sum, hit| sum + term(hit));
    let zz = sum(&|hit| (hit.z - z) * (hit.z - z));
    let tx = sum(&|hit| (hit.z - z) * (hit.x - x)) / zz;
    let ty = sum(&|hit| (hit.z - z) * (hit.y - y)) / zz;
    let square = |value: f32| value * value;
    let distance2 =
        |hit: &Hit| square((hit.x - x) - tx * (hit.z - z)) + square((hit.y - y) - ty * (hit.z - z));
    sum(&|hit| weight * distance2(hit)) / 2.0
}
