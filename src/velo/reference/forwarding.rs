//! Naive reference of the preset `forwarding`: every pair of hits of one side is extended at once to a whole track.

use super::Fault;
use super::modules::{Hit, Place, chi2, sorted, window};
use crate::event::{VELO_MODULES, VeloEvent};
use crate::velo::ForwardingConfig;
use crate::velo::config::VeloConfig;
use crate::velo::geometry::MODULE_Z;

/// Returns the tracks as indices in the event's columns.
pub(super) fn find(fault: Fault, config: &VeloConfig, event: &VeloEvent<'_>) -> Vec<Vec<usize>> {
    let modules: Vec<_> = (0..VELO_MODULES).map(|module| sorted(event, module, |x, _| x)).collect();
    let most = config.limits.candidates_in_window as usize;
    let mut finder = Finder { fault, config: &config.forwarding, most, modules };
    let (mut tracks, mut weak) = (Vec::new(), Vec::new());
    for module in (2..VELO_MODULES).rev() {
        for first in 0..finder.modules[module].len() {
            for second in finder.partners((module, first)) {
                let hits = finder.follow([(module, first), second]);
                match hits.len() {
                    2 => {}
                    3 => weak.push(hits),
                    _ => tracks.extend(finder.take(hits)),
                }
                if finder.hit((module, first)).used {
                    break;
                }
            }
        }
    }
    let quality = |hits: &Vec<Place>| {
        let hits: Vec<Hit> = hits.iter().map(|&place| finder.hit(place)).collect();
        chi2(&hits, config.forwarding.weak_weight)
    };
    let mut weak: Vec<_> = weak.into_iter().map(|hits| (quality(&hits), hits)).collect();
    weak.retain(|(chi2, _)| *chi2 < config.forwarding.weak_chi2);
    weak.sort_by(|a, b| a.0.total_cmp(&b.0)); // stable
    for (_, hits) in weak {
        tracks.extend(finder.take(hits));
    }
    tracks.iter().map(|hits| hits.iter().map(|&place| finder.hit(place).source).collect()).collect()
}

struct Finder<'a> {
    fault: Fault,
    config: &'a ForwardingConfig,
    /// Largest number of candidates in a window.
    most: usize,
    modules: Vec<Vec<Hit>>,
}

impl Finder<'_> {
    fn hit(&self, (module, place): Place) -> Hit {
        self.modules[module][place]
    }

    /// Returns the free hits that may be on a track with a hit, in the next module of its side; none if the hit is
    /// used.
    fn partners(&self, place: Place) -> Vec<Place> {
        let (module, hit) = (place.0, self.hit(place));
        let reach = self.config.slope * (MODULE_Z[module] - MODULE_Z[module - 2]) as f32;
        let inside = |x: f32| hit.x - reach <= x && x <= hit.x + reach;
        let mut partners = window(&self.modules, module - 2, usize::MAX, inside);
        partners.retain(|&second| {
            let second = self.hit(second);
            !hit.used && !second.used && (second.y - hit.y).abs() <= reach
        });
        partners.truncate(self.most);
        partners
    }

    /// Returns the track that begins with two hits.
    fn follow(&self, doublet: [Place; 2]) -> Vec<Place> {
        let mut hits = doublet.to_vec();
        let mut missed = 0;
        let mut side = doublet[1].0 % 2;
        for pair in (0..doublet[1].0 / 2).rev() {
            let here = self.nearest(&hits, 2 * pair + side);
            if let Some(place) = here.or_else(|| self.nearest(&hits, 2 * pair + 1 - side)) {
                hits.push(place);
                side = place.0 % 2;
                missed = 0;
            } else {
                missed += 1;
            }
            if missed > self.config.skipped_modules {
                break;
            }
        }
        hits
    }

    /// Returns the free hit of a module that is nearest to the line through the last two hits.
    fn nearest(&self, hits: &[Place], module: usize) -> Option<Place> {
        let [a, b] = [hits.len() - 2, hits.len() - 1].map(|last| self.hit(hits[last]));
        let tx = (b.x - a.x) / (b.z - a.z);
        let middle = b.x + tx * (MODULE_Z[module] as f32 - b.z);
        let reach = self.config.scatter.sqrt() + tx.abs();
        let inside = |x: f32| middle - reach <= x && x <= middle + reach;
        let mut best = (self.config.scatter, None);
        for place in window(&self.modules, module, self.most, inside) {
            let hit = self.hit(place);
            let scatter = scatter(a, b, hit);
            if !hit.used && self.fault.better(scatter, best.0) {
                best = (scatter, Some(place));
            }
        }
        best.1
    }

    /// Makes a track of hits if all of them are free.
    fn take(&mut self, hits: Vec<Place>) -> Option<Vec<Place>> {
        let free = hits.iter().all(|&place| !self.hit(place).used);
        hits.iter().filter(|_| free).for_each(|&(module, place)| self.modules[module][place].used = true);
        free.then_some(hits)
    }
}

/// Returns the squared distance of `hit` from the line through `a` and `b`, mm^2.
pub(super) fn scatter(a: Hit, b: Hit, hit: Hit) -> f32 {
    let (tx, ty) = ((b.x - a.x) / (b.z - a.z), (b.y - a.y) / (b.z - a.z));
    let dx = b.x + tx * (hit.z - b.z) - hit.x;
    let dy = b.y + ty * (hit.z - b.z) - hit.y;
    dx * dx + dy * dy
}
