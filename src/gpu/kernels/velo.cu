// Velo tracks, preset `best`: the algorithm of src/velo/reference, in which every operation on floats has its
// twin here. One block an event (sorting: one an event and pair); what threads do side by side is independent by
// the algorithm, and where one of several has to win, the smallest key wins, whoever comes first.
//
// Places of hits are counted from the event's first hit. A pair's hits keep the range that they had in the input:
// in order of phi bin in the first pass, those that are left at its beginning in the second one.

constexpr u32 CELLS = BINS + 1;

// The line through two hits: the second one, the slopes, and 1 / (z of the second - z of the first).
struct Line {
    float x, y, z, tx, ty, inverse;
};

__device__ __forceinline__ Line through(float ax, float ay, float az, float bx, float by, float bz) {
    const float inverse = divided(1.0f, bz - az);
    return {bx, by, bz, (bx - ax) * inverse, (by - ay) * inverse, inverse};
}

__device__ __forceinline__ Line through(const VeloHit& a, const VeloHit& b) {
    return through(a.x, a.y, a.z, b.x, b.y, b.z);
}

__device__ __forceinline__ float slope2(const Line& line) { return fused(line.tx, line.tx, line.ty * line.ty); }

// Direction on the diamond scale in bins, 0..=256, and 1 / (|x| + |y|).
__device__ __forceinline__ float phi_turn(float x, float y, float& scale) {
    scale = divided(1.0f, larger(absolute(x) + absolute(y), 1e-30f));
    const float t = y * scale;
    const float turn = x < 0.0f ? 2.0f - t : y < 0.0f ? 4.0f + t : t;
    return turn * (float(BINS) / 4.0f);
}

__device__ __forceinline__ u32 phi_bin(float x, float y) {
    float scale;
    return truncated(phi_turn(x, y, scale)) % BINS;
}

// What a block knows of its event.
struct Event {
    u32 number, first, hits;
    // Rows of candidates that this event may use.
    u32 row, rows;
    VeloHit* sorted;
    u8* used;
    const u32* cells;

    __device__ Event(const VeloArgs& a, u32 number) : number(number) {
        const u32* start = a.module_start + MODULES * number;
        const u32 base = a.module_start[0];
        first = start[0] - base;
        hits = start[MODULES] - start[0];
        const u64 all = a.hits_in_all;
        row = all == 0 ? 0 : u32(u64(first) * a.rows / all);
        rows = all == 0 ? 0 : u32(u64(first + hits) * a.rows / all) - row;
        sorted = a.sorted + first;
        used = a.used + first;
        cells = a.cells + u64(number) * PAIRS * CELLS;
    }

    __device__ const u32* pair(u32 pair) const { return cells + pair * CELLS; }
};

// Hits in the bins at most `half` from `middle`: those from the leftmost bin up, then those from bin 0 up.
struct Window {
    u32 first, upper, again, count;

    __device__ u32 index(u32 number) const { return number < upper ? first + number : again + (number - upper); }
};

__device__ inline Window window(const VeloArgs& a, const u32* cells, float middle, float half) {
    middle = middle + float(BINS);
    const u32 left = truncated(middle - half), right = truncated(middle + half);
    const u32 bin = left % BINS, width = right - left;
    Window window = {0, 0, 0, 0};
    if (width >= 2 * a.max_window + 2) return window;
    const u32 last = bin + width;
    window.first = cells[bin];
    window.upper = cells[(last < BINS ? last : BINS - 1) + 1] - window.first;
    window.again = cells[0];
    window.count = window.upper + (last < BINS ? 0 : cells[last - BINS + 1] - cells[0]);
    return window;
}

// The window cut down to the largest size; what is cut off is counted.
__device__ __forceinline__ void limit(const VeloArgs& a, Window& window, u32& cut) {
    if (window.count > a.candidates_in_window) {
        cut += window.count - a.candidates_in_window;
        window.count = a.candidates_in_window;
    }
}

