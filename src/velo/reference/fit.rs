//! Naive straight-line Kalman fit of one track.

use super::max;
use crate::event::{States, VeloEvent, VeloTracks};
use crate::velo::config::FitConfig;

/// A filtered state: position, slopes, the covariance of one projection, chi2 so far.
#[derive(Clone, Copy)]
struct State {
    x: f32,
    y: f32,
    z: f32,
    tx: f32,
    ty: f32,
    xx: f32,
    xt: f32,
    tt: f32,
    chi2: f32,
}

impl State {
    /// The filter run over hits in the order given.
    fn filter(
        config: &FitConfig,
        [tx, ty]: [f32; 2],
        noise: f32,
        mut hits: impl Iterator<Item = [f32; 3]>,
    ) -> Self {
        let [x, y, z] = hits.next().expect("a track has hits");
        let variance = 1.0 / config.weight;
        let mut state = Self { x, y, z, tx, ty, xx: variance, xt: 0.0, tt: 1.0, chi2: 0.0 };
        for hit in hits {
            let at = Self { tt: state.tt + noise, ..state }.moved_to(hit[2]);
            let inverse = 1.0 / (at.xx + variance);
            let (gain_x, gain_t) = (at.xx * inverse, at.xt * inverse);
            let (rx, ry) = (hit[0] - at.x, hit[1] - at.y);
            state = Self {
                x: gain_x.mul_add(rx, at.x),
                y: gain_x.mul_add(ry, at.y),
                z: at.z,
                tx: gain_t.mul_add(rx, at.tx),
                ty: gain_t.mul_add(ry, at.ty),
                xx: (-gain_x).mul_add(at.xx, at.xx),
                xt: (-gain_x).mul_add(at.xt, at.xt),
                tt: (-gain_t).mul_add(at.xt, at.tt),
                chi2: rx.mul_add(rx, ry * ry).mul_add(inverse, at.chi2),
            };
        }
        state
    }

    fn moved_to(self, z: f32) -> Self {
        let dz = z - self.z;
        let xt = dz.mul_add(self.tt, self.xt);
        let xx = dz.mul_add(self.xt + xt, self.xx);
        Self { x: dz.mul_add(self.tx, self.x), y: dz.mul_add(self.ty, self.y), z, xx, xt, ..self }
    }

    fn append_to(self, states: &mut States) {
        let values = [self.x, self.y, self.z, self.tx, self.ty, self.xx, self.xt, self.tt];
        for (column, value) in states.columns_mut().into_iter().zip(values) {
            column.push(same_nan(value));
        }
    }
}

/// One NaN for all NaNs: sign and payload of a computed one depend on the machine.
fn same_nan(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value }
}

/// z of the closest approach of a line to the beam line; a line along the beam stays where it is.
fn closest_to_beam(config: &FitConfig, [x, y, z]: [f32; 3], [tx, ty]: [f32; 2]) -> f32 {
    let slope2 = tx.mul_add(tx, ty * ty);
    let along = tx.mul_add(config.beam_x - x, ty * (config.beam_y - y));
    z + if slope2 < 1e-12 { 0.0 } else { along / max(slope2, 1e-12) }
}

/// Fits a track, whose hits are places in the event's columns, and appends it to `out`.
pub(super) fn fit(config: &FitConfig, event: &VeloEvent<'_>, track: &[usize], out: &mut VeloTracks) {
    let hits: Vec<_> = track.iter().map(|&hit| [event.x[hit], event.y[hit], event.z[hit]]).collect();
    let (top, bottom) = (hits[0], hits[hits.len() - 1]);
    let dz = bottom[2] - top[2];
    let slope = |i: usize| if dz == 0.0 { 0.0 } else { (bottom[i] - top[i]) / dz };
    let slopes = [slope(0), slope(1)];
    let slope2 = slopes[0].mul_add(slopes[0], slopes[1] * slopes[1]);
    let noise = slope2.mul_add(config.noise_slope, config.noise_constant);
    let backward = top[2] < closest_to_beam(config, top, slopes);

    let down = State::filter(config, slopes, noise, hits.iter().copied());
    let up = State::filter(config, slopes, noise, hits.iter().rev().copied());
    let beam = if backward { up } else { down };
    let z = closest_to_beam(config, [beam.x, beam.y, beam.z], [beam.tx, beam.ty]);
    beam.moved_to(z).append_to(&mut out.beam);
    up.moved_to(config.end_z).append_to(&mut out.end);
    out.chi2.push(same_nan(beam.chi2));
    out.backward.push(u8::from(backward));
    track.iter().for_each(|&hit| out.hits.push(event.id[hit]));
    out.hit_start.push(out.hits.len() as u32);
}
