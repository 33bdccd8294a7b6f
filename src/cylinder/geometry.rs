//! Ten concentric cylinders (`docs/algorithms.md`, "Cylinder: detector and events").

use crate::event::CYLINDER_LAYERS;

/// Radii of the layers, cm.
pub const RADII: [f32; CYLINDER_LAYERS] = [4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0, 32.0, 36.0, 40.0];

/// Number of innermost layers on which a seed has hits.
pub const SEED_LAYERS: usize = 3;
