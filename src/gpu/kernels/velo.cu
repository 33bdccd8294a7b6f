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

    __device__ u32 place(u32 number) const { return number < upper ? first + number : again + (number - upper); }
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
    u32 place;
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

__device__ inline Meeting meet(const VeloArgs& a, u32 pair, const Line& line, float chi2, float scatter_slope) {
    Meeting at;
    const float to_pair = a.pair_middle[pair] - line.z;
    at.scatter = fused(slope2(line), scatter_slope, a.scatter_constant);
    at.reach = root(chi2 * variance(a, line, at.scatter, to_pair));
    at.x = fused(line.tx, to_pair, line.x);
    at.y = fused(line.ty, to_pair, line.y);
    const float hole = larger(a.inner_radius - at.reach, 0.0f), edge = a.outer_radius + at.reach;
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
        const u32 place = hits.place(number);
        if (!used_too && event.used[place]) continue;
        const VeloHit hit = event.sorted[place];
        const float dz = hit.z - line.z;
        const float dx = fused(line.tx, dz, line.x) - hit.x, dy = fused(line.ty, dz, line.y) - hit.y;
        const float distance2 = fused(dx, dx, dy * dy);
        const float own = variance(a, line, at.scatter, dz);
        if (distance2 * best.variance < best.distance2 * own) best = {place, distance2, own};
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
        const u32 place = atomicAdd(&counts[phi_bin(a.x[event.first + i], a.y[event.first + i])], 1u);
        a.unsorted[event.first + place] = i;
    }
    __syncthreads();
    for (u32 i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const float x = a.x[event.first + i], y = a.y[event.first + i];
        const u32 bin = phi_bin(x, y), last = cells[bin + 1];
        u32 place = cells[bin];
        for (u32 other = cells[bin]; other < last; other++) place += a.unsorted[event.first + other] < i;
        event.sorted[place] = {x, y, a.z[event.first + i], i};
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
        const u32 place = kept + sum_before(free, total);
        if (free) {
            event.sorted[place] = hit;
            event.used[place] = 0;
            atomicAdd(&counts[phi_bin(hit.x, hit.y)], 1u);
        }
        kept += total;
    }
    __syncthreads();
    close_bins(counts, cells, begin);
}

// Candidates as rows: the line through the last two hits, and the places of all hits.
__device__ __forceinline__ Line line_of(const VeloRow& row) {
    return {row.x, row.y, row.z, row.tx, row.ty, row.inverse};
}

__device__ __forceinline__ void set_line(VeloRow& row, const Line& line) {
    row.x = line.x, row.y = line.y, row.z = line.z;
    row.tx = line.tx, row.ty = line.ty, row.inverse = line.inverse;
}

// Looks for the next hit of one candidate; says whether it is followed further.
__device__ inline bool forward(const VeloArgs& a, const Event& event, u32 pair, u32 number, u32& cut) {
    VeloRow& row = a.row[number];
    const Line line = line_of(row);
    // A triplet over a gap may end in this very pair.
    if (line.z <= a.pair_middle[pair] + a.pair_half_depth) return row.missed <= a.skipped_pairs;
    const Meeting at = meet(a, pair, line, a.forward_chi2, a.scatter_slope);
    // One that points where no hits can be never comes back.
    if (!at.can_have_hits) return false;
    const Nearest found = nearest(a, event, pair, line, at, true, a.forward_chi2, cut);
    if (found.place == NONE) return ++row.missed <= a.skipped_pairs;
    const VeloHit hit = event.sorted[found.place];
    set_line(row, through(line.x, line.y, line.z, hit.x, hit.y, hit.z));
    u32* hits = a.row_hits + u64(number) * ROW;
    hits[row.hits++] = found.place;
    row.missed = 0;
    event.used[found.place] = 1;
    for (u32 i = 0; i < 3 && row.hits == 4; i++) event.used[hits[i]] = 1;
    return true;
}

struct Shape {
    u32 above, below;
    float window, doublet_doca, score, doca_weight;
};

