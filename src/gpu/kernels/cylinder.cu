// Tracks of the cylinder detector: the algorithm of src/cylinder. All arithmetic on states is written down from the
// CPU's own code (formulas.rs); what stands here is where values come from and go to. States lie element first, seed
// last, those of a whole slice in one piece; hits and seeds are counted through the slice.

constexpr u32 NO_HIT = NONE, STOPPED = NONE - 1, BUILT_LAYERS = LAYERS - SEED_LAYERS;

// The last of `count` rising numbers that is not above `value`; the first one is not.
__device__ inline u32 last_not_above(const u32* rising, u32 count, u32 value) {
    u32 low = 0, high = count;
    while (high - low > 1) {
        const u32 middle = low + (high - low) / 2;
        if (rising[middle] <= value) low = middle;
        else high = middle;
    }
    return low;
}

__device__ __forceinline__ u32 event_of_seed(const CylinderArgs& a, u32 seed) {
    return last_not_above(a.seed_start, a.events, seed + a.seed_start[0]);
}

// First hit of an event.
__device__ __forceinline__ u32 first_hit_of(const CylinderArgs& a, u32 event) {
    return a.layer_start[LAYERS * event] - a.layer_start[0];
}

__device__ __forceinline__ u32 bin_of(const CylinderArgs& a, u32 layer, float z) {
    const float bin = (z - a.z_low[layer]) * a.per_z[layer];
    return truncated(smaller(larger(bin, 0.0f), float(a.bins_z[layer] - 1)));
}

__device__ __forceinline__ u32 row_of(const CylinderArgs& a, float phi) {
    return truncated(fused(phi, a.per_phi, a.shift_phi));
}

// One thread an event.
KERNEL(cylinder_check, CylinderArgs, 256) {
    const u32 event = blockIdx.x * blockDim.x + threadIdx.x;
    if (event < a.events) a.state[event] = a.status[event];
    if (event == 0) a.lost[0] = 0;
}

// Polar form and cell of each hit. One thread a hit.
KERNEL(cylinder_polar, CylinderArgs, 256) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.hits) return;
    const u32 list = last_not_above(a.layer_start, LAYERS * a.events, i + a.layer_start[0]);
    const u32 event = list / LAYERS, layer = list % LAYERS;
    Record hit;
    float radius;
    bool usable, measured;
    polar(a.x[i], a.y[i], a.z[i], a.var_rphi[i], a.var_z[i], hit, radius, usable, measured);
    // A coordinate goes before an error, whichever thread is first.
    if (!usable) atomicCAS(&a.state[event], OK, measured ? NOT_FINITE : BAD_ERRORS);
    if (!usable && measured) atomicCAS(&a.state[event], BAD_ERRORS, NOT_FINITE);
    a.polar[i] = hit;
    a.polar_radius[i] = radius;
    const u32 cell = (row_of(a, hit.phi) & (a.rows - 1)) * a.bins_z[layer] + bin_of(a, layer, hit.z);
    a.keys[i] = u64(event) * a.cells_of_event + a.table_start[layer] + cell;
    a.values[i] = i;
}

KERNEL(cylinder_count, CylinderArgs, TILE_THREADS) { count_digits(a.keys, a.counts, a.hits, a.shift); }

KERNEL(cylinder_stretches, CylinderArgs, TILE_THREADS) { sum_stretch(a.counts, a.sums, a.count); }

KERNEL(cylinder_sums, CylinderArgs, TILE_THREADS) { sums_before(a.counts, a.sums, a.count); }

KERNEL(cylinder_scatter, CylinderArgs, TILE_THREADS) {
    scatter_digits(a.keys, a.values, a.other_keys, a.other_values, a.counts, a.hits, a.shift);
}

// The hits in order of event, layer, row, bin and input. One thread a hit.
KERNEL(cylinder_gather, CylinderArgs, 256) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.hits) return;
    const u32 from = a.values[i];
    a.record[i] = a.polar[from];
    a.radius[i] = a.polar_radius[from];
    a.source[i] = from;
    a.index[from] = i;
}

