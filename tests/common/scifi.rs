//! Hits in the SciFi that no detector makes.

use peloton::Status;
use peloton::event::{SCIFI_ZONES, SciFiBatch};

/// Hits that are made up: zone, x.
pub fn made_up(hits: &[(usize, f32)]) -> SciFiBatch {
    let mut batch = SciFiBatch::default();
    for zone in 0..SCIFI_ZONES {
        for (number, (_, x)) in hits.iter().enumerate().filter(|(_, hit)| hit.0 == zone) {
            batch.x.push(*x);
            batch.z.push(0.0);
            batch.y_end.push(0.0);
            batch.id.push(number as u32);
            batch.width.push(0);
        }
        batch.zone_start.push(batch.x.len() as u32);
    }
    batch.status.push(Status::Ok);
    batch
}

/// Numbers that lie on no grid.
fn scattered(number: usize, width: f32) -> f32 {
    ((number * 7919) % 10_007) as f32 / 10_007.0 * width - 0.5 * width
}

/// Crowded hits, hits outside of the detector, and hits at the same x: a name, and zone and x of each hit.
pub fn hostile_hits() -> Vec<(&'static str, Vec<(usize, f32)>)> {
    let x_layers = [0, 6, 8, 14, 16, 22];
    let mut cases: Vec<(&str, Vec<(usize, f32)>)> = vec![("nothing", Vec::new())];
    let some = |count: usize, zones: &[usize], x: &dyn Fn(usize) -> f32| -> Vec<(usize, f32)> {
        let mut hits: Vec<_> = (0..count * zones.len()).map(|n| (zones[n % zones.len()], x(n))).collect();
        hits.sort_by(|a, b| a.1.total_cmp(&b.1));
        hits
    };
    let all: Vec<usize> = (0..SCIFI_ZONES).collect();
    cases.push(("all at one x", some(8, &all, &|_| 100.0)));
    cases.push(("pairs at few x", some(9, &all, &|n| (n % 7) as f32 * 0.25)));
    cases.push(("beyond the tables", some(20, &all, &|n| scattered(n, 9_000.0))));
    cases.push(("empty layers", some(60, &[0, 8, 22, 10, 4], &|n| scattered(n, 400.0))));
    cases.push(("no u and v", some(40, &x_layers, &|n| scattered(n, 300.0))));
    let mut crowded = some(40, &all, &|n| scattered(n, 2_000.0));
    crowded.extend(some(400, &[8], &|n| scattered(n, 1_000.0)));
    crowded.sort_by(|a, b| a.1.total_cmp(&b.1));
    cases.push(("400 in a zone", crowded));
    cases.push((
        "2,000 in a half",
        some(167, &all[..12].iter().map(|layer| 2 * layer).collect::<Vec<_>>(), &|n| scattered(n, 5_000.0)),
    ));
    cases
}