// The three shapes of triplets, the one without a gap first; `above` 0 stands for none.
__device__ __forceinline__ Shape shape_of(const VeloPass& pass, u32 number, u32 current) {
    if (number == 0) return {current + 1, current - 1, pass.window, pass.doublet_doca, pass.score, pass.doca_weight};
    Shape shape = {current + (number == 1 ? 2 : 1), current - (number == 2 ? 2 : 1), pass.gap_window,
                   pass.gap_doublet_doca, pass.gap_score, pass.gap_doca_weight};
    const bool there = pass.gaps && (number == 1 ? current + 2 < PAIRS : current >= 2);
    if (!there) shape.above = 0;
    return shape;
}

// Distance of closest approach to the beam axis of the line through two hits.
__device__ inline float distance_to_beam(const VeloHit& from, const VeloHit& to) {
    const Line line = through(from, to);
    const float slope2 = fused(line.tx, line.tx, fused(line.ty, line.ty, 1e-9f));
    return divided(absolute(from.x * line.ty - from.y * line.tx), root(slope2));
}

struct Triplet {
    u32 outer, inner, number;
    float score;
};

// The best triplet around a middle hit among each `step`-th candidate for its outer hit from `from` on.
__device__ inline Triplet best_triplet(const VeloArgs& a, const Event& event, const Shape& shape, const VeloHit& middle,
                                       float scatter_slope, u32 from, u32 step, u32& cut) {
    float scale;
    Window outer = window(a, event.pair(shape.above), phi_turn(middle.x, middle.y, scale), shape.window);
    u32 cut_here = 0;
    limit(a, outer, cut_here);
    if (from == 0) cut += cut_here;
    Triplet best = {NONE, NONE, NONE, 0.0f};
    for (u32 number = from; number < outer.count; number += step) {
        const u32 place = outer.place(number);
        if (event.used[place]) continue;
        const VeloHit hit = event.sorted[place];
        const Line line = through(hit, middle);
        const float slopes = slope2(line), moment = line.x * line.ty - line.y * line.tx;
        if (!(slopes < 1.0f && moment * moment < shape.doublet_doca * shape.doublet_doca * slopes)) continue;
        const Meeting at = meet(a, shape.below, line, shape.score, scatter_slope);
        if (!at.can_have_hits) continue;
        const Nearest inner = nearest(a, event, shape.below, line, at, false, shape.score, cut);
        if (inner.place == NONE) continue;
        const float doca = distance_to_beam(hit, event.sorted[inner.place]);
        const float score = fused(doca, shape.doca_weight, divided(inner.distance2, inner.variance));
        if (score < shape.score && (best.inner == NONE || score < best.score))
            best = {place, inner.place, number, score};
    }
    return best;
}

// The claim of the triplet of a middle hit on its outer or inner hit: of equal scores the first shape, then the
// first middle hit wins. Adding 0 makes one zero of two.
__device__ __forceinline__ u64 claim_of(const VeloTriplet& triplet, u32 middle) {
    return u64(rising(triplet.score + 0.0f)) << 32 | triplet.shape << 28 | middle;
}

// Finds the best triplet of each free middle hit of a pair, LANES threads a hit.
template <u32 LANES>
__device__ inline void list_triplets(const VeloArgs& a, const Event& event, u32 current, u32& cut) {
    const VeloPass& pass = a.passes[a.pass];
    const u32 begin = event.pair(current)[0], hits = event.pair(current)[BINS] - begin;
    const u32 lane = threadIdx.x % LANES, groups = blockDim.x / LANES;
    for (u32 from = 0; from < hits; from += groups) {
        const u32 number = from + threadIdx.x / LANES, place = begin + number;
        const bool there = number < hits && !event.used[place];
        VeloTriplet found = {NONE, NONE, 0.0f, NONE};
        for (u32 of = 0; of < 3; of++) {
            const Shape shape = shape_of(pass, of, current);
            if (shape.above == 0) continue;
            Triplet best = {NONE, NONE, NONE, 0.0f};
            if (there && found.shape == NONE)
                best = best_triplet(a, event, shape, event.sorted[place], pass.scatter_slope, lane, LANES, cut);
            for (u32 with = 1; with < LANES; with *= 2) {
                const Triplet other = {__shfl_xor_sync(~0u, best.outer, with), __shfl_xor_sync(~0u, best.inner, with),
                                       __shfl_xor_sync(~0u, best.number, with), __shfl_xor_sync(~0u, best.score, with)};
                const bool better = best.inner == NONE || other.score < best.score ||
                                    (other.score == best.score && other.number < best.number);
                if (other.inner != NONE && better) best = other;
            }
            if (best.inner != NONE) found = {best.outer, best.inner, best.score, of};
        }
        if (lane == 0 && number < hits) {
            a.triplets[event.first + place] = found;
            if (found.shape != NONE) atomicMin(&a.claim[event.first + found.inner], claim_of(found, number));
        }
    }
}

