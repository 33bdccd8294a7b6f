//! Material between Velo and SciFi (docs/algorithms.md, "Material before the SciFi").

/// Between Velo and UT, the Velo's end and RICH 1: z, mm, and radiation lengths.
const BEFORE_UT: [[f64; 2]; 2] = [[800.0, 0.094], [1680.0, 0.094]];
/// A plane of the UT, radiation lengths.
const UT_PLANE: f64 = 0.012;
/// Planes of the UT, and their middle, mm.
const UT_PLANES: f64 = 4.0;
const UT_Z: f64 = 2484.6;
/// Between UT and SciFi, two halves: z, mm, and radiation lengths.
const IN_MAGNET: [[f64; 2]; 2] = [[3736.0, 0.024], [6733.0, 0.024]];
/// A layer of the SciFi, radiation lengths.
const SCIFI_LAYER: f64 = 0.0125;

/// Variance of the angle in one projection that so many radiation lengths give a fast particle of unit charge and 1 GeV/c
/// (Highland's formula).
fn angle2(thickness: f64) -> f64 {
    let angle = 0.0136 * (1.0 + 0.038 * libm::log(thickness));
    angle * angle * thickness
}

/// Variances of the angles at 1 GeV/c, (GeV/c)^2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scattering {
    /// Between Velo and UT: z, mm, and what scatters there.
    pub(crate) before_ut: [[f64; 2]; 2],
    /// By a plane of the UT.
    pub(crate) ut_plane: f64,
    /// By a layer of the SciFi.
    pub(crate) scifi_layer: f64,
    /// By everything between Velo and SciFi.
    pub(crate) before_scifi: f64,
    /// In the magnet: z, mm, and what scatters there.
    in_magnet: [[f64; 2]; 2],
}

impl Scattering {
    /// By the material as it is.
    pub(crate) fn new() -> Self {
        let before_ut = BEFORE_UT.map(|[z, thickness]| [z, angle2(thickness)]);
        let ut_plane = angle2(UT_PLANE);
        let to_ut: f64 = before_ut.iter().map(|[_, angle2]| angle2).sum();
        let in_magnet = IN_MAGNET.map(|[z, thickness]| [z, angle2(thickness)]);
        let before_scifi =
            to_ut + UT_PLANES * ut_plane + in_magnet.iter().map(|[_, angle2]| angle2).sum::<f64>();
        Self { before_ut, ut_plane, scifi_layer: angle2(SCIFI_LAYER), before_scifi, in_magnet }
    }

    /// Between Velo and SciFi: z, mm, and what scatters there; the planes of the UT are one.
    pub(crate) fn before_scifi_at(&self) -> [[f64; 2]; 5] {
        let [[a, b], [c, d]] = [self.before_ut, self.in_magnet];
        [a, b, [UT_Z, UT_PLANES * self.ut_plane], c, d]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LHCb's parametrised fit has 5.37 mrad GeV/c before the UT, 1.2 in a plane of it, 2.64 behind it (the root mean square of
    /// both projections), 1.27 in a layer of the SciFi.
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
