//! Helices in f64, computed with software functions of `libm`.

/// Curvature (1/cm) of charge / pT = 1 / (GeV/c) in 1 T.
const CURVATURE_PER_TESLA: f64 = -0.002_997_924_58;

/// A particle at a point of its path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Helix {
    /// x, y, z, cm.
    pub position: [f64; 3],
    /// Charge over transverse momentum, c/GeV.
    pub charge_over_pt: f64,
    /// Azimuth of the momentum, rad.
    pub phi: f64,
    /// Cotangent of the polar angle.
    pub slope: f64,
    /// Field along z, T.
    pub field: f64,
}

impl Helix {
    /// Creates a helix from x, y, z, charge / pT, phi, theta.
    pub fn new(vertex: [f64; 6], field: f64) -> Self {
        let [x, y, z, charge_over_pt, phi, theta] = vertex;
        let slope = libm::cos(theta) / libm::sin(theta);
        Self { position: [x, y, z], charge_over_pt, phi, slope, field }
    }

    /// Returns the particle after a transverse path of this length.
    fn after(self, length: f64) -> Self {
        let turn = CURVATURE_PER_TESLA * self.field * self.charge_over_pt * length;
        let half = turn / 2.0;
        let chord = if half == 0.0 { length } else { length * libm::sin(half) / half };
        let [x, y, z] = self.position;
        let position = [
            x + chord * libm::cos(self.phi + half),
            y + chord * libm::sin(self.phi + half),
            z + self.slope * length,
        ];
        Self { position, phi: self.phi + turn, ..self }
    }

    /// Returns the next crossing of an outward-going particle with a cylinder around the z axis; none when the
    /// particle turns back before the cylinder, or moves inwards.
    pub fn at_radius(self, radius: f64) -> Option<Self> {
        let mut at = self;
        for _ in 0..50 {
            let [x, y, _] = at.position;
            let r = libm::hypot(x, y);
            let rest = radius - r;
            if libm::fabs(rest) < 1e-9 {
                return Some(at);
            }
            // Change of the radius per length of path; limited below, so that the step is not too long.
            let outwards = (x * libm::cos(at.phi) + y * libm::sin(at.phi)) / r.max(1e-9);
            if outwards < 0.02 && r > 1.0 {
                return None;
            }
            at = at.after(rest / outwards.max(0.5));
        }
        None
    }
}
