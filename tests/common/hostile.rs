//! Events that no sound detector makes but a farm may receive.

use peloton::event::{VELO_MODULES, VeloBatch};
use proptest::collection::vec;
use proptest::prelude::*;

/// z of a module, mm: close enough to the real z for tracks to be found.
fn module_z(module: usize) -> f32 {
    -287.5 + 20.35 * module as f32
}

/// One module's hits: x, y and the distance from the module's z, mm.
type Module = Vec<[f32; 3]>;

/// The kind of a coordinate, and a number. A choice of strategies for so many values would take longer than the search of
/// the events.
type Parts = (u8, i32);

fn parts() -> impl Strategy<Value = Parts> {
    (0u8..16, -45_000i32..45_000)
}

fn coordinate((kind, um): Parts) -> f32 {
    match kind {
        0..12 => um as f32 / 1000.0,
        12..14 => (um.rem_euclid(10) - 5) as f32,
        14 => 0.0,
        _ => -0.0,
    }
}

/// A number that must be refused, or is close to the limits.
fn absurd() -> impl Strategy<Value = f32> {
    prop_oneof![
        Just(f32::NAN),
        Just(f32::INFINITY),
        Just(f32::NEG_INFINITY),
        Just(f32::MAX),
        Just(f32::MIN_POSITIVE),
        Just(1e30f32),
    ]
}

fn module() -> impl Strategy<Value = Module> {
    let hits = vec((parts(), parts(), -1i32..=1), 0..12);
    (0u8..14, hits, (parts(), parts()), 2usize..20).prop_map(|(kind, hits, (x, y), copies)| match kind {
        0..3 => Vec::new(),
        3..11 => {
            let hit = |(x, y, side)| [coordinate(x), coordinate(y), side as f32 * 0.581];
            hits.into_iter().map(hit).collect()
        }
        // On both sides of phi = pi.
        11..13 => {
            let wrap = |((_, x), (_, y), _): (Parts, Parts, i32)| {
                [-(x.rem_euclid(39_999) + 1) as f32 / 1000.0, (y.rem_euclid(7) - 3) as f32 * 1e-4, 0.581]
            };
            hits.into_iter().chain([(x, y, 0)]).map(wrap).collect()
        }
        // Copies of one hit.
        _ => std::vec![[coordinate(x), coordinate(y), 0.0]; copies],
    })
}

/// Hits of straight lines, so that there are tracks among the noise.
fn lines() -> impl Strategy<Value = Vec<([f32; 2], std::ops::Range<usize>)>> {
    let slope = || (-250i32..250).prop_map(|t| t as f32 / 1000.0);
    let line = (slope(), slope(), 0..VELO_MODULES, 3usize..26)
        .prop_map(|(tx, ty, first, n)| ([tx, ty], first..VELO_MODULES.min(first + 2 * n)));
    vec(line, 0..30)
}

/// One event: 52 modules.
fn event() -> impl Strategy<Value = Vec<Module>> {
    let crowd = prop::option::weighted(0.1, (0..VELO_MODULES, 150usize..300, parts().prop_map(coordinate)));
    let spoil = prop::option::weighted(0.1, (any::<prop::sample::Index>(), 0usize..3, absurd()));
    (vec(module(), VELO_MODULES), lines(), crowd, spoil).prop_map(|(mut modules, lines, crowd, spoil)| {
        for ([tx, ty], range) in lines {
            for module in range.step_by(2) {
                let z = module_z(module);
                modules[module].push([tx * z, ty * z, 0.581]);
            }
        }
        if let Some((module, hits, y)) = crowd {
            modules[module].extend((0..hits).map(|i| [0.1 * i as f32 - 15.0, y, -0.581]));
        }
        if let Some((index, axis, value)) = spoil {
            let hits: usize = modules.iter().map(Vec::len).sum();
            if hits > 0 {
                modules.iter_mut().flatten().nth(index.index(hits)).expect("within")[axis] = value;
            }
        }
        modules
    })
}

/// A batch of 1 to 20 events: empty modules, crowded ones, copies of one hit, hits at the wrap of
/// phi, tracks, and numbers that must be refused.
pub fn batch() -> impl Strategy<Value = VeloBatch> {
    vec(event(), 1..20).prop_map(|events| {
        let mut batch = VeloBatch::default();
        for (number, modules) in events.iter().enumerate() {
            let (mut columns, mut starts) = ([const { Vec::new() }; 3], std::vec![0]);
            for (module, hits) in modules.iter().enumerate() {
                for [x, y, z] in hits {
                    columns[0].push(*x);
                    columns[1].push(*y);
                    columns[2].push(module_z(module) + z);
                }
                starts.push(columns[0].len() as u32);
            }
            batch.push_event(number as u64, &columns[0], &columns[1], &columns[2], &starts);
        }
        batch
    })
}