// Where each cell begins: at the first hit in it or in one behind it. A block has the cells from behind the last hit before its
// own to its last hit, and looks its own hits up in shared memory; the last one has all that are left. One thread a hit.
KERNEL(cylinder_table, CylinderArgs, 256) {
    __shared__ u32 cells[256];
    const u32 first = blockIdx.x * blockDim.x, left = a.hits - first, own = left < blockDim.x ? left : blockDim.x;
    if (threadIdx.x < own) cells[threadIdx.x] = u32(a.keys[first + threadIdx.x]);
    __syncthreads();
    const bool last = blockIdx.x + 1 == gridDim.x;
    const u32 begin = first == 0 ? 0 : u32(a.keys[first - 1]) + 1;
    const u32 end = last ? a.events * a.cells_of_event : cells[own - 1] + 1;
    for (u32 cell = begin + threadIdx.x; cell < end; cell += blockDim.x) {
        u32 low = 0, high = own;
        while (low < high) {
            const u32 middle = low + (high - low) / 2;
            if (cells[middle] < cell) low = middle + 1;
            else high = middle;
        }
        a.table[cell] = first + low;
    }
}

__device__ __forceinline__ void load(const CylinderArgs& a, u32 seed, Helix& helix) {
    for (u32 i = 0; i < 5; i++) helix.p[i] = a.helix[u64(i) * a.stride + seed];
    for (u32 i = 0; i < 15; i++) helix.c[i] = a.helix[u64(5 + i) * a.stride + seed];
}

// The record of a hit in lists, or zeros where there is none, which no formula looks at.
__device__ __forceinline__ Record record_of(const CylinderArgs& a, u32 index) {
    return index < STOPPED ? a.record[index] : Record{0.0f, 0.0f, 0.0f, 0.0f};
}

// Seeds of particles: their first hits, fitted from the vertex. One thread a seed.
KERNEL(cylinder_seed, CylinderArgs, 64) {
    const u32 seed = blockIdx.x * blockDim.x + threadIdx.x;
    if (seed >= a.seeds) return;
    a.hit_count[seed] = 0;
    const u32 event = event_of_seed(a, seed), first = first_hit_of(a, event);
    if (a.state[event] != OK) return;
    const u32 hits = first_hit_of(a, event + 1) - first;
    float vertex[6];
    for (u32 i = 0; i < 6; i++) vertex[i] = a.vertex[u64(i) * a.stride + seed];
    Helix helix;
    bool reached, measured, good = true;
    float chi2;
#pragma unroll 1
    for (u32 layer = 0; layer < SEED_LAYERS; layer++) {
        const u32 number = a.seed_hits[u64(layer) * a.stride + seed];
        const bool has = number < hits;
        const Record hit = has ? a.polar[first + number] : Record{0.0f, 0.0f, 0.0f, 0.0f};
        const float radius = has ? a.polar_radius[first + number] : a.radii[0];
        if (layer == 0)
            leave(vertex, a.published != 0, a.start, a.field, hit, radius, has, helix, reached, measured, chi2);
        else
            follow(helix, a.field, hit, radius, has, reached, measured, chi2);
        a.indices[u64(layer) * a.stride + seed] = has ? a.index[first + number] : NO_HIT;
        good = good && has;
    }
    bool arrived;
    to_radius(helix, a.field, a.radii[SEED_LAYERS], arrived);
    a.good[seed] = good && arrived && reached && measured;
    for (u32 i = 0; i < 5; i++) a.helix[u64(i) * a.stride + seed] = helix.p[i];
    for (u32 i = 0; i < 15; i++) a.helix[u64(5 + i) * a.stride + seed] = helix.c[i];
}

// The hits near a state: a range in each of a few rows.
struct Nearby {
    const u32* table;
    u32 row, rows, first_bin, last_bin, hit, end;
};