struct Nearest {
    u32 index;
    float distance2, variance;
};

// Where the line meets a pair, and how far a hit with a small enough chi2 can be from it there.
struct Meeting {
    float x, y, reach, scatter;
    bool can_have_hits;
};

__device__ __forceinline__ float variance(const VeloArgs& a, const Line& line, float scatter, float dz) {
    const float r = dz * line.inverse;
    return fused(fused(r, r, r) + 1.0f, a.two_hit_variances, scatter * (dz * dz));
}

__device__ inline Meeting meet(const VeloArgs& a, u32 pair, const Line& line, float chi2, float scatter_slope,
                              float inner_radius) {
    Meeting at;
    const float to_pair = a.pair_middle[pair] - line.z;
    at.scatter = fused(slope2(line), scatter_slope, a.scatter_constant);
    at.reach = root(chi2 * variance(a, line, at.scatter, to_pair));
    at.x = fused(line.tx, to_pair, line.x);
    at.y = fused(line.ty, to_pair, line.y);
    const float hole = larger(inner_radius - at.reach, 0.0f), edge = a.outer_radius + at.reach;
    const float radius2 = fused(at.x, at.x, at.y * at.y);
    at.can_have_hits = hole * hole <= radius2 && radius2 <= edge * edge;
    return at;
}

// The hit with the smallest chi2 below `chi2` around a line, the first of equals in its window.
__device__ inline Nearest nearest(const VeloArgs& a, const Event& event, u32 pair, const Line& line,
                                  const Meeting& at, bool used_too, float chi2, u32& cut) {
    const float turn = absolute(at.x * line.ty - at.y * line.tx) * a.pair_half_depth;
    float scale;
    const float middle = phi_turn(at.x, at.y, scale);
    const float half = fused(turn, scale, at.reach) * scale * (float(BINS) / 4.0f);
    Window hits = window(a, event.pair(pair), middle, smaller(half, float(a.max_window)));
    limit(a, hits, cut);
    Nearest best = {NONE, chi2, 1.0f};
    for (u32 number = 0; number < hits.count; number++) {
        const u32 index = hits.index(number);
        if (!used_too && event.used[index]) continue;
        const VeloHit hit = event.sorted[index];
        const float dz = hit.z - line.z;
        const float dx = fused(line.tx, dz, line.x) - hit.x, dy = fused(line.ty, dz, line.y) - hit.y;
        const float distance2 = fused(dx, dx, dy * dy);
        const float own = variance(a, line, at.scatter, dz);
        if (distance2 * best.variance < best.distance2 * own) best = {index, distance2, own};
    }
    return best;
}

// Whether an event can be reconstructed; the first reason counts. One block an event.
KERNEL(velo_check, VeloArgs, 128) {
    __shared__ u32 worst, odd;
    const Event event(a, blockIdx.x);
    const u32* start = a.module_start + MODULES * event.number;
    if (threadIdx.x == 0) worst = odd = 0;
    __syncthreads();
    if (threadIdx.x < MODULES && start[threadIdx.x + 1] - start[threadIdx.x] > a.hits_in_module) atomicMax(&worst, 1u);
    u32 found = 0;
    for (u32 i = threadIdx.x; i < event.hits; i += blockDim.x) {
        const float of[3] = {a.x[event.first + i], a.y[event.first + i], a.z[event.first + i]};
        for (float value : of) {
            const bool finite = (__float_as_uint(value) & 0x7f800000u) != 0x7f800000u;
            if (!finite) found |= 1;
            if (finite && !(absolute(value) <= a.coordinate)) found |= 2;
        }
        a.used[event.first + i] = 0;
        a.taken[event.first + i] = 0;
        a.claim[event.first + i] = NONE64;
        a.other_claim[event.first + i] = NONE64;
    }
    if (found & 1) atomicMax(&odd, 2u);
    else if (found) atomicMax(&odd, 1u);
    __syncthreads();
    if (threadIdx.x != 0) return;
    u32 state = a.status[event.number];
    if (state != OK) {
    } else if (event.hits > a.hits_in_event) state = TOO_MANY_HITS;
    else if (worst) state = TOO_MANY_HITS_IN_MODULE;
    else if (odd) state = odd == 2 ? NOT_FINITE : OUT_OF_RANGE;
    a.state[event.number] = state;
    a.accepted_count[event.number] = 0;
    a.row_count[event.number] = 0;
    a.cut_short[event.number] = 0;
}

