//! Velo geometry: 52 modules in 26 pairs along the beam (FORMATS.md 2.1).

use crate::event::VELO_MODULES;

/// Pairs of modules: pair k holds the modules 2k (x < 0 side) and 2k + 1 (x > 0 side), 12.5 mm apart.
pub const PAIRS: usize = VELO_MODULES / 2;

/// z of the middle of each module, mm.
pub const MODULE_Z: [f32; VELO_MODULES] = [
    -287.5, -275.0, -262.5, -250.0, -237.5, -225.0, -212.5, -200.0, -137.5, -125.0, -62.5, -50.0, -37.5,
    -25.0, -12.5, 0.0, 12.5, 25.0, 37.5, 50.0, 62.5, 75.0, 87.5, 100.0, 112.5, 125.0, 137.5, 150.0, 162.5,
    175.0, 187.5, 200.0, 212.5, 225.0, 237.5, 250.0, 262.5, 275.0, 312.5, 325.0, 387.5, 400.0, 487.5, 500.0,
    587.5, 600.0, 637.5, 650.0, 687.5, 700.0, 737.5, 750.0,
];

/// Half the distance between the first and the last sensor plane of a pair, rounded up, mm.
pub const PAIR_HALF_DEPTH: f32 = 7.0;

/// z of the middle of a pair, where lines meet it, mm.
pub const fn pair_middle(pair: usize) -> f32 {
    MODULE_Z[2 * pair] + 6.25
}