__device__ inline Nearby nearby(const CylinderArgs& a, u32 event, u32 layer, const Helix& helix, bool there) {
    const float phi = helix.p[0], z = helix.p[1];
    const float width_phi = smaller(a.window * root(helix.c[0]), a.window_phi);
    const float width_z = smaller(a.window * root(helix.c[2]), a.window_z);
    // What has no window (a NaN) finds nothing.
    there = there && 0.0f <= width_phi && 0.0f <= width_z && absolute(phi) < 4.0f;
    const u32 first = row_of(a, phi - width_phi), last = row_of(a, phi + width_phi);
    return {a.table + u64(event) * a.cells_of_event + a.table_start[layer], first, there ? last - first + 1 : 0,
            bin_of(a, layer, z - width_z), bin_of(a, layer, z + width_z), 0, 0};
}

// Goes to the next hit; says whether there is one.
__device__ __forceinline__ bool next(const CylinderArgs& a, u32 layer, Nearby& near_by, u32& index) {
    while (near_by.hit >= near_by.end) {
        if (near_by.rows == 0) return false;
        const u32* cell = near_by.table + (near_by.row & (a.rows - 1)) * a.bins_z[layer];
        near_by.hit = cell[near_by.first_bin];
        near_by.end = cell[near_by.last_bin + 1];
        near_by.row++;
        near_by.rows--;
    }
    index = near_by.hit++;
    return true;
}

__device__ __forceinline__ u32 hits_of_seed(const CylinderArgs& a, u32 seed) {
    u32 count = 0;
    for (u32 layer = 0; layer < LAYERS; layer++) count += a.indices[u64(layer) * a.stride + seed] != NO_HIT;
    return count;
}

// Best hit: of each layer the one with the smallest chi2, the first of equals. One thread a seed.
KERNEL(cylinder_best_hit, CylinderArgs, 64) {
    const u32 seed = blockIdx.x * blockDim.x + threadIdx.x;
    if (seed >= a.seeds) return;
    const u32 event = event_of_seed(a, seed);
    if (a.state[event] != OK) return;
    Helix helix;
    load(a, seed, helix);
    helix.radius = a.radii[SEED_LAYERS];
    bool there = a.good[seed];
#pragma unroll 1
    for (u32 layer = SEED_LAYERS; layer < LAYERS; layer++) {
        // Seeds come on the first radius.
        if (layer > SEED_LAYERS) {
            bool reached;
            to_radius(helix, a.field, a.radii[layer], reached);
            there = there && reached;
        }
        within_turn(helix.p[0]);
        u32 nearest = NO_HIT;
        float smallest = __uint_as_float(0x7f800000u);
        Nearby near_by = nearby(a, event, layer, helix, there);
        for (u32 index; next(a, layer, near_by, index);) {
            float chi2;
            distance(helix, a.record[index], chi2);
            if (!(chi2 < a.chi2 && 0.0f <= chi2 && chi2 < smallest)) continue;
            nearest = index;
            smallest = chi2;
        }
        take_record(helix, record_of(a, nearest), nearest != NO_HIT);
        a.indices[u64(layer) * a.stride + seed] = nearest;
    }
    a.hit_count[seed] = hits_of_seed(a, seed);
}

// How a branch compares with others, the smaller, the better: hits missed, chi2, rank of its parent, order of its hit.
// With a penalty chi2 and penalties go before hits.
__device__ __forceinline__ u64 branch_key(const CylinderArgs& a, u32 missed, float chi2, u32 parent, u32 ordinal) {
    const bool fined = a.hole_penalty > 0.0f;
    const float cost = fined ? fused(a.hole_penalty, float(missed), chi2) : chi2;
    return u64(fined ? 0 : missed) << 48 | u64(__float_as_uint(cost)) << 16 | parent << 8 | ordinal;
}

