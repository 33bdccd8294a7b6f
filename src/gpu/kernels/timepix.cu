// Pixel clusters by the local definition (src/timepix/reference): sort by time, chunked union-find, joining over
// the borders of chunks, numbering, features. Hits are given by their place in the input until they are sorted.

constexpr u32 CHUNK = 1024;

// Keys of the first sort: the pixel.
KERNEL(pixels_keys, PixelArgs, 256) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.hits) return;
    a.keys[i] = u64(a.x[i]) << 16 | a.y[i];
    a.values[i] = i;
}

// Keys of the second sort: the time.
KERNEL(pixels_time_keys, PixelArgs, 256) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a.hits) a.keys[i] = u64(a.time[a.values[i]]) - a.first_time;
}

KERNEL(pixels_count, PixelArgs, TILE_THREADS) { count_digits(a.keys, a.counts, a.hits, a.shift); }

// `summary[0]` is the sum of all counts.
KERNEL(pixels_sums, PixelArgs, 1024) {
    const u32 sum = sum_counts(a.counts, a.count);
    if (threadIdx.x == 0) a.summary[0] = sum;
}

KERNEL(pixels_scatter, PixelArgs, TILE_THREADS) {
    scatter_digits(a.keys, a.values, a.other_keys, a.other_values, a.counts, a.hits, a.shift);
}

// The columns in order of time.
KERNEL(pixels_gather, PixelArgs, 256) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.hits) return;
    const u32 from = a.values[i];
    a.sorted_time[i] = a.time[from];
    a.sorted_x[i] = a.x[from];
    a.sorted_y[i] = a.y[from];
    a.sorted_tot[i] = a.tot[from];
}

__device__ __forceinline__ bool near(u32 a, u32 b) { return a - b + 1 <= 2; }

// The smallest member of a set.
__device__ __forceinline__ u32 set_of(volatile u32* labels, u32 member) {
    for (u32 above = labels[member]; above != member; above = labels[member]) member = above;
    return member;
}

// Makes one set of two; a label is never larger than its place, so the smallest member stays the root.
__device__ inline void unite(u32* labels, u32 one, u32 other) {
    for (;;) {
        one = set_of(labels, one);
        other = set_of(labels, other);
        if (one == other) return;
        const u32 high = one > other ? one : other, low = one > other ? other : one;
        const u32 was = atomicMin(&labels[high], low);
        if (was == high) return;
        // Somebody else was faster: what was there must be one set with the other one, too.
        one = was;
        other = low;
    }
}

// Links the hits of a chunk in shared memory. One block a chunk.
KERNEL(pixels_link, PixelArgs, 256) {
    __shared__ i64 time[CHUNK];
    __shared__ u16 x[CHUNK], y[CHUNK];
    __shared__ u32 labels[CHUNK];
    const u32 begin = blockIdx.x * CHUNK, count = a.hits - begin < CHUNK ? a.hits - begin : CHUNK;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
        time[i] = a.sorted_time[begin + i];
        x[i] = a.sorted_x[begin + i];
        y[i] = a.sorted_y[begin + i];
        labels[i] = i;
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < count; i += blockDim.x)
        for (u32 other = i; other-- > 0 && u64(time[i]) - u64(time[other]) <= a.window;)
            if (near(x[i], x[other]) && near(y[i], y[other])) unite(labels, i, other);
    __syncthreads();
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) a.labels[begin + i] = begin + set_of(labels, i);
    if (threadIdx.x == 0 && blockIdx.x == 0) a.summary[1] = 0;
}

// Links hits at the beginning of a chunk with those before it. One block a border.
KERNEL(pixels_join, PixelArgs, 64) {
    const u32 begin = (blockIdx.x + 1) * CHUNK, end = begin + CHUNK < a.hits ? begin + CHUNK : a.hits;
    for (u32 i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const u64 now = a.sorted_time[i];
        u32 looked_at = 0;
        for (u32 other = begin; other-- > 0 && now - u64(a.sorted_time[other]) <= a.window;) {
            if (++looked_at > a.most_in_window) {
                a.summary[1] = 1;
                break;
            }
            if (near(a.sorted_x[i], a.sorted_x[other]) && near(a.sorted_y[i], a.sorted_y[other]))
                unite(a.labels, i, other);
        }
    }
}

// Points every hit to the first one of its cluster, and counts these. One block a tile.
KERNEL(pixels_roots, PixelArgs, 256) {
    const u32 begin = blockIdx.x * TILE, end = begin + TILE < a.hits ? begin + TILE : a.hits;
    u32 roots = 0;
    for (u32 i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const u32 root = set_of(a.labels, i);
        a.labels[i] = root;
        roots += root == i;
    }
    u32 total;
    sum_before(roots, total);
    if (threadIdx.x == 0) a.counts[blockIdx.x] = total;
}

// Numbers the clusters in the order of their first hits. One block a tile.
KERNEL(pixels_number, PixelArgs, 256) {
    const u32 begin = blockIdx.x * TILE, end = begin + TILE < a.hits ? begin + TILE : a.hits;
    u32 number = a.counts[blockIdx.x];
    for (u32 from = begin; from < end; from += blockDim.x) {
        const u32 i = from + threadIdx.x;
        const bool is_root = i < end && a.labels[i] == i;
        u32 total;
        const u32 before = sum_before(is_root, total);
        if (is_root) a.numbers[i] = number + before;
        number += total;
    }
}