// One pass over the pairs, from the largest z down. One block an event.
template <u32 LANES> __device__ inline void find(const VeloArgs& a) {
    // Candidates that are followed: of this step, and of the next one.
    __shared__ u32 active_count[2], rows;
    const Event event(a, blockIdx.x);
    if (a.state[event.number] != OK) return;
    u32* active = a.active + event.row;
    u32* next_active = a.other_active + event.row;
    if (threadIdx.x == 0) {
        active_count[0] = active_count[1] = 0;
        rows = a.row_count[event.number];
        a.first_row_of_pass[event.number] = rows;
    }
    u32 cut = 0, side = 0;
    u64* claim = a.claim + event.first;
    u64* other_claim = a.other_claim + event.first;
    const VeloTriplet* triplets = a.triplets + event.first;
    __syncthreads();
    for (u32 current = PAIRS - 2; current > 0; current--) {
        const u32 count = active_count[side];
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            const u32 number = active[i];
            if (forward(a, event, current - 1, number, cut)) next_active[atomicAdd(&active_count[1 - side], 1u)] = number;
        }
        __syncthreads();
        if (threadIdx.x == 0) active_count[side] = 0;
        side = 1 - side;
        u32* const swapped = active;
        active = next_active;
        next_active = swapped;

        list_triplets<LANES>(a, event, current, cut);
        __syncthreads();
        const u32 begin = event.pair(current)[0], hits = event.pair(current)[BINS] - begin;
        for (u32 i = threadIdx.x; i < hits; i += blockDim.x) {
            const VeloTriplet triplet = triplets[begin + i];
            if (triplet.shape != NONE && claim[triplet.inner] == claim_of(triplet, i))
                atomicMin(&other_claim[triplet.outer], claim_of(triplet, i));
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < hits; i += blockDim.x) {
            const VeloTriplet triplet = triplets[begin + i];
            if (triplet.shape == NONE || other_claim[triplet.outer] != claim_of(triplet, i) ||
                claim[triplet.inner] != claim_of(triplet, i))
                continue;
            const u32 number = atomicAdd(&rows, 1u);
            if (number >= event.rows) continue;
            VeloRow& row = a.row[event.row + number];
            set_line(row, through(event.sorted[begin + i], event.sorted[triplet.inner]));
            row.score = triplet.score;
            row.hits = 3;
            row.missed = 0;
            // Candidates count in the order of the walk, then of shapes, then of middle hits.
            row.order = (PAIRS - 1 - current) << 27 | triplet.shape << 25 | i;
            u32* of_row = a.row_hits + u64(event.row + number) * ROW;
            of_row[0] = triplet.outer, of_row[1] = begin + i, of_row[2] = triplet.inner;
            active[atomicAdd(&active_count[side], 1u)] = event.row + number;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < hits; i += blockDim.x) {
            const VeloTriplet triplet = triplets[begin + i];
            if (triplet.shape != NONE) claim[triplet.inner] = other_claim[triplet.outer] = NONE64;
        }
        // More candidates than there is room for: the event is given up, or tried again in a smaller slice.
        if (rows > event.rows) break;
    }
    if (cut > 0) atomicAdd(&a.cut_short[event.number], cut);
    __syncthreads();
    if (threadIdx.x == 0) {
        a.row_count[event.number] = rows;
        if (rows > event.rows) a.state[event.number] = TOO_MANY_TRACKS;
    }
}

// First pass: narrow windows, hardly ever with two hits. Second pass: wide windows over what is left. With more than
// seven blocks a multiprocessor there are too few registers.
KERNEL(velo_find_first, VeloArgs, 128, 7) { find<1>(a); }
KERNEL(velo_find_second, VeloArgs, 128, 7) { find<4>(a); }

