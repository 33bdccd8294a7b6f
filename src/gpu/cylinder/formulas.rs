//! The formulas of `kalman` and `cylinder` that the kernels call, recorded from the CPU's own code.

use crate::cylinder::build::search::distance;
use crate::cylinder::build::take_record;
use crate::cylinder::hit::{Follow, has_errors, is_usable, polar};
use crate::cylinder::seeds::start;
use crate::gpu::trace::{Outputs, Traced, float, function, yes};
use crate::kalman::matriplex::{Symmetric, packed};
use crate::kalman::{CylinderHit, CylinderState, from_three_hits, from_vertex, step, to_radius, within_turn};
use crate::simd::varying::F32;

/// The types of the formulas.
const TYPES: &str = "
// A hit of a cylinder: azimuth, z, and their variances.
struct alignas(16) Record {
    float phi, z, var_phi, var_z;
};

// A track on a cylinder: its radius, five parameters, the lower triangle of their covariance.
struct Helix {
    float radius, p[5], c[15];
};

";

/// The types and formulas in C++.
pub(super) fn text() -> String {
    let mut text = String::from(TYPES);
    text.push_str(&function(
        "polar(float x, float y, float z, float var_rphi, float var_z, Record& hit, float& radius, bool& usable, \
         bool& measured)",
        |g, out| {
            let [x, y, z, var_rphi, var_z] = ["x", "y", "z", "var_rphi", "var_z"].map(float);
            let hit = polar(g, [x, y, z], var_rphi, var_z);
            write_hit(out, &hit);
            out.yes("usable", is_usable(g, &hit));
            out.yes("measured", has_errors(g, [var_rphi, var_z]));
        },
    ));
    text.push_str(&function("within_turn(float& angle)", |g, out| {
        out.float("angle", within_turn(g, float("angle")));
    }));
    text.push_str(&function(
        "leave(const float (&vertex)[6], bool published, const float (&prior)[6], float field, const Record& hit, float radius, bool has, Helix& helix, \
         bool& reached, bool& measured, float& chi2)",
        |g, out| {
            let vertex = std::array::from_fn(|i| float(&format!("vertex[{i}]")));
            let prior = std::array::from_fn(|i| float(&format!("prior[{i}]")));
            let (start, has) = (start(g, vertex, yes("published"), prior), yes("has"));
            let started = from_vertex(g, &start, float("field"), &hit(), has);
            write_follow(out, &Follow::behind_first(g, started, has, 0.0));
        },
    ));
    text.push_str(&function(
        "to_radius(Helix& helix, float field, float radius, bool& reached)",
        |g, out| {
            let mut state = helix(g);
            out.yes("reached", to_radius(g, &mut state, float("field"), float("radius")));
            write_helix(out, &state);
        },
    ));
    text.push_str(&function("take_record(Helix& helix, const Record& hit, bool has)", |g, out| {
        let mut state = helix(g);
        take_record(g, &mut state, record(), yes("has"));
        write_helix(out, &state);
    }));
    text.push_str(&function("distance(const Helix& helix, const Record& hit, float& chi2)", |g, out| {
        let state = helix(g);
        let covariance = [state.c.at(0, 0), state.c.at(1, 0), state.c.at(1, 1)];
        out.float("chi2", distance(g, [state.p[0], state.p[1]], covariance, record()));
    }));
    text.push_str(&function(
        "follow(Helix& helix, float field, const Record& hit, float radius, bool has, bool& reached, \
         bool& measured, float& chi2)",
        |g, out| {
            let mut follow = following(g);
            follow.take(g, float("field"), &hit(), yes("has"));
            write_follow(out, &follow);
        },
    ));
    text.push_str(&function(
        "fit_start(const float (&hits)[3][3], float field, const float (&prior)[5], Helix& helix, bool& reached)",
        |g, out| {
            let value = |i: usize, j: usize| float(&format!("hits[{i}][{j}]"));
            let hits = std::array::from_fn(|i| std::array::from_fn(|j| value(i, j)));
            let prior = std::array::from_fn(|i| float(&format!("prior[{i}]")));
            let (field, last_radius) = (float("field"), value(2, 2));
            let mut state = from_three_hits(g, hits, field, prior);
            let outer = step(g, &state, field, last_radius);
            (state.p, state.c, state.radius) = (outer.p, Symmetric::diagonal(g, prior), last_radius);
            write_helix(out, &state);
            out.yes("reached", outer.reached);
        },
    ));
    text.push_str(&function(
        "finish(const Helix& helix, bool reached, bool measured, float chi2, Helix& written, u32& status)",
        |g, out| {
            let (state, status) = following(g).finish(g);
            for i in 0..5 {
                out.float(&format!("written.p[{i}]"), state.p[i]);
                for j in 0..=i {
                    out.float(&format!("written.c[{}]", packed(i) + j), state.c.at(i, j));
                }
            }
            out.float("written.radius", float("helix.radius"));
            out.whole("status", status);
        },
    ));
    text
}

fn record() -> [F32<Traced>; 4] {
    ["phi", "z", "var_phi", "var_z"].map(|field| float(&format!("hit.{field}")))
}

fn helix(g: Traced) -> CylinderState<Traced> {
    let mut c = Symmetric::splat(g, 0.0);
    for i in 0..5 {
        for j in 0..=i {
            c.set(i, j, float(&format!("helix.c[{}]", packed(i) + j)));
        }
    }
    let p = std::array::from_fn(|i| float(&format!("helix.p[{i}]")));
    CylinderState { radius: float("helix.radius"), p, c }
}

fn following(g: Traced) -> Follow<Traced> {
    let mut follow = Follow::inwards(g, helix(g), yes("reached"), 0.0);
    (follow.measured, follow.chi2) = (yes("measured"), float("chi2"));
    follow
}

fn hit() -> CylinderHit<Traced> {
    let [phi, z, var_phi, var_z] = record();
    CylinderHit { position: [phi, z], variance: [var_phi, var_z], radius: float("radius") }
}

fn write_follow(out: &mut Outputs, follow: &Follow<Traced>) {
    write_helix(out, &follow.state);
    out.yes("reached", follow.reached);
    out.yes("measured", follow.measured);
    out.float("chi2", follow.chi2);
}

fn write_helix(out: &mut Outputs, state: &CylinderState<Traced>) {
    out.float("helix.radius", state.radius);
    for i in 0..5 {
        out.float(&format!("helix.p[{i}]"), state.p[i]);
        for j in 0..=i {
            out.float(&format!("helix.c[{}]", packed(i) + j), state.c.at(i, j));
        }
    }
}

fn write_hit(out: &mut Outputs, hit: &CylinderHit<Traced>) {
    let CylinderHit { position: [phi, z], variance: [var_phi, var_z], radius } = *hit;
    for (name, value) in [("phi", phi), ("z", z), ("var_phi", var_phi), ("var_z", var_z)] {
        out.float(&format!("hit.{name}"), value);
    }
    out.float("radius", radius);
}
