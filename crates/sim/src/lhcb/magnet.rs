//! Propagates particles through the magnet of the nominal detector ([`peloton::lhcb::magnet`]).

use peloton::lhcb::magnet::MidPlane;

/// Change of slope per mm of path, T of field and (GeV/c)^-1 of charge over momentum.
const CURVATURE: f64 = 0.299_792_458e-3;
/// Longest step, mm.
const STEP: f64 = 150.0;
/// Largest slope of a track; `MAX_X` is the largest |x|, mm. Other tracks are lost.
const MAX_SLOPE: f64 = 1.5;
const MAX_X: f64 = 4500.0;

/// The state of a particle in the magnet of `sim:lhcb`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Track {
    /// x, mm.
    pub x: f64,
    /// y, mm.
    pub y: f64,
    /// z, mm.
    pub z: f64,
    /// dx/dz.
    pub tx: f64,
    /// dy/dz.
    pub ty: f64,
    /// Charge over momentum, 1/(GeV/c).
    pub qop: f64,
}

/// x, y and their slopes.
type State = [f64; 4];

impl Track {
    /// Propagates the particle to `z` (mm) without scattering; returns none if |x| or a slope becomes too large.
    /// `polarity` is the polarity of the magnet, -1 or 1.
    pub fn to(self, z: f64, polarity: f64) -> Option<Self> {
        let mut track = self;
        let steps = ((z - track.z).abs() / STEP).ceil().max(1.0);
        let step = (z - track.z) / steps;
        let mut begin = MidPlane::new(track.z);
        for _ in 0..steps as usize {
            let (middle, end) = (MidPlane::new(track.z + 0.5 * step), MidPlane::new(track.z + step));
            track = track.step(step, polarity, [&begin, &middle, &end]);
            if !(track.tx.abs() < MAX_SLOPE && track.ty.abs() < MAX_SLOPE && track.x.abs() < MAX_X) {
                return None;
            }
            begin = end;
        }
        Some(track)
    }

