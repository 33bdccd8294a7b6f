//! Positions of the SciFi layers that the published seeding assumes, in the order in which it searches the layers.

/// x layers, in the order of z.
pub(super) const X_LAYERS: usize = 6;
/// u and v layers, in the order in which they are searched.
pub(super) const UV_LAYERS: usize = 6;
/// Layers of a half: first the x layers, then the u and v layers.
pub(super) const HALF_LAYERS: usize = X_LAYERS + UV_LAYERS;
/// Lower and upper half.
pub(super) const HALVES: usize = 2;

/// Zone of the lower half of each layer; the zone of the upper half comes next.
pub(super) const ZONE: [usize; HALF_LAYERS] = [0, 6, 8, 14, 16, 22, 10, 2, 20, 12, 18, 4];
/// z, mm.
pub(super) const Z: [f64; HALF_LAYERS] = [
    7826.106, 8035.9048, 8508.1064, 8717.9043, 9193.1064, 9402.9043, 8577.8691, 7895.9189, 9333.041,
    8648.1543, 9262.9824, 7966.1035,
];
/// dx/dy of the fibres of the u and v layers in the published search.
pub(super) const SLOPE: [f64; UV_LAYERS] = [0.086, 0.086, -0.086, -0.086, 0.086, -0.086];
/// True dx/dy of tilted fibres: the tangent of 5 degrees.
pub(super) const TILT: f64 = 0.087_488_66;
/// dz/dy of all layers, which stand upright although the beam is slightly inclined.
pub(super) const LEAN: f64 = 0.0036;
/// The layers in the order of z.
pub(super) const BY_Z: [usize; HALF_LAYERS] = [0, 7, 11, 1, 2, 6, 9, 3, 4, 10, 8, 5];

/// z of the reference, mm. Tracks are described by x(z) = a + b d + c d^2 (1 + CUBIC d) with d = z - Z_REFERENCE.
pub(super) const Z_REFERENCE: f64 = 8520.0;
/// Cubic term of tracks, for a field that falls along the stations, 1/mm.
pub(super) const CUBIC: f64 = -0.00028;
/// z of the states of tracks, mm.
pub(super) const Z_STATE: f64 = 9410.0;

/// Returns the factor of the third parameter of a track.
pub(super) fn bend(distance: f64) -> f64 {
    distance * distance * (1.0 + CUBIC * distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_by_z_are_all_layers() {
        assert!(BY_Z.windows(2).all(|pair| Z[pair[0]] < Z[pair[1]]));
        let mut zones = ZONE;
        zones.sort_unstable();
        assert_eq!(zones, std::array::from_fn(|layer| 2 * layer));
    }
}