__device__ __forceinline__ bool all_hits(const u32* hits, u32 count, const u64* claim, u64 is) {
    for (u32 i = 0; i < count; i++)
        if (claim[hits[i]] != is) return false;
    return true;
}

// Takes over the candidates of a pass: all with four hits or more; then, the best first, those with three and a
// good score whose hits no track has. Turn by turn those are decided that no better undecided one shares a hit
// with. One block an event.
KERNEL(velo_accept, VeloArgs, 128) {
    __shared__ u32 accepted, weak_count, undecided;
    const Event event(a, blockIdx.x);
    if (a.state[event.number] != OK) return;
    const u32 begin = event.row + a.first_row_of_pass[event.number], end = event.row + a.row_count[event.number];
    u32* list = a.accepted + event.row;
    u32* weak = a.active + event.row;
    u64* claim = a.claim + event.first;
    if (threadIdx.x == 0) {
        accepted = a.accepted_count[event.number];
        weak_count = 0;
    }
    __syncthreads();
    const u32 before = accepted;
    // Nobody adds to the list before all know where it begins.
    __syncthreads();
    for (u32 number = begin + threadIdx.x; number < end; number += blockDim.x) {
        a.row[number].pass = a.pass;
        if (a.row[number].hits > 3) list[atomicAdd(&accepted, 1u)] = number;
        else if (a.row[number].score < a.passes[a.pass].weak_score) weak[atomicAdd(&weak_count, 1u)] = number;
    }
    __syncthreads();
    const u32 count = weak_count;
    for (u32 left = count; left > 0;) {
        if (threadIdx.x == 0) undecided = 0;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            if (weak[i] == NONE) continue;
            const u32* hits = a.row_hits + u64(weak[i]) * ROW;
            const u64 own = u64(rising(a.row[weak[i]].score)) << 32 | a.row[weak[i]].order;
            if (event.used[hits[0]] || event.used[hits[1]] || event.used[hits[2]]) weak[i] = NONE;
            else for (u32 k = 0; k < 3; k++) atomicMin(&claim[hits[k]], own);
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            if (weak[i] == NONE) continue;
            const u32* hits = a.row_hits + u64(weak[i]) * ROW;
            const u64 own = u64(rising(a.row[weak[i]].score)) << 32 | a.row[weak[i]].order;
            if (all_hits(hits, 3, claim, own)) {
                for (u32 k = 0; k < 3; k++) event.used[hits[k]] = 1;
                list[atomicAdd(&accepted, 1u)] = weak[i];
            } else atomicAdd(&undecided, 1u);
        }
        __syncthreads();
        left = undecided;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            if (weak[i] == NONE) continue;
            const u32* hits = a.row_hits + u64(weak[i]) * ROW;
            for (u32 k = 0; k < 3; k++) claim[hits[k]] = NONE64;
        }
        __syncthreads();
    }
    // From here on hits are places in the event's columns.
    for (u32 i = before + threadIdx.x; i < accepted; i += blockDim.x) {
        u32* hits = a.row_hits + u64(list[i]) * ROW;
        for (u32 k = 0; k < a.row[list[i]].hits; k++) hits[k] = event.sorted[hits[k]].source;
    }
    if (threadIdx.x == 0) a.accepted_count[event.number] = accepted;
}

// Long before short; those of one length in the order of passes, weak ones by score, others as they were found.
__device__ __forceinline__ bool goes_before(const VeloRow& one, const VeloRow& other) {
    if (one.hits != other.hits) return one.hits > other.hits;
    if (one.pass != other.pass) return one.pass < other.pass;
    const u32 own = one.hits == 3 ? rising(one.score) : 0, others = other.hits == 3 ? rising(other.score) : 0;
    return own != others ? own < others : one.order < other.order;
}

