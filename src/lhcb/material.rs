//! What scatters particles between Velo and SciFi (docs/algorithms.md, "Material before the SciFi").

/// RICH 1 and what is around it, radiation lengths, and where it scatters, mm.
const RICH: f64 = 0.04;
pub(crate) const RICH_Z: f32 = 1500.0;
/// A plane of the UT, radiation lengths.
const UT_PLANE: f64 = 0.012;
/// A layer of the SciFi, radiation lengths.
const SCIFI_LAYER: f64 = 0.011;

/// Variance of the angle in one projection that so many radiation lengths give a fast particle of unit charge and 1 GeV/c
/// (Highland's formula).
fn angle2(thickness: f64) -> f64 {
    let angle = 0.0136 * (1.0 + 0.038 * libm::log(thickness));
    angle * angle * thickness
}

/// Variances of the angles at 1 GeV/c, (GeV/c)^2: by RICH 1, by a plane of the UT, by a layer of the SciFi.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scattering {
    pub(crate) rich: f64,
    pub(crate) ut_plane: f64,
    pub(crate) scifi_layer: f64,
}

impl Scattering {
    /// By the material as it is.
    pub(crate) fn new() -> Self {
        Self { rich: angle2(RICH), ut_plane: angle2(UT_PLANE), scifi_layer: angle2(SCIFI_LAYER) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Particle Data Group's review: 13.6 MeV times the root, less a few per cent.
    #[test]
    fn angles_are_those_of_highland() {
        let Scattering { rich, ut_plane, scifi_layer } = Scattering::new();
        for (found, wanted) in [(rich, 2.387e-3), (ut_plane, 1.239e-3), (scifi_layer, 1.182e-3)] {
            assert!((found.sqrt() / wanted - 1.0).abs() < 2e-3, "{}, {wanted}", found.sqrt());
        }
    }
}
