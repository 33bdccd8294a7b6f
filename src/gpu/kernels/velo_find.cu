// Velo tracks: search, choice and lists of tracks; stands behind velo.cu.

// Candidates as rows: the line through the last two hits, and the indices of all hits.
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
    const Meeting at = meet(a, pair, line, a.forward_chi2, a.scatter_slope, a.forward_inner_radius);
    // One that points where no hits can be never comes back.
    if (!at.can_have_hits) return false;
    const Nearest found = nearest(a, event, pair, line, at, true, a.forward_chi2, cut);
    if (found.index == NONE) return ++row.missed <= a.skipped_pairs;
    const VeloHit hit = event.sorted[found.index];
    set_line(row, through(line.x, line.y, line.z, hit.x, hit.y, hit.z));
    u32* hits = a.row_hits + u64(number) * ROW;
    hits[row.hits++] = found.index;
    row.missed = 0;
    row.low = pair;
    event.used[found.index] = 1;
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
        const u32 index = outer.index(number);
        if (event.used[index]) continue;
        const VeloHit hit = event.sorted[index];
        const Line line = through(hit, middle);
        const float slopes = slope2(line), moment = line.x * line.ty - line.y * line.tx;
        if (!(slopes < 1.0f && moment * moment < shape.doublet_doca * shape.doublet_doca * slopes)) continue;
        const Meeting at = meet(a, shape.below, line, shape.score, scatter_slope, a.inner_radius);
        // Past the beam there are ghosts alone.
        if (!(fused(at.x, line.x, at.y * line.y) > 0.0f) || !at.can_have_hits) continue;
        const Nearest inner = nearest(a, event, shape.below, line, at, false, shape.score, cut);
        if (inner.index == NONE) continue;
        const float doca = distance_to_beam(hit, event.sorted[inner.index]);
        const float score = fused(doca, shape.doca_weight, divided(inner.distance2, inner.variance));
        if (score < shape.score && (best.inner == NONE || score < best.score))
            best = {index, inner.index, number, score};
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
        const u32 number = from + threadIdx.x / LANES, index = begin + number;
        const bool there = number < hits && !event.used[index];
        VeloTriplet found = {NONE, NONE, 0.0f, NONE};
        for (u32 of = 0; of < 3; of++) {
            const Shape shape = shape_of(pass, of, current);
            if (shape.above == 0) continue;
            Triplet best = {NONE, NONE, NONE, 0.0f};
            if (there && found.shape == NONE)
                best = best_triplet(a, event, shape, event.sorted[index], pass.scatter_slope, lane, LANES, cut);
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
            a.triplets[event.first + index] = found;
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
            row.high = current + (triplet.shape == 1 ? 2 : 1);
            row.low = current - (triplet.shape == 2 ? 2 : 1);
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
        a.row[number].weak = a.row[number].hits == 3;
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
    // From here on hits are indices in the event's columns.
    for (u32 i = before + threadIdx.x; i < accepted; i += blockDim.x) {
        u32* hits = a.row_hits + u64(list[i]) * ROW;
        for (u32 k = 0; k < a.row[list[i]].hits; k++) hits[k] = event.sorted[hits[k]].source;
    }
    if (threadIdx.x == 0) a.accepted_count[event.number] = accepted;
}