// Orders the tracks and drops those of which too many hits are on tracks before them, turn by turn as above.
// One block an event.
KERNEL(velo_order, VeloArgs, 128) {
    __shared__ u32 undecided;
    const Event event(a, blockIdx.x);
    u32 tracks = 0, hits_of_tracks = 0;
    if (a.state[event.number] == OK) {
        const u32 count = a.accepted_count[event.number];
        const u32* list = a.accepted + event.row;
        u32* order = a.order + event.row;
        u32* fate = a.active + event.row;
        u64* claim = a.claim + event.first;
        u8* taken = a.taken + event.first;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            const VeloRow own = a.row[list[i]];
            u32 rank = 0;
            for (u32 other = 0; other < count; other++) rank += goes_before(a.row[list[other]], own);
            order[rank] = list[i];
            fate[i] = 0;
        }
        __syncthreads();
        for (u32 left = count; left > 0;) {
            if (threadIdx.x == 0) undecided = 0;
            for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
                if (fate[i] != 0) continue;
                const u32* hits = a.row_hits + u64(order[i]) * ROW;
                for (u32 k = 0; k < a.row[order[i]].hits; k++) atomicMin(&claim[hits[k]], u64(i));
            }
            __syncthreads();
            for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
                if (fate[i] != 0) continue;
                const u32* hits = a.row_hits + u64(order[i]) * ROW;
                const u32 length = a.row[order[i]].hits;
                if (!all_hits(hits, length, claim, i)) {
                    atomicAdd(&undecided, 1u);
                    continue;
                }
                u32 held = 0;
                for (u32 k = 0; k < length; k++) held += taken[hits[k]];
                const bool keep = float(held) <= a.shared_hits * float(length);
                for (u32 k = 0; k < length && keep; k++) taken[hits[k]] = 1;
                // What was claimed is given back in the next step.
                fate[i] = keep ? 1 | 4 : 2 | 4;
            }
            __syncthreads();
            left = undecided;
            for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
                if (fate[i] != 0 && !(fate[i] & 4)) continue;
                fate[i] &= 3;
                const u32* hits = a.row_hits + u64(order[i]) * ROW;
                for (u32 k = 0; k < a.row[order[i]].hits; k++) claim[hits[k]] = NONE64;
            }
            __syncthreads();
        }
        // The tracks that stay, and where the hits of each begin.
        for (u32 from = 0; from < count; from += blockDim.x) {
            const u32 i = from + threadIdx.x;
            const bool stays = i < count && fate[i] == 1;
            const u32 number = i < count ? order[i] : 0, length = stays ? a.row[number].hits : 0;
            u32 more, more_hits;
            const u32 place = tracks + sum_before(stays, more);
            const u32 first = hits_of_tracks + sum_before(length, more_hits);
            if (stays) {
                order[place] = number;
                a.first_hit[event.row + place] = first;
            }
            tracks += more;
            hits_of_tracks += more_hits;
        }
    }
    if (threadIdx.x == 0) {
        a.track_count[event.number] = tracks;
        a.hit_count[event.number] = hits_of_tracks;
    }
}

// Where the tracks and hits of each event begin, and the sums for the host. One block in all.
KERNEL(velo_offsets, VeloArgs, 1024) {
    __shared__ u32 given_up, cut[2];
    if (threadIdx.x == 0) given_up = cut[0] = cut[1] = 0;
    __syncthreads();
    u32 tracks = 0, hits = 0;
    for (u32 from = 0; from < a.events; from += blockDim.x) {
        const u32 event = from + threadIdx.x;
        const bool there = event < a.events;
        u32 more, more_hits;
        const u32 first = tracks + sum_before(there ? a.track_count[event] : 0, more);
        const u32 first_hit = hits + sum_before(there ? a.hit_count[event] : 0, more_hits);
        if (there) {
            a.track_count[event] = first;
            a.hit_count[event] = first_hit;
            if (a.state[event] == TOO_MANY_TRACKS && a.status[event] == OK) atomicAdd(&given_up, 1u);
            // Sums of 16 bits each cannot overflow.
            atomicAdd(&cut[0], a.cut_short[event] & 0xffff);
            atomicAdd(&cut[1], a.cut_short[event] >> 16);
        }
        tracks += more;
        hits += more_hits;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        a.summary[0] = tracks;
        a.summary[1] = hits;
        a.summary[2] = given_up;
        a.summary[3] = cut[0];
        a.summary[4] = cut[1];
    }
}

