// Velo tracks: the fit; stands behind velo_find.cu.

// A filtered state: position, slopes, the covariance of one projection, chi2 so far.
struct State {
    float x, y, z, tx, ty, xx, xt, tt, chi2;
};

__device__ __forceinline__ State moved(const State& s, float z) {
    const float dz = z - s.z;
    State to = s;
    to.xt = fused(dz, s.tt, s.xt);
    to.xx = fused(dz, s.xt + to.xt, s.xx);
    to.x = fused(dz, s.tx, s.x);
    to.y = fused(dz, s.ty, s.y);
    to.z = z;
    return to;
}

__device__ __forceinline__ void update(const VeloArgs& a, State& s, float x, float y, float z, float noise) {
    s.tt = s.tt + noise;
    const State at = moved(s, z);
    const float inverse = divided(1.0f, at.xx + a.hit_variance);
    const float gain_x = at.xx * inverse, gain_t = at.xt * inverse;
    const float rx = x - at.x, ry = y - at.y;
    s.x = fused(gain_x, rx, at.x);
    s.y = fused(gain_x, ry, at.y);
    s.z = at.z;
    s.tx = fused(gain_t, rx, at.tx);
    s.ty = fused(gain_t, ry, at.ty);
    s.xx = fused(-gain_x, at.xx, at.xx);
    s.xt = fused(-gain_x, at.xt, at.xt);
    s.tt = fused(-gain_t, at.xt, at.tt);
    s.chi2 = fused(fused(rx, rx, ry * ry), inverse, at.chi2);
}

// z of the closest approach of a line to the beam line; a line along the beam stays where it is.
__device__ inline float closest_to_beam(const VeloArgs& a, float x, float y, float z, float tx, float ty) {
    const float slope2 = fused(tx, tx, ty * ty);
    const float along = fused(tx, a.beam_x - x, ty * (a.beam_y - y));
    return z + (slope2 < 1e-12f ? 0.0f : divided(along, larger(slope2, 1e-12f)));
}

__device__ inline void store(const VeloArgs& a, float* to, u32 track, const State& s) {
    const float values[8] = {s.x, s.y, s.z, s.tx, s.ty, s.xx, s.xt, s.tt};
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
    const float tx = dz == 0.0f ? 0.0f : divided(xs[bottom] - xs[top], dz);
    const float ty = dz == 0.0f ? 0.0f : divided(ys[bottom] - ys[top], dz);
    const float noise = fused(fused(tx, tx, ty * ty), a.noise_slope, a.noise_constant);
    const bool backward = zs[top] < closest_to_beam(a, xs[top], ys[top], zs[top], tx, ty);

    State down = {xs[top], ys[top], zs[top], tx, ty, a.hit_variance, 0.0f, 1.0f, 0.0f};
    State up = {xs[bottom], ys[bottom], zs[bottom], tx, ty, a.hit_variance, 0.0f, 1.0f, 0.0f};
    for (u32 i = 1; i <= last; i++) {
        const u32 here = hits[i], there = hits[last - i];
        update(a, down, xs[here], ys[here], zs[here], noise);
        update(a, up, xs[there], ys[there], zs[there], noise);
    }
    const State beam = backward ? up : down;
    const float z = closest_to_beam(a, beam.x, beam.y, beam.z, beam.tx, beam.ty);
    store(a, a.out_beam, track, moved(beam, z));
    store(a, a.out_end, track, moved(up, a.end_z));
    a.out_chi2[track] = same_nan(beam.chi2);
    a.out_backward[track] = backward;
}
