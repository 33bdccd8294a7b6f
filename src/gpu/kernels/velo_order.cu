// Velo tracks: parts that are one track, choice, and lists of tracks; stands behind velo_find.cu.

__device__ __forceinline__ VeloHit column_hit(const VeloArgs& a, const Event& event, u32 hit) {
    const u32 i = event.first + hit;
    return {a.x[i], a.y[i], a.z[i], hit};
}

// The line of the last two hits of a track at the last one, or of the first two at the first one.
__device__ inline Line line_at_end(const VeloArgs& a, const Event& event, u32 number, bool low) {
    const u32* hits = a.row_hits + u64(number) * ROW;
    const u32 last = low ? a.row[number].hits - 1 : 0, before = low ? last - 1 : 1;
    return through(column_hit(a, event, hits[before]), column_hit(a, event, hits[last]));
}

// Whether a track meets the pair beyond one of its ends where most hits of sensors are.
__device__ inline bool may_go_on(const VeloArgs& a, const Event& event, u32 number, bool low) {
    const u32 pair = low ? a.row[number].low - 1 : a.row[number].high + 1;
    if (pair >= PAIRS) return false;
    const Line line = line_at_end(a, event, number, low);
    const float to_pair = a.pair_middle[pair] - line.z;
    const float x = fused(line.tx, to_pair, line.x), y = fused(line.ty, to_pair, line.y);
    const float radius2 = fused(x, x, y * y);
    return a.sensors_inner2 < radius2 && radius2 < a.sensors_outer2;
}

// chi2 of a point to a line.
__device__ inline float chi2_of(const VeloArgs& a, const Line& line, const Line& point) {
    const float scatter = fused(slope2(line), a.scatter_slope, a.scatter_constant);
    const float dz = point.z - line.z;
    const float dx = fused(line.tx, dz, line.x) - point.x, dy = fused(line.ty, dz, line.y) - point.y;
    return divided(fused(dx, dx, dy * dy), variance(a, line, scatter, dz));
}

// Whether a track that scores `sum` goes before one that scores `best`; of equals the one that was found first does.
__device__ __forceinline__ bool is_better(float sum, const VeloRow& row, float best, const VeloRow& other) {
    if (sum != best) return sum < best;
    return row.pass != other.pass ? row.pass < other.pass : row.order < other.order;
}

// Threads of a block that goes over pairs of tracks: as many tracks are in shared memory at once.
constexpr u32 TRACKS = 128;

// A track as those below it see it: its first two hits' line, its upper pair, or NONE where it does not go on.
struct Upper {
    Line back;
    u32 number, high;
};

// The track that one wants behind its low end, and how well they fit.
struct Wish {
    u32 next, number;
    float score;
};