// The best branches of a candidate: a heap of its own, the worst on top. Entry i of all threads' heaps lies in one
// row, so that threads meet in no bank of shared memory.
template <u32 LANES, u32 THREADS> struct Heaps {
    u64 key[LANES][THREADS];
    u32 hit[LANES][THREADS];
    float chi2[LANES][THREADS];
    u32 size[THREADS];

    __device__ __forceinline__ void move(u32 from, u32 to) {
        const u32 own = threadIdx.x;
        key[to][own] = key[from][own], hit[to][own] = hit[from][own], chi2[to][own] = chi2[from][own];
    }

    __device__ inline void push(u32& count, u32 max_count, u64 new_key, u32 new_hit, float new_chi2) {
        const u32 own = threadIdx.x;
        u32 at = 0;
        if (count < max_count) {
            for (at = count++; at > 0 && key[(at - 1) / 2][own] < new_key; at = (at - 1) / 2) move((at - 1) / 2, at);
        } else {
            if (new_key >= key[0][own]) return;
            for (u32 below = 1; below < count; below = 2 * at + 1) {
                if (below + 1 < count && key[below + 1][own] > key[below][own]) below++;
                if (key[below][own] < new_key) break;
                move(below, at);
                at = below;
            }
        }
        key[at][own] = new_key, hit[at][own] = new_hit, chi2[at][own] = new_chi2;
    }
};

// A candidate as the next layer's find it.
template <u32 THREADS> struct Survivors {
    u32 parent[THREADS], hit[THREADS];
    float chi2[THREADS];
};

