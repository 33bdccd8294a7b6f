// Pixel clusters by the local definition (src/timepix/reference): sort by time, chunked union-find, joining over
// the borders of chunks, numbering, features. Hits are given by their place in the input until they are sorted.

constexpr u32 CHUNK = 1024;

// Keys of the first sort: the pixel, in as many bits as x and y have.
KERNEL(pixels_keys, PixelArgs, 256) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.hits) return;
    a.keys[i] = u64(a.x[i]) << a.y_bits | a.y[i];
    a.values[i] = i;
}

// Keys of the second sort: the time.
KERNEL(pixels_time_keys, PixelArgs, 256) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a.hits) a.keys[i] = u64(a.time[a.values[i]]) - a.first_time;
}

KERNEL(pixels_count, PixelArgs, TILE_THREADS) { count_digits(a.keys, a.counts, a.hits, a.shift); }

KERNEL(pixels_stretches, PixelArgs, TILE_THREADS) { sum_stretch(a.counts, a.sums, a.count); }

KERNEL(pixels_sums, PixelArgs, TILE_THREADS) { sums_before(a.counts, a.sums, a.count); }

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
}

// Slots of a table of a chunk's pixels.
constexpr u32 SLOTS = 2 * CHUNK;

__device__ __forceinline__ u32 slot_of(u32 pixel) { return pixel * 2654435769u >> 16 & (SLOTS - 1); }