// Joins tracks of which one begins in the pair after the one where the other ends: a particle that scatters leaves two.
// One block an event.
KERNEL(velo_join, VeloArgs, TRACKS) {
    __shared__ Upper uppers[TRACKS];
    __shared__ Wish wishes[TRACKS];
    const Event event(a, blockIdx.x);
    if (a.state[event.number] != OK) return;
    const u32 count = a.accepted_count[event.number];
    u32* list = a.accepted + event.row;
    // By row: whether its ends may go on (1: low, 2: high), the row behind its low end, their score, the row before it.
    u32 *ends = a.first_hit, *next = a.active, *score = a.other_active, *holder = a.order;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
        const u32 number = list[i];
        ends[number] = may_go_on(a, event, number, true) | may_go_on(a, event, number, false) << 1;
    }
    for (u32 from = 0; from < count; from += blockDim.x) {
        const u32 i = from + threadIdx.x, number = i < count ? list[i] : 0;
        const bool seeks = i < count && ends[number] & 1;
        const Line line = seeks ? line_at_end(a, event, number, true) : Line{0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        const u32 low = seeks ? a.row[number].low : 0;
        float best = a.join_chi2;
        u32 partner = NONE;
        for (u32 first = 0; first < count; first += blockDim.x) {
            // All have read the tracks before, and written whether theirs go on.
            __syncthreads();
            const bool there = first + threadIdx.x < count;
            const u32 other = there ? list[first + threadIdx.x] : 0;
            const bool goes_on = there && ends[other] & 2;
            uppers[threadIdx.x].high = goes_on ? a.row[other].high : NONE;
            if (goes_on) {
                uppers[threadIdx.x].back = line_at_end(a, event, other, false);
                uppers[threadIdx.x].number = other;
            }
            __syncthreads();
            for (u32 k = 0; seeks && k < blockDim.x && first + k < count; k++) {
                // What seeks ends above pair 0.
                if (uppers[k].high + 1 != low) continue;
                const Upper& upper = uppers[k];
                const float sum = chi2_of(a, line, upper.back) + chi2_of(a, upper.back, line);
                if (!(sum < a.join_chi2)) continue;
                if (partner != NONE && !is_better(sum, a.row[upper.number], best, a.row[partner])) continue;
                best = sum;
                partner = upper.number;
            }
        }
        if (i < count) {
            next[number] = partner;
            score[number] = __float_as_uint(best);
        }
    }
    // A track that several want.
    for (u32 from = 0; from < count; from += blockDim.x) {
        const u32 i = from + threadIdx.x, number = i < count ? list[i] : NONE;
        float best = 0.0f;
        u32 chosen = NONE;
        for (u32 first = 0; first < count; first += blockDim.x) {
            __syncthreads();
            const bool there = first + threadIdx.x < count;
            const u32 other = there ? list[first + threadIdx.x] : 0;
            wishes[threadIdx.x].next = there ? next[other] : NONE;
            if (there) {
                wishes[threadIdx.x].number = other;
                wishes[threadIdx.x].score = __uint_as_float(score[other]);
            }
            __syncthreads();
            for (u32 k = 0; i < count && k < blockDim.x && first + k < count; k++) {
                if (wishes[k].next != number) continue;
                const Wish& wish = wishes[k];
                if (chosen != NONE && !is_better(wish.score, a.row[wish.number], best, a.row[chosen])) continue;
                best = wish.score;
                chosen = wish.number;
            }
        }
        if (i < count) holder[number] = chosen;
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < count; i += blockDim.x)
        if (next[list[i]] != NONE && holder[next[list[i]]] != list[i]) next[list[i]] = NONE;
    __syncthreads();
    u32 kept = 0;
    for (u32 from = 0; from < count; from += blockDim.x) {
        const u32 i = from + threadIdx.x;
        const u32 number = i < count ? list[i] : 0;
        const bool stays = i < count && holder[number] == NONE;
        for (u32 part = stays ? next[number] : NONE; part != NONE; part = next[part]) {
            const u32* hits = a.row_hits + u64(part) * ROW;
            u32* to = a.row_hits + u64(number) * ROW;
            for (u32 k = 0; k < a.row[part].hits; k++) to[a.row[number].hits++] = hits[k];
        }
        u32 more;
        // All threads have read when the first one writes.
        const u32 index = kept + sum_before(stays, more);
        if (stays) list[index] = number;
        kept += more;
    }
    if (threadIdx.x == 0) a.accepted_count[event.number] = kept;
}

// How a track compares with others, the smaller, the earlier: long before short; those of one length in the order of
// passes, those accepted as weak by score, others, and those that are equal in all this, as found.
__device__ __forceinline__ u64 standing(const VeloRow& row) {
    return u64(255 - row.hits) << 33 | u64(row.pass) << 32 | (row.weak ? rising(row.score) : 0);
}

