//! The dipole behind the UT as the nominal detector has it: a vertical field that rises and falls smoothly along z,
//! with a weak tail towards the Velo.
//!
//! The numbers are chosen so that what the real systems assume of the field holds: an integral of 4.15 T m between
//! Velo and SciFi (momentum from the change of slope, 1239 MeV), 0.109 T m of it before the UT and the ratios of
//! deflections there (tables of the UT), the bending's middle at 5.29 m (crossing of Velo and SciFi lines), 0.168 T at
//! 8.52 m and there -0.084 % of it per mm (parabolas with a small cubic term in the SciFi).

/// Plateau that is never quite reached, T; middles and widths of the rise and of the fall, mm.
const PLATEAU: f64 = 1.4393;
const RISE: [f64; 2] = [3573.7, 502.4];
const FALL: [f64; 2] = [6408.5, 1044.3];
/// The tail: T, middle and width, mm.
const TAIL: f64 = 0.0275;
const TAIL_Z: [f64; 2] = [927.3, 706.1];

/// The vertical field at z mm, T.
pub fn field(z: f64) -> f64 {
    let edge = |distance: f64| 1.0 / (1.0 + libm::exp(-distance));
    let tail = (z - TAIL_Z[0]) / TAIL_Z[1];
    PLATEAU * edge((z - RISE[0]) / RISE[1]) * edge((FALL[0] - z) / FALL[1]) + TAIL * libm::exp(-tail * tail)
}
