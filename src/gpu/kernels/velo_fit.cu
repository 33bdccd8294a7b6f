// Velo tracks: the fit; stands behind velo_order.cu.

// A filtered state: position, less that of the last hit; slopes, less those that all are counted from; the covariance of
// one projection, chi2 so far; covariances and chi2 in units of the hits' variance, as in velo/fit.rs.
struct State {
    float x, y, tx, ty, xx_and_hit, xt, tt, chi2;
};

// A point and the slopes of a line through it.
struct FittedLine {
    float x, y, z, tx, ty;
};

// How far off a hit was: its squared distance over the variance of that, and the share of the slope in it.
struct Surprise {
    float square, share;
};

__device__ __forceinline__ Surprise update(State& s, float x, float y, float dz, float noise) {
    const float tt = s.tt + noise;
    const float before = fused(dz, s.xt, s.xx_and_hit);
    const float xt = fused(dz, tt, s.xt);
    const float inverse = divided(1.0f, fused(dz, xt, before));
    const float keep = before * inverse, gain = xt * inverse;
    const float dx = x - s.x, dy = y - s.y;
    const float rx = fused(-dz, s.tx, dx), ry = fused(-dz, s.ty, dy);
    s.x = -(inverse * rx);
    s.y = -(inverse * ry);
    s.tx = fused(gain, dx, keep * s.tx);
    s.ty = fused(gain, dy, keep * s.ty);
    s.tt = fused(-s.xt, s.xt, tt * s.xx_and_hit) * inverse;
    s.xx_and_hit = 2.0f - inverse;
    s.xt = gain;
    const float square = fused(rx, rx, ry * ry);
    s.chi2 = fused(square, inverse, s.chi2);
    return {square * inverse, 1.0f - keep};
}

// The variance of scattering after a hit has shown how far off it was.
__device__ __forceinline__ float next_noise(const VeloArgs& a, float noise, Surprise hit) {
    const float gain = larger(hit.share, 0.0f) * a.noise_gain;
    const float growth = fused(gain, smaller(hit.square, a.noise_largest) - a.noise_usual, 1.0f);
    return smaller(noise * growth, a.hit_weight);
}

// z of the closest approach of a line to the beam line; a line along the beam stays where it is.
__device__ inline float closest_to_beam(const VeloArgs& a, float x, float y, float z, float tx, float ty) {
    const float slope2 = fused(tx, tx, ty * ty);
    const float along = fused(tx, a.beam_x - x, ty * (a.beam_y - y));
    return z + (slope2 < 1e-12f ? 0.0f : divided(along, larger(slope2, 1e-12f)));
}

// Writes the state, whose line is given, moved to `z`.
__device__ inline void store(const VeloArgs& a, float* to, u32 track, const State& s, const FittedLine& l, float z) {
    const float dz = z - l.z;
    const float xt = fused(dz, s.tt, s.xt);
    const float xx = fused(dz, s.xt + xt, s.xx_and_hit - 1.0f);
    const float values[8] = {fused(dz, l.tx, l.x), fused(dz, l.ty, l.y), z, l.tx, l.ty,
                             xx * a.xx_variance,   xt * a.hit_variance, s.tt * a.hit_variance};
    for (u32 i = 0; i < 8; i++) to[i * a.out_stride + track] = same_nan(values[i]);
}

// Fits the tracks, one thread each.
KERNEL(velo_fit, VeloArgs, 64) {
    const u32 track = blockIdx.x * blockDim.x + threadIdx.x;
    if (track >= a.summary[0]) return;
    const u32 number = a.row_of_track[track];
    const u32 first = a.module_start[MODULES * a.event_of_track[track]] - a.module_start[0];
    const u32* hits = a.row_hits + u64(number) * ROW;
    const u32 last = a.row[number].hits - 1;
    const float *xs = a.x + first, *ys = a.y + first, *zs = a.z + first;
    const u32 top = hits[0], bottom = hits[last];
    const float dz = zs[bottom] - zs[top];
    const bool flat = absolute(dz) < a.min_length;
    const float tx = flat ? 0.0f : divided(xs[bottom] - xs[top], dz);
    const float ty = flat ? 0.0f : divided(ys[bottom] - ys[top], dz);
    const float slope2 = fused(tx, tx, ty * ty);
    float noise = fused(slope2, fused(root(slope2), a.noise_steep, a.noise_slope), a.noise_constant);
    const bool backward = zs[top] < closest_to_beam(a, xs[top], ys[top], zs[top], tx, ty);

    // Slopes are counted from those of the ends, unless these are no track's.
    const bool usual = slope2 < a.max_slope2;
    const float line_x = usual ? tx : 0.0f, line_y = usual ? ty : 0.0f;
    State down = {0.0f, 0.0f, usual ? 0.0f : tx, usual ? 0.0f : ty, 2.0f, 0.0f, a.hit_weight, 0.0f};
    State up = down;
    // From the fourth hit on each tells how much the track scatters; the way up begins with what the way down learned.
    // A hit changes the noise from the next but one on.
    float known = noise;
    for (u32 i = 1; i <= last; i++) {
        const u32 from = hits[i - 1], to = hits[i];
        const float dz = zs[to] - zs[from];
        const float x = fused(-dz, line_x, xs[to] - xs[from]), y = fused(-dz, line_y, ys[to] - ys[from]);
        const Surprise hit = update(down, x, y, dz, known);
        known = noise;
        if (a.noise_gain > 0.0f && i >= 3) noise = next_noise(a, noise, hit);
    }
    known = noise;
    for (u32 i = 1; i <= last; i++) {
        const u32 from = hits[last - i], to = hits[last - i + 1];
        const float dz = zs[to] - zs[from];
        const float x = fused(-dz, line_x, xs[to] - xs[from]), y = fused(-dz, line_y, ys[to] - ys[from]);
        const Surprise hit = update(up, -x, -y, -dz, known);
        known = noise;
        if (a.noise_gain > 0.0f && i >= 3) noise = next_noise(a, noise, hit);
    }
    State beam = backward ? up : down;
    const u32 here = backward ? top : bottom;
    beam.tt += noise * a.noise_beam;
    const FittedLine at_top = {xs[top] + up.x, ys[top] + up.y, zs[top], line_x + up.tx, line_y + up.ty};
    const FittedLine at_beam = {xs[here] + beam.x, ys[here] + beam.y, zs[here], line_x + beam.tx, line_y + beam.ty};
    up.tt += noise * a.noise_end;
    const float z = closest_to_beam(a, at_beam.x, at_beam.y, at_beam.z, at_beam.tx, at_beam.ty);
    store(a, a.out_beam, track, beam, at_beam, z);
    store(a, a.out_end, track, up, at_top, a.end_z);
    a.out_chi2[track] = same_nan(beam.chi2 * a.hit_weight);
    a.out_backward[track] = backward;
}