// Orders the tracks and drops those of which too many hits are on tracks before them, turn by turn as above.
// One block an event.
KERNEL(velo_order, VeloArgs, TRACKS) {
    __shared__ u32 undecided;
    __shared__ u64 standings[TRACKS];
    __shared__ u32 orders[TRACKS];
    const Event event(a, blockIdx.x);
    u32 tracks = 0, hits_of_tracks = 0;
    if (a.state[event.number] == OK) {
        const u32 count = a.accepted_count[event.number];
        const u32* list = a.accepted + event.row;
        u32* order = a.order + event.row;
        u32* fate = a.active + event.row;
        u64* claim = a.claim + event.first;
        u8* taken = a.taken + event.first;
        for (u32 from = 0; from < count; from += blockDim.x) {
            const u32 i = from + threadIdx.x, number = i < count ? list[i] : 0;
            const u64 own = i < count ? standing(a.row[number]) : 0;
            const u32 own_order = i < count ? a.row[number].order : 0;
            u32 rank = 0;
            for (u32 first = 0; first < count; first += blockDim.x) {
                // All have compared with the tracks before.
                __syncthreads();
                if (first + threadIdx.x < count) {
                    const VeloRow& other = a.row[list[first + threadIdx.x]];
                    standings[threadIdx.x] = standing(other);
                    orders[threadIdx.x] = other.order;
                }
                __syncthreads();
                for (u32 other = 0; other < blockDim.x && first + other < count; other++)
                    rank += standings[other] < own || (standings[other] == own && orders[other] < own_order);
            }
            if (i < count) {
                order[rank] = number;
                fate[i] = 0;
            }
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
            const u32 index = tracks + sum_before(stays, more);
            const u32 first = hits_of_tracks + sum_before(length, more_hits);
            if (stays) {
                order[index] = number;
                a.first_hit[event.row + index] = first;
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

// What velo_totals counts beside tracks and hits: events given up, and hits cut off, the sums of lower and of upper halves.
constexpr u32 OTHER_TOTALS = 3;

// Totals of a stretch of events, each in a list with an entry for every stretch. One block a stretch.
KERNEL(velo_totals, VeloArgs, TILE_THREADS) {
    sum_stretch(a.track_count, a.sums, a.events);
    sum_stretch(a.hit_count, a.sums + gridDim.x, a.events);
    const u32 begin = blockIdx.x * STRETCH, end = begin + STRETCH < a.events ? begin + STRETCH : a.events;
    u32 own[OTHER_TOTALS] = {0, 0, 0};
    for (u32 event = begin + threadIdx.x; event < end; event += blockDim.x) {
        own[0] += a.state[event] == TOO_MANY_TRACKS && a.status[event] == OK;
        // Sums of 16 bits each cannot overflow.
        own[1] += a.cut_short[event] & 0xffff;
        own[2] += a.cut_short[event] >> 16;
    }
#pragma unroll
    for (u32 k = 0; k < OTHER_TOTALS; k++) {
        u32 total;
        sum_before(own[k], total);
        if (threadIdx.x == 0) a.sums[(2 + k) * gridDim.x + blockIdx.x] = total;
    }
}

// Where the tracks and hits of each event begin, given the totals; the last block gives the host the sums of all. One block a
// stretch.
KERNEL(velo_offsets, VeloArgs, TILE_THREADS) {
    const u32 tracks = sums_before(a.track_count, a.sums, a.events);
    const u32 hits = sums_before(a.hit_count, a.sums + gridDim.x, a.events);
    if (blockIdx.x + 1 < gridDim.x) return;
#pragma unroll
    for (u32 k = 0; k < OTHER_TOTALS; k++) {
        u32 own = 0, total;
        for (u32 i = threadIdx.x; i < gridDim.x; i += blockDim.x) own += a.sums[(2 + k) * gridDim.x + i];
        sum_before(own, total);
        if (threadIdx.x == 0) a.summary[2 + k] = total;
    }
    if (threadIdx.x == 0) {
        a.summary[0] = tracks;
        a.summary[1] = hits;
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