    /// Makes one step of the classical Runge-Kutta method, with the field at its beginning, middle and end.
    fn step(self, h: f64, polarity: f64, [begin, middle, end]: [&MidPlane; 3]) -> Self {
        let force = polarity * CURVATURE * self.qop;
        let slope = |plane: &MidPlane, [x, y, tx, ty]: State| {
            let [bx, by, bz] = plane.at(x, y);
            let bend = force * (1.0 + tx * tx + ty * ty).sqrt();
            let (along_x, along_y) = (tx * bx + bz, ty * by + bz);
            [
                tx,
                ty,
                bend * (ty * along_x - (1.0 + tx * tx) * by),
                bend * ((1.0 + ty * ty) * bx - tx * along_y),
            ]
        };
        // Does not use fused multiply-adds: without the instruction, each is a function call that takes longer than the
        // whole line.
        let add = |a: State, b: State, h: f64| std::array::from_fn(|i| a[i] + h * b[i]);
        let start = [self.x, self.y, self.tx, self.ty];
        let one = slope(begin, start);
        let two = slope(middle, add(start, one, 0.5 * h));
        let three = slope(middle, add(start, two, 0.5 * h));
        let four = slope(end, add(start, three, h));
        let sum: State = std::array::from_fn(|i| one[i] + 2.0 * (two[i] + three[i]) + four[i]);
        let [x, y, tx, ty] = add(start, sum, h / 6.0);
        Self { x, y, z: self.z + h, tx, ty, qop: self.qop }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(tx: f64, ty: f64, qop: f64) -> Track {
        Track { x: 0.0, y: 0.0, z: 0.0, tx, ty, qop }
    }

    /// Tracks within the acceptance of the real detectors, with both charges.
    fn tracks() -> impl Iterator<Item = Track> {
        let slopes = [[0.01, 0.01], [-0.1, 0.05], [0.15, -0.1], [0.05, 0.2], [-0.2, -0.02]];
        let momenta = [5.0, -8.0, 20.0, -60.0];
        slopes.into_iter().flat_map(move |[tx, ty]| momenta.map(|p| track(tx, ty, 1.0 / p)))
    }

    #[test]
    fn steps_are_short_enough() {
        for start in tracks() {
            let found = start.to(9400.0, -1.0).unwrap();
            let mut fine = start;
            for _ in 0..9400 {
                fine = fine.to(fine.z + 1.0, -1.0).unwrap();
            }
            assert!(
                (found.x - fine.x).abs() < 0.02 && (found.tx - fine.tx).abs() < 1e-5,
                "{found:?} {fine:?}"
            );
        }
    }

    #[test]
    fn momentum_follows_from_the_change_of_slope() {
        // The matching's parametrisation (Allen, Velo-SciFi matching), inverse MeV.
        for start in tracks() {
            let (velo, scifi) = (start.to(770.0, -1.0).unwrap(), start.to(9410.0, -1.0).unwrap());
            let (tx, txs, ty) = (velo.tx, scifi.tx, velo.ty);
            let c = 1239.407
                + txs * txs * (486.056 + 6.716 * txs * txs)
                + 632.728 * txs * tx
                + ty * ty * (2358.576 - 9256.279 * ty * ty)
                + 241.46 * tx * tx;
            let bend: f64 = txs - tx;
            let p = (c / bend + 42.0486f64.copysign(bend)) / 1000.0;
            assert!((p * start.qop - 1.0).abs() < 0.05, "{p} GeV for {}", 1.0 / start.qop);
        }
    }

    #[test]
    fn lines_cross_where_the_matching_expects() {
        for start in tracks().filter(|start| start.qop.abs() < 0.15) {
            let (velo, scifi) = (start.to(770.0, -1.0).unwrap(), start.to(9410.0, -1.0).unwrap());
            let bend = (velo.tx - scifi.tx).abs();
            let z = 5287.6 - 7.98878 * bend + 317.683 * bend * bend + 0.0119379 * scifi.x.abs()
                - 1418.42 * velo.tx * velo.tx;
            let from_velo = velo.x + velo.tx * (z - 770.0);
            let from_scifi = scifi.x + scifi.tx * (z - 9410.0);
            // The matching allows 20 mm.
            assert!((from_velo - from_scifi).abs() < 15.0, "{} mm at {start:?}", from_velo - from_scifi);
        }
    }

    #[test]
    fn tracks_are_nearly_parabolas_in_the_scifi() {
        let layers = [7826.106, 8035.9048, 8508.1064, 8717.9043, 9193.1064, 9402.9043];
        for start in tracks() {
            let at = |z: f64| start.to(z, -1.0).unwrap().x;
            // The cubic part grows away from the middle (Allen, Looking Forward).
            let middle = start.to(8520.0, -1.0).unwrap();
            let r2 = 25e-8 * middle.x * middle.x + 1e-6 * middle.y * middle.y;
            let ratio = 2.67957e-4 - 8.651e-6 * r2.sqrt() + 4.60324e-5 * r2;
            let terms = |z: f64| {
                let dz = z - 8520.0;
                [1.0, dz, dz * dz * (1.0 - ratio * dz)]
            };
            // The curve passes through the first, the third and the last layer; the other layers are compared with it.
            let [a, b, c] = [0, 2, 5].map(|i| terms(layers[i]));
            let x = [0, 2, 5].map(|i| at(layers[i]));
            let det = |m: [[f64; 3]; 3]| {
                m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
                    - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
                    + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
            };
            let all = det([a, b, c]);
            let solve = |column: usize| {
                let mut m = [a, b, c];
                (0..3).for_each(|row| m[row][column] = x[row]);
                det(m) / all
            };
            let parameters = [0, 1, 2].map(solve);
            for z in layers {
                let predicted: f64 = terms(z).iter().zip(parameters).map(|(t, p)| t * p).sum();
                // The seeding searches within 0.5 mm; from 8 GeV/c on, the distance of tracks is less than half
                // of this.
                let most = if start.qop.abs() > 0.15 { 0.5 } else { 0.25 };
                assert!((predicted - at(z)).abs() < most, "{} mm at {start:?}", predicted - at(z));
            }
        }
    }

    #[test]
    fn seeds_tell_their_momentum_by_where_they_point() {
        for start in tracks() {
            let p = 1.0 / start.qop;
            // The seeding's momentum, from the line at the end of the SciFi extended to z = 0 (Allen, seed_confirmTracks).
            let end = start.to(9410.0, -1.0).unwrap();
            let x0 = end.x - end.tx * end.z;
            let scale =
                -6.34025 - 4.85287 * end.tx * end.tx - 12.4491 * end.ty * end.ty + 4.25461e-8 * x0 * x0;
            let found = scale * 1e6 / x0 / 1000.0;
            assert!((found / p - 1.0).abs() < 0.08, "{found} GeV for {p}");
            // The momentum of the search, from a line through the first and the last but one layer (Allen, seed_xz).
            let (a, b) = (start.to(7826.106, -1.0).unwrap(), start.to(9193.1064, -1.0).unwrap());
            let slope = (b.x - a.x) / (b.z - a.z);
            let x0 = (a.x - slope * a.z).abs();
            let found = 1.0 / (x0 * (1.6322e-7 - 5.0217e-12 * x0)) / 1000.0;
            assert!((found / p.abs() - 1.0).abs() < 0.12, "{found} GeV for {p}");
        }
    }

    #[test]
    fn the_kick_before_the_ut_tells_the_momentum() {
        // Compass UT: the change of slope up to the middle of the UT, over the field's integral of the tables,
        // interpolated between the two neighbouring slopes ty.
        let tables = peloton::ut::UtTables::nominal();
        for start in tracks().filter(|start| start.tx.abs() < 0.12) {
            let place = (start.ty + 0.3) / 0.02;
            let (below, part) = (place as usize, place.fract() as f32);
            let at = |slope: usize| tables.field_integral[(10 * 11 + 5) * 31 + slope];
            let integral = f64::from(at(below) * (1.0 - part) + at(below + 1) * part);
            let (velo, ut) = (start.to(800.0, -1.0).unwrap(), start.to(2484.6, -1.0).unwrap());
            let sine = |tx: f64| tx * (1.0 + tx * tx).sqrt();
            let qop = (sine(velo.tx) - sine(ut.tx)) * -3.3356e-3 / integral * 1000.0;
            assert!((qop / start.qop - 1.0).abs() < 0.05, "{} GeV for {}", 1.0 / qop, 1.0 / start.qop);
        }
    }
}