// Links hits of a chunk with those before it. Of the hits of one pixel the first one of the chunk is enough: it comes no later after
// what is before the chunk, and the others of its pixel are linked with it if they are near enough. So the chunk's first hit of
// each pixel goes into a table, where all hits before the chunk that may reach it look up their neighbours. One block a border.
KERNEL(pixels_join, PixelArgs, 128) {
    __shared__ u32 slots[SLOTS], pixels[CHUNK];
    const u32 begin = (blockIdx.x + 1) * CHUNK, count = a.hits - begin < CHUNK ? a.hits - begin : CHUNK;
    const u64 first = a.sorted_time[begin], last = a.sorted_time[begin - 1];
    if (first - last > a.window) return;
    for (u32 slot = threadIdx.x; slot < SLOTS; slot += blockDim.x) slots[slot] = NONE;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x)
        pixels[i] = u32(a.sorted_x[begin + i]) << 16 | a.sorted_y[begin + i];
    __syncthreads();
    for (u32 i = threadIdx.x; i < count && u64(a.sorted_time[begin + i]) - last <= a.window; i += blockDim.x) {
        for (u32 slot = slot_of(pixels[i]);; slot = (slot + 1) % SLOTS) {
            const u32 there = atomicCAS(&slots[slot], NONE, i);
            if (there == NONE) break;
            if (pixels[there] != pixels[i]) continue;
            atomicMin(&slots[slot], i);
            break;
        }
    }
    __syncthreads();
    for (u32 back = threadIdx.x; back < begin; back += blockDim.x) {
        const u32 other = begin - 1 - back, x = a.sorted_x[other], y = a.sorted_y[other];
        const u64 time = a.sorted_time[other];
        if (first - time > a.window) break;
        for (u32 near_x = x > 0 ? x - 1 : 0; near_x <= x + 1 && near_x < 0x10000; near_x++)
            for (u32 near_y = y > 0 ? y - 1 : 0; near_y <= y + 1 && near_y < 0x10000; near_y++) {
                const u32 pixel = near_x << 16 | near_y;
                for (u32 slot = slot_of(pixel); slots[slot] != NONE; slot = (slot + 1) % SLOTS) {
                    const u32 i = slots[slot];
                    if (pixels[i] != pixel) continue;
                    if (u64(a.sorted_time[begin + i]) - time <= a.window) unite(a.labels, begin + i, other);
                    break;
                }
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
    if (threadIdx.x == 0 && blockIdx.x == 0) a.summary[1] = NONE64;
}

// Numbers the clusters in the order of their first hits; `summary[0]` is how many there are. One block a tile.
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
    if (threadIdx.x == 0 && blockIdx.x + 1 == gridDim.x) a.summary[0] = number;
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

// Sums over hits of a cluster, places counted from the first one: whole numbers, so that it does not matter who adds which.
struct Sums {
    u64 tot, energy;
    u32 height, low_x, low_y, high_x, high_y;
    i64 x, y, xx, yy, xy, weighted_x, weighted_y;
};

__device__ __forceinline__ Sums sums_of_none() { return {0, 0, 0, 0xffff, 0xffff, 0, 0, 0, 0, 0, 0, 0, 0, 0}; }

__device__ inline void add_hit(const PixelArgs& a, u32 i, u32 first, Sums& sums) {
    const u32 x = a.out_x[i], y = a.out_y[i], own = a.out_tot[i];
    const i64 dx = i64(x) - a.out_x[first], dy = i64(y) - a.out_y[first];
    sums.tot += own;
    sums.energy += energy_of(a, x, y, own);
    sums.height = higher(sums.height, own);
    sums.low_x = lower(sums.low_x, x), sums.high_x = higher(sums.high_x, x);
    sums.low_y = lower(sums.low_y, y), sums.high_y = higher(sums.high_y, y);
    sums.x += dx, sums.y += dy;
    sums.xx += dx * dx, sums.yy += dy * dy, sums.xy += dx * dy;
    sums.weighted_x += i64(own) * dx, sums.weighted_y += i64(own) * dy;
}

// Adds up what the lanes of a warp have; every lane has the result.
__device__ inline void add_lanes(Sums& sums) {
    for (u32 with = 1; with < 32; with *= 2) {
        sums.tot += __shfl_xor_sync(~0u, sums.tot, with);
        sums.energy += __shfl_xor_sync(~0u, sums.energy, with);
        sums.height = higher(sums.height, __shfl_xor_sync(~0u, sums.height, with));
        sums.low_x = lower(sums.low_x, __shfl_xor_sync(~0u, sums.low_x, with));
        sums.low_y = lower(sums.low_y, __shfl_xor_sync(~0u, sums.low_y, with));
        sums.high_x = higher(sums.high_x, __shfl_xor_sync(~0u, sums.high_x, with));
        sums.high_y = higher(sums.high_y, __shfl_xor_sync(~0u, sums.high_y, with));
        sums.x += __shfl_xor_sync(~0u, sums.x, with);
        sums.y += __shfl_xor_sync(~0u, sums.y, with);
        sums.xx += __shfl_xor_sync(~0u, sums.xx, with);
        sums.yy += __shfl_xor_sync(~0u, sums.yy, with);
        sums.xy += __shfl_xor_sync(~0u, sums.xy, with);
        sums.weighted_x += __shfl_xor_sync(~0u, sums.weighted_x, with);
        sums.weighted_y += __shfl_xor_sync(~0u, sums.weighted_y, with);
    }
}

// Hits of a cluster that one thread adds up at most; larger ones are the whole warp's work.
constexpr u32 FEW = 32;

// What a cluster looks like: sums of whole numbers, then the operations of src/timepix/features. One thread a
// cluster.
KERNEL(pixels_features, PixelArgs, 64) {
    const u32 clusters = u32(a.summary[0]), cluster = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const bool there = cluster < clusters;
    const u32 begin = there && cluster > 0 ? a.out_end[cluster - 1] : 0, end = there ? a.out_end[cluster] : 0;
    Sums sums = sums_of_none();
    for (u32 i = begin; i < end && end - begin <= FEW; i++) add_hit(a, i, begin, sums);
    for (u32 large = __ballot_sync(~0u, end - begin > FEW); large != 0; large &= large - 1) {
        const u32 owner = 31 - __clz(large & (0 - large));
        const u32 first = __shfl_sync(~0u, begin, owner), last = __shfl_sync(~0u, end, owner);
        Sums part = sums_of_none();
        for (u32 i = first + lane; i < last; i += 32) add_hit(a, i, first, part);
        add_lanes(part);
        if (lane == owner) sums = part;
    }
    if (!there) return;
    // The first cluster that may still grow, and its first hit.
    if (a.out_time[end - 1] >= a.reach) atomicMin(&a.summary[1], u64(cluster) << 32 | begin);
    const u64 duration = u64(a.out_time[end - 1]) - u64(a.out_time[begin]);
    a.out_first[cluster] = a.out_time[begin];
    a.out_duration[cluster] = duration < 0xffffffffull ? u32(duration) : 0xffffffffu;
    a.out_sum[cluster] = sums.tot < 0xffffffffull ? u32(sums.tot) : 0xffffffffu;
    a.out_height[cluster] = u16(sums.height);
    a.out_energy[cluster] = sums.energy;
    const u32 bounds[4] = {sums.low_x, sums.low_y, sums.high_x, sums.high_y};
    for (u32 i = 0; i < 4; i++) a.out_bounds[i * a.out_stride + cluster] = u16(bounds[i]);

    const double x0 = a.out_x[begin], y0 = a.out_y[begin];
    const double n = double(end - begin), x = double(sums.x), y = double(sums.y);
    // Without any weight all pixels are alike.
    const double weight = sums.tot > 0 ? double(sums.tot) : n;
    const double wx = sums.tot > 0 ? double(sums.weighted_x) : x, wy = sums.tot > 0 ? double(sums.weighted_y) : y;
    const double xx = n * double(sums.xx) - x * x, yy = n * double(sums.yy) - y * y, xy = n * double(sums.xy) - x * y;
    const double scale = __ddiv_rn(1.0, n * n);
    const double difference = xx - yy, sum = xx + yy;
    const double root = __dsqrt_rn(difference * difference + 4.0 * (xy * xy));
    const double rest = sum - root > 0.0 ? sum - root : 0.0;
    const double along = 6.0 * (sum + root) * scale + 1.0, across = 6.0 * rest * scale + 1.0;
    const double round = __ddiv_rn(n, 0.785398163397448309615660845819875721 * along);
    const float values[8] = {
        float(x0 + __ddiv_rn(wx, weight)), float(y0 + __ddiv_rn(wy, weight)),
        float(x0 + __ddiv_rn(x, n)), float(y0 + __ddiv_rn(y, n)),
        float(__dsqrt_rn(along)), float(__dsqrt_rn(across)),
        sum > 0.0 ? float(__ddiv_rn(root, sum)) : 0.0f, float(round < 1.0 ? round : 1.0),
    };
    for (u32 i = 0; i < 8; i++) a.out_floats[i * a.out_stride + cluster] = values[i];
}
