//! Material between Velo and SciFi (docs/algorithms.md, "Material before the SciFi").

/// Material between Velo and UT, the end of the Velo and RICH 1: z, mm, and radiation lengths.
const BEFORE_UT: [[f64; 2]; 2] = [[800.0, 0.094], [1680.0, 0.094]];
/// Thickness of a plane of the UT, radiation lengths.
const UT_PLANE: f64 = 0.012;
/// Number of planes of the UT, and z of their middle, mm.
const UT_PLANES: f64 = 4.0;
const UT_Z: f64 = 2484.6;
/// Material between UT and SciFi, in two halves: z, mm, and radiation lengths.
const IN_MAGNET: [[f64; 2]; 2] = [[3736.0, 0.024], [6733.0, 0.024]];
/// Thickness of a layer of the SciFi, radiation lengths.
const SCIFI_LAYER: f64 = 0.0125;

/// Returns the variance of the scattering angle in one projection of a fast particle of unit charge and 1 GeV/c, after
/// `thickness` radiation lengths (Highland's formula).
fn angle2(thickness: f64) -> f64 {
    let angle = 0.0136 * (1.0 + 0.038 * libm::log(thickness));
    angle * angle * thickness
}

/// Variances of scattering angles at 1 GeV/c, (GeV/c)^2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scattering {
    /// Scatterers between Velo and UT: z, mm, and variance.
    pub(crate) before_ut: [[f64; 2]; 2],
    /// Variance for a plane of the UT.
    pub(crate) ut_plane: f64,
    /// Variance for a layer of the SciFi.
    pub(crate) scifi_layer: f64,
    /// Variance for everything between Velo and SciFi.
    pub(crate) before_scifi: f64,
    /// Scatterers in the magnet: z, mm, and variance.
    in_magnet: [[f64; 2]; 2],
}

impl Scattering {
    /// Computes the variances from the material.
    pub(crate) fn new() -> Self {
        let before_ut = BEFORE_UT.map(|[z, thickness]| [z, angle2(thickness)]);
        let ut_plane = angle2(UT_PLANE);
        let to_ut: f64 = before_ut.iter().map(|[_, angle2]| angle2).sum();
        let in_magnet = IN_MAGNET.map(|[z, thickness]| [z, angle2(thickness)]);
        let before_scifi =
            to_ut + UT_PLANES * ut_plane + in_magnet.iter().map(|[_, angle2]| angle2).sum::<f64>();
        Self { before_ut, ut_plane, scifi_layer: angle2(SCIFI_LAYER), before_scifi, in_magnet }
    }

    /// Returns the scatterers between Velo and SciFi: z, mm, and variance; the planes of the UT count as one.
    pub(crate) fn before_scifi_at(&self) -> [[f64; 2]; 5] {
        let [[a, b], [c, d]] = [self.before_ut, self.in_magnet];
        [a, b, [UT_Z, UT_PLANES * self.ut_plane], c, d]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LHCb's parametrised fit has 5.37 mrad GeV/c before the UT, 1.2 in a plane of the UT, 2.64 behind the UT (the
    /// root mean square of both projections), and 1.27 in a layer of the SciFi.
    #[test]
    fn angles_are_those_of_full_simulation() {
        let Scattering { before_ut, ut_plane, scifi_layer, before_scifi, .. } = Scattering::new();
        let to_ut: f64 = before_ut.iter().map(|[_, angle2]| angle2).sum();
        let behind = before_scifi - to_ut - 4.0 * ut_plane;
        for (found, wanted) in [(to_ut, 5.37), (ut_plane, 1.2), (behind, 2.64), (scifi_layer, 1.27)] {
            assert!((1e3 * found.sqrt() / wanted - 1.0).abs() < 0.05, "{}, {wanted}", found.sqrt());
        }
    }
}