// Writes the lists of the tracks of an event. One block an event.
KERNEL(velo_list, VeloArgs, 128) {
    const Event event(a, blockIdx.x);
    const bool last = event.number + 1 == a.events;
    const u32 first = a.track_count[event.number], first_hit = a.hit_count[event.number];
    const u32 end = last ? a.summary[0] : a.track_count[event.number + 1];
    if (threadIdx.x == 0) {
        a.out_track_end[event.number] = end;
        a.out_status[event.number] = u16(a.state[event.number]);
    }
    for (u32 i = threadIdx.x; i < end - first; i += blockDim.x) {
        const u32 number = a.order[event.row + i], length = a.row[number].hits;
        const u32* hits = a.row_hits + u64(number) * ROW;
        u32* to = a.out_hits + first_hit + a.first_hit[event.row + i];
        for (u32 k = 0; k < length; k++) to[k] = a.id[event.first + hits[k]];
        a.out_hit_end[first + i] = first_hit + a.first_hit[event.row + i] + length;
        a.row_of_track[first + i] = number;
        a.event_of_track[first + i] = event.number;
    }
}

// A filtered state: position, slopes, the covariance of one projection, chi2 so far; covariances and chi2 in units of
// the hits' variance, as in velo/fit.rs.
struct State {
    float x, y, z, tx, ty, xx_and_hit, xt, tt, chi2;
};

__device__ __forceinline__ void update(State& s, float x, float y, float z, float noise) {
    const float tt = s.tt + noise;
    const float dz = z - s.z;
    const float before = fused(dz, s.xt, s.xx_and_hit);
    const float xt = fused(dz, tt, s.xt);
    const float inverse = divided(1.0f, fused(dz, xt, before));
    const float keep = before * inverse, gain = xt * inverse;
    const float dx = x - s.x, dy = y - s.y;
    const float rx = fused(-dz, s.tx, dx), ry = fused(-dz, s.ty, dy);
    s.x = fused(-inverse, rx, x);
    s.y = fused(-inverse, ry, y);
    s.z = z;
    s.tx = fused(gain, dx, keep * s.tx);
    s.ty = fused(gain, dy, keep * s.ty);
    s.tt = fused(-s.xt, s.xt, tt * s.xx_and_hit) * inverse;
    s.xx_and_hit = 2.0f - inverse;
    s.xt = gain;
    s.chi2 = fused(fused(rx, rx, ry * ry), inverse, s.chi2);
}

// z of the closest approach of a line to the beam line; a line along the beam stays where it is.
__device__ inline float closest_to_beam(const VeloArgs& a, float x, float y, float z, float tx, float ty) {
    const float slope2 = fused(tx, tx, ty * ty);
    const float along = fused(tx, a.beam_x - x, ty * (a.beam_y - y));
    return z + (slope2 < 1e-12f ? 0.0f : divided(along, larger(slope2, 1e-12f)));
}

// Writes the state, moved to `z`.
__device__ inline void store(const VeloArgs& a, float* to, u32 track, const State& s, float z) {
    const float dz = z - s.z;
    const float xt = fused(dz, s.tt, s.xt);
    const float xx = fused(dz, s.xt + xt, s.xx_and_hit - 1.0f);
    const float values[8] = {fused(dz, s.tx, s.x), fused(dz, s.ty, s.y), z, s.tx, s.ty,
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
    const float noise = fused(fused(tx, tx, ty * ty), a.noise_slope, a.noise_constant);
    const bool backward = zs[top] < closest_to_beam(a, xs[top], ys[top], zs[top], tx, ty);

    State down = {xs[top], ys[top], zs[top], tx, ty, 2.0f, 0.0f, a.hit_weight, 0.0f};
    State up = {xs[bottom], ys[bottom], zs[bottom], tx, ty, 2.0f, 0.0f, a.hit_weight, 0.0f};
    for (u32 i = 1; i <= last; i++) {
        const u32 here = hits[i], there = hits[last - i];
        update(down, xs[here], ys[here], zs[here], noise);
        update(up, xs[there], ys[there], zs[there], noise);
    }
    State beam = backward ? up : down;
    beam.tt += noise * a.noise_beam;
    up.tt += noise * a.noise_end;
    const float z = closest_to_beam(a, beam.x, beam.y, beam.z, beam.tx, beam.ty);
    store(a, a.out_beam, track, beam, z);
    store(a, a.out_end, track, up, a.end_z);
    a.out_chi2[track] = same_nan(beam.chi2 * a.hit_weight);
    a.out_backward[track] = backward;
}