// The clone engine: a thread for each candidate, LANES of them for a seed. On a layer each takes a copy of its parent's
// state, out of that one's registers, takes in the hit that made it, goes to the layer and puts the branches it finds
// on its heap; then every branch counts those of the same seed that are better, which is where it goes. What each
// candidate was made of stays in shared memory until the best one's hits are read back.
template <u32 LANES, u32 THREADS> __device__ inline void clone_engine(const CylinderArgs& a) {
    __shared__ Heaps<LANES, THREADS> heaps;
    __shared__ Survivors<THREADS> survivors;
    // The parent in the upper five bits, the hit in the others.
    __shared__ u32 notes[BUILT_LAYERS][THREADS];
    constexpr u32 HIT_BITS = 27, HIT_MASK = (1u << HIT_BITS) - 1;
    const u32 own = threadIdx.x, rank = own % LANES, base = own - rank, warp_base = base % 32;
    const u32 number = blockIdx.x * (THREADS / LANES) + own / LANES, seed = number < a.seeds ? number : a.seeds - 1;
    const u32 event = event_of_seed(a, seed), max_count = a.candidates;
    const bool is_seed = number < a.seeds && a.state[event] == OK;
    Helix helix;
    load(a, seed, helix);
    helix.radius = a.radii[SEED_LAYERS];
    u32 parent = rank, hit = a.good[seed] ? NO_HIT : STOPPED, holes = 0, missed = 0, count = is_seed ? 1 : 0, lost = 0;
    float chi2 = 0.0f;
#pragma unroll 1
    for (u32 layer = SEED_LAYERS; layer < LAYERS; layer++) {
        bool reached = true;
        // Seeds come on the first radius.
        if (layer > SEED_LAYERS) {
            for (u32 i = 0; i < 5; i++) helix.p[i] = __shfl_sync(~0u, helix.p[i], warp_base + parent);
            for (u32 i = 0; i < 15; i++) helix.c[i] = __shfl_sync(~0u, helix.c[i], warp_base + parent);
            take_record(helix, record_of(a, hit), hit < STOPPED);
            to_radius(helix, a.field, a.radii[layer], reached);
        }
        within_turn(helix.p[0]);
        const bool exists = rank < count, stopped = exists && hit == STOPPED, live = exists && !stopped;
        Nearby near_by = nearby(a, event, layer, helix, live && reached);
        u32 size = 0, found = 0;
        for (u32 index; next(a, layer, near_by, index);) {
            float distance2;
            distance(helix, a.record[index], distance2);
            if (!(distance2 < a.chi2 && 0.0f <= distance2)) continue;
            if (found < a.hits_in_window) {
                const float sum = chi2 + distance2;
                heaps.push(size, max_count, branch_key(a, missed, sum, rank, found), index, sum);
            } else lost++;
            found++;
        }
        if (live) heaps.push(size, max_count, branch_key(a, missed + 1, chi2, rank, 255), NO_HIT, chi2);
        heaps.size[own] = size;
        __syncwarp();

        u32 branches = 0;
        for (u32 i = 0; i < LANES; i++) branches += heaps.size[base + i];
        const u32 kept = branches < max_count ? branches : max_count;
        for (u32 i = 0; i < size; i++) {
            const u64 key = heaps.key[i][own];
            u32 better = 0;
            for (u32 other = base; other < base + LANES; other++)
                for (u32 k = 0; k < heaps.size[other]; k++) better += heaps.key[k][other] < key;
            if (better >= max_count) continue;
            survivors.parent[base + better] = rank;
            survivors.hit[base + better] = heaps.hit[i][own];
            survivors.chi2[base + better] = heaps.chi2[i][own];
        }
        // What stopped before fills what room there is.
        const u32 group = LANES == 32 ? ~0u : (1u << LANES % 32) - 1;
        const u32 all_stopped = __ballot_sync(~0u, stopped) >> warp_base & group;
        const u32 behind = kept + __popc(all_stopped & ((1u << rank) - 1));
        if (stopped && behind < max_count) {
            survivors.parent[base + behind] = rank;
            survivors.hit[base + behind] = STOPPED;
            survivors.chi2[base + behind] = chi2;
        }
        __syncwarp();

        count = kept + __popc(all_stopped);
        if (count > max_count) count = max_count;
        if (rank < count) {
            parent = survivors.parent[own];
            hit = survivors.hit[own];
            chi2 = survivors.chi2[own];
        } else parent = rank;
        holes = __shfl_sync(~0u, holes, warp_base + parent);
        missed = __shfl_sync(~0u, missed, warp_base + parent);
        if (hit >= STOPPED) missed++;
        if (hit == NO_HIT) hit = holes++ < a.holes ? NO_HIT : STOPPED;
        notes[layer - SEED_LAYERS][own] = parent << HIT_BITS | (hit & HIT_MASK) | (hit >= STOPPED ? HIT_MASK : 0);
        // The next layer writes where others have read.
        __syncwarp();
    }
    if (lost > 0) atomicAdd(&a.lost[0], u64(lost));
    u64 best = rank < count ? branch_key(a, missed, chi2, rank, 0) : NONE64;
    for (u32 with = 1; with < LANES; with *= 2) {
        const u64 other = __shfl_xor_sync(~0u, best, with);
        if (other < best) best = other;
    }
    if (rank > 0 || !is_seed) return;
    u32 candidate = u32(best >> 8) & 0xff;
    for (u32 step = BUILT_LAYERS; step-- > 0;) {
        const u32 note = notes[step][base + candidate], index = note & HIT_MASK;
        a.indices[u64(SEED_LAYERS + step) * a.stride + seed] = index == HIT_MASK ? NO_HIT : index;
        candidate = note >> HIT_BITS;
    }
    a.hit_count[seed] = hits_of_seed(a, seed);
}

// For 8, 16 and 32 candidates at most.
KERNEL(cylinder_clone_8, CylinderArgs, 128) { clone_engine<8, 128>(a); }
KERNEL(cylinder_clone_16, CylinderArgs, 64) { clone_engine<16, 64>(a); }
KERNEL(cylinder_clone_32, CylinderArgs, 64) { clone_engine<32, 64>(a); }

// Tracks of each event and hits of each seed, and their totals of a stretch of events and a stretch of seeds. One block for both.
KERNEL(cylinder_totals, CylinderArgs, TILE_THREADS) {
    const u32 begin = blockIdx.x * STRETCH, end = begin + STRETCH;
    for (u32 event = begin + threadIdx.x; event < end && event < a.events; event += blockDim.x)
        a.first_track[event] = a.state[event] == OK ? a.seed_start[event + 1] - a.seed_start[event] : 0;
    for (u32 seed = begin + threadIdx.x; seed < end && seed < a.seeds; seed += blockDim.x)
        a.first_hit[seed] = a.hit_count[seed];
    // Each thread sums what it has written.
    sum_stretch(a.first_track, a.sums, a.events);
    sum_stretch(a.first_hit, a.sums + gridDim.x, a.seeds);
}