// Keys of the third sort: the number of the cluster.
KERNEL(pixels_cluster_keys, PixelArgs, 256) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.hits) return;
    a.keys[i] = a.numbers[a.labels[i]];
    a.values[i] = i;
}

// Writes the hits cluster by cluster, and where each cluster ends.
KERNEL(pixels_write, PixelArgs, 256) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.hits) return;
    const u32 from = a.values[i];
    a.out_time[i] = a.sorted_time[from];
    a.out_x[i] = a.sorted_x[from];
    a.out_y[i] = a.sorted_y[from];
    a.out_tot[i] = a.sorted_tot[from];
    if (i + 1 == a.hits || a.keys[i + 1] != a.keys[i]) a.out_end[a.keys[i]] = i + 1;
}

__device__ __forceinline__ u32 lower(u32 a, u32 b) { return a < b ? a : b; }
__device__ __forceinline__ u32 higher(u32 a, u32 b) { return a > b ? a : b; }

// Energy of a hit, eV, as src/timepix/calibrate has it; 0 without a calibration.
__device__ inline u32 energy_of(const PixelArgs& a, u32 x, u32 y, u32 tot) {
    const u64 pixel = u64(y) * a.width + x;
    if (x >= a.width || pixel >= a.pixels) return 0;
    const float* of = a.calibration + 4 * pixel;
    const float v = float(tot) * of[0] + of[1];
    const float energy = of[2] + (v + copysignf(root(v * v + of[3]), of[0]));
    // Not a number where the root fails or a pixel makes no sense: then the comparison does not hold.
    const float sane = energy > 0.1f ? energy : 0.1f;
    const float scaled = sane * 1000.0f + 0.5f;
    return u32(scaled < 1e9f ? scaled : 1e9f);
}

// What a cluster looks like: sums of whole numbers, then the operations of src/timepix/features. One thread a
// cluster.
KERNEL(pixels_features, PixelArgs, 64) {
    const u32 cluster = blockIdx.x * blockDim.x + threadIdx.x;
    if (cluster >= a.clusters) return;
    const u32 begin = cluster == 0 ? 0 : a.out_end[cluster - 1], end = a.out_end[cluster];
    const i64 x0 = a.out_x[begin], y0 = a.out_y[begin];
    u64 tot = 0, energy = 0;
    u32 height = 0, low_x = 0xffff, low_y = 0xffff, high_x = 0, high_y = 0;
    i64 sum_x = 0, sum_y = 0, sum_xx = 0, sum_yy = 0, sum_xy = 0, weighted_x = 0, weighted_y = 0;
    for (u32 i = begin; i < end; i++) {
        const u32 x = a.out_x[i], y = a.out_y[i], own = a.out_tot[i];
        const i64 dx = i64(x) - x0, dy = i64(y) - y0;
        tot += own;
        energy += energy_of(a, x, y, own);
        height = higher(height, own);
        low_x = lower(low_x, x), high_x = higher(high_x, x);
        low_y = lower(low_y, y), high_y = higher(high_y, y);
        sum_x += dx, sum_y += dy;
        sum_xx += dx * dx, sum_yy += dy * dy, sum_xy += dx * dy;
        weighted_x += i64(own) * dx, weighted_y += i64(own) * dy;
    }
    const u64 duration = u64(a.out_time[end - 1]) - u64(a.out_time[begin]);
    a.out_first[cluster] = a.out_time[begin];
    a.out_duration[cluster] = duration < 0xffffffffull ? u32(duration) : 0xffffffffu;
    a.out_sum[cluster] = tot < 0xffffffffull ? u32(tot) : 0xffffffffu;
    a.out_height[cluster] = u16(height);
    a.out_energy[cluster] = energy;
    const u32 bounds[4] = {low_x, low_y, high_x, high_y};
    for (u32 i = 0; i < 4; i++) a.out_bounds[i * a.out_stride + cluster] = u16(bounds[i]);

    const double n = double(end - begin), x = double(sum_x), y = double(sum_y);
    // Without any weight all pixels are alike.
    const double weight = tot > 0 ? double(tot) : n;
    const double wx = tot > 0 ? double(weighted_x) : x, wy = tot > 0 ? double(weighted_y) : y;
    const double xx = n * double(sum_xx) - x * x, yy = n * double(sum_yy) - y * y, xy = n * double(sum_xy) - x * y;
    const double scale = __ddiv_rn(1.0, n * n);
    const double difference = xx - yy, sum = xx + yy;
    const double root = __dsqrt_rn(difference * difference + 4.0 * (xy * xy));
    const double rest = sum - root > 0.0 ? sum - root : 0.0;
    const double along = 6.0 * (sum + root) * scale + 1.0, across = 6.0 * rest * scale + 1.0;
    const double round = __ddiv_rn(n, 0.785398163397448309615660845819875721 * along);
    const float values[8] = {
        float(double(x0) + __ddiv_rn(wx, weight)), float(double(y0) + __ddiv_rn(wy, weight)),
        float(double(x0) + __ddiv_rn(x, n)), float(double(y0) + __ddiv_rn(y, n)),
        float(__dsqrt_rn(along)), float(__dsqrt_rn(across)),
        sum > 0.0 ? float(__ddiv_rn(root, sum)) : 0.0f, float(round < 1.0 ? round : 1.0),
    };
    for (u32 i = 0; i < 8; i++) a.out_floats[i * a.out_stride + cluster] = values[i];
}