// Writes where the bins of a pair begin, given how many hits each has.
__device__ inline void close_bins(u32* counts, u32* cells, u32 begin) {
    u32 before = begin;
    for (u32 from = 0; from < BINS; from += blockDim.x) {
        u32 total;
        const u32 bin = from + threadIdx.x;
        const u32 sum = before + sum_before(counts[bin], total);
        cells[bin] = counts[bin] = sum;
        before += total;
    }
    if (threadIdx.x == 0) cells[BINS] = before;
    __syncthreads();
}

// Sorts the hits of a pair by bin, those of one bin in input order. One block an event and pair.
KERNEL(velo_sort, VeloArgs, 64) {
    __shared__ u32 counts[BINS];
    const Event event(a, blockIdx.x / PAIRS);
    if (a.state[event.number] != OK) return;
    const u32 pair = blockIdx.x % PAIRS;
    const u32* start = a.module_start + MODULES * event.number;
    const u32 begin = start[2 * pair] - start[0], end = start[2 * pair + 2] - start[0];
    u32* cells = a.cells + (u64(event.number) * PAIRS + pair) * CELLS;
    for (u32 bin = threadIdx.x; bin < BINS; bin += blockDim.x) counts[bin] = 0;
    __syncthreads();
    for (u32 i = begin + threadIdx.x; i < end; i += blockDim.x)
        atomicAdd(&counts[phi_bin(a.x[event.first + i], a.y[event.first + i])], 1u);
    __syncthreads();
    close_bins(counts, cells, begin);
    // In any order within the bin first; then each hit counts those before it.
    for (u32 i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const u32 index = atomicAdd(&counts[phi_bin(a.x[event.first + i], a.y[event.first + i])], 1u);
        a.unsorted[event.first + index] = i;
    }
    __syncthreads();
    for (u32 i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const float x = a.x[event.first + i], y = a.y[event.first + i];
        const u32 bin = phi_bin(x, y), last = cells[bin + 1];
        u32 index = cells[bin];
        for (u32 other = cells[bin]; other < last; other++) index += a.unsorted[event.first + other] < i;
        event.sorted[index] = {x, y, a.z[event.first + i], i};
    }
}

// Keeps the hits of a pair that no track uses, in their order. One block an event and pair.
KERNEL(velo_keep_free, VeloArgs, 64) {
    __shared__ u32 counts[BINS];
    const Event event(a, blockIdx.x / PAIRS);
    if (a.state[event.number] != OK) return;
    u32* cells = a.cells + (u64(event.number) * PAIRS + blockIdx.x % PAIRS) * CELLS;
    const u32 begin = cells[0], end = cells[BINS];
    for (u32 bin = threadIdx.x; bin < BINS; bin += blockDim.x) counts[bin] = 0;
    __syncthreads();
    u32 kept = begin;
    for (u32 from = begin; from < end; from += blockDim.x) {
        const u32 i = from + threadIdx.x;
        const bool free = i < end && !event.used[i];
        const VeloHit hit = i < end ? event.sorted[i] : VeloHit{0.0f, 0.0f, 0.0f, 0};
        u32 total;
        // All threads have read when the first one writes.
        const u32 index = kept + sum_before(free, total);
        if (free) {
            event.sorted[index] = hit;
            event.used[index] = 0;
            atomicAdd(&counts[phi_bin(hit.x, hit.y)], 1u);
        }
        kept += total;
    }
    __syncthreads();
    close_bins(counts, cells, begin);
}