// Where the tracks of each event and the hits of each seed begin, given the totals; the last block gives the host the sums of all.
// One block for a stretch of events and a stretch of seeds.
KERNEL(cylinder_offsets, CylinderArgs, TILE_THREADS) {
    const u32 begin = blockIdx.x * STRETCH, end = begin + STRETCH;
    const u32 tracks = sums_before(a.first_track, a.sums, a.events);
    const u32 hits = sums_before(a.first_hit, a.sums + gridDim.x, a.seeds);
    // Each thread reads what it has written.
    for (u32 event = begin + threadIdx.x; event < end && event < a.events; event += blockDim.x) {
        const u32 own = a.state[event] == OK ? a.seed_start[event + 1] - a.seed_start[event] : 0;
        a.out_track_end[event] = a.first_track[event] + own;
        a.out_status[event] = u16(a.state[event]);
    }
    if (threadIdx.x == 0 && blockIdx.x + 1 == gridDim.x) {
        a.out_summary[0] = tracks;
        a.out_summary[1] = hits;
        a.out_summary[2] = u32(a.lost[0]);
        a.out_summary[3] = u32(a.lost[0] >> 32);
    }
}

// Fits the tracks from outside in, and writes their lists. One thread a track.
KERNEL(cylinder_fit, CylinderArgs, 64) {
    const u32 seed = blockIdx.x * blockDim.x + threadIdx.x;
    if (seed >= a.seeds) return;
    const u32 event = event_of_seed(a, seed);
    if (a.state[event] != OK) return;
    const u32 number = seed - (a.seed_start[event] - a.seed_start[0]), track = a.first_track[event] + number;
    const u32 count = a.hit_count[seed], first = a.first_hit[seed], last = count > 0 ? count - 1 : 0;
    a.out_hit_end[track] = first + count;
    a.out_seed[track] = number;
    // Azimuth, z and radius of the first, the middle and the last hit; without any hit, what a gather on the CPU gives.
    const u32 behind = first_hit_of(a, event + 1);
    const float radius = behind > first_hit_of(a, event) ? a.radius[behind - 1] : 0.0f;
    float ends[3][3] = {{0.0f, 0.0f, radius}, {0.0f, 0.0f, radius}, {0.0f, 0.0f, radius}};
    u32 written = 0;
#pragma unroll 1
    for (u32 layer = 0; layer < LAYERS; layer++) {
        const u32 index = a.indices[u64(layer) * a.stride + seed];
        if (index == NO_HIT) continue;
        const Record hit = a.record[index];
        const float values[3] = {hit.phi, hit.z, a.radius[index]};
        for (u32 i = 0; i < 3; i++) {
            if (written == 0) ends[0][i] = values[i];
            if (written == last / 2) ends[1][i] = values[i];
            if (written == last) ends[2][i] = values[i];
        }
        a.out_hits[first + written++] = a.source[index] - first_hit_of(a, event);
    }
    Helix helix;
    bool reached, measured = true;
    float chi2 = 0.0f;
    fit_start(ends, a.field, a.prior, helix, reached);
#pragma unroll 1
    for (u32 layer = LAYERS; layer-- > 0;) {
        const u32 index = a.indices[u64(layer) * a.stride + seed];
        const bool has = index != NO_HIT;
        follow(helix, a.field, record_of(a, index), has ? a.radius[index] : 0.0f, has, reached, measured, chi2);
    }
    Helix result;
    u32 status;
    finish(helix, reached, measured, chi2, result, status);
    a.out_chi2[track] = same_nan(chi2);
    a.out_fit[track] = u8(status);
    a.out_state[track] = same_nan(result.radius);
    for (u32 i = 0; i < 5; i++) a.out_state[u64(1 + i) * a.out_stride + track] = same_nan(result.p[i]);
    for (u32 i = 0; i < 15; i++) a.out_state[u64(6 + i) * a.out_stride + track] = same_nan(result.c[i]);
}
