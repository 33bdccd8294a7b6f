// Stable radix sort of 64-bit keys with 32-bit values, eight bits a pass: counts of a tile, their sums, indices.

constexpr u32 TILE = 4096, TILE_THREADS = 256, TILE_WARPS = TILE_THREADS / 32, DIGITS = 256;

// How often each digit comes in a tile. One block of TILE_THREADS a tile.
__device__ inline void count_digits(const u64* keys, u32* counts_of_all, u32 items, u32 shift) {
    __shared__ u32 counts[DIGITS];
    const u32 begin = blockIdx.x * TILE, end = begin + TILE < items ? begin + TILE : items;
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (u32 i = begin + threadIdx.x; i < end; i += blockDim.x) atomicAdd(&counts[u32(keys[i] >> shift) % DIGITS], 1u);
    __syncthreads();
    counts_of_all[threadIdx.x * gridDim.x + blockIdx.x] = counts[threadIdx.x];
}

// Counts of a stretch, of which each block of TILE_THREADS sums one.
constexpr u32 STRETCH = 4 * TILE_THREADS;

// The sum of a stretch of counts, for `sums_before`. One block of TILE_THREADS a stretch.
__device__ inline void sum_stretch(const u32* counts, u32* sums, u32 count) {
    const u32 begin = blockIdx.x * STRETCH, end = begin + STRETCH < count ? begin + STRETCH : count;
    u32 own = 0, total;
    for (u32 i = begin + threadIdx.x; i < end; i += blockDim.x) own += counts[i];
    sum_before(own, total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// Replaces the counts of a stretch by the sums of all counts before them, given the sum of each stretch. One block of TILE_THREADS
// a stretch. Returns the sum of the counts up to the end of this stretch.
__device__ inline u32 sums_before(u32* counts, const u32* sums, u32 count) {
    u32 own = 0, before;
    for (u32 i = threadIdx.x; i < blockIdx.x; i += blockDim.x) own += sums[i];
    sum_before(own, before);
    const u32 begin = blockIdx.x * STRETCH, end = begin + STRETCH < count ? begin + STRETCH : count;
    for (u32 from = begin; from < end; from += blockDim.x) {
        const u32 i = from + threadIdx.x;
        u32 total;
        const u32 sum = sum_before(i < end ? counts[i] : 0, total);
        if (i < end) counts[i] = before + sum;
        before += total;
    }
    return before;
}

// Brings keys and values of a tile to their indices by digit, those of one digit in their order. A warp has a
// stretch of the tile to itself. One block of TILE_THREADS a tile.
__device__ inline void scatter_digits(const u64* keys, const u32* values, u64* other_keys, u32* other_values,
                                      const u32* counts, u32 items, u32 shift) {
    __shared__ u32 indices[TILE_WARPS][DIGITS];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, own = TILE / TILE_WARPS;
    const u32 begin = blockIdx.x * TILE + warp * own;
    for (u32 of = 0; of < TILE_WARPS; of++) indices[of][threadIdx.x] = 0;
    __syncthreads();
    for (u32 i = begin + lane; i < begin + own && i < items; i += 32)
        atomicAdd(&indices[warp][u32(keys[i] >> shift) % DIGITS], 1u);
    __syncthreads();
    u32 index = counts[threadIdx.x * gridDim.x + blockIdx.x];
    for (u32 of = 0; of < TILE_WARPS; of++) {
        const u32 count = indices[of][threadIdx.x];
        indices[of][threadIdx.x] = index;
        index += count;
    }
    __syncthreads();
    for (u32 from = begin; from < begin + own; from += 32) {
        const u32 i = from + lane;
        const bool there = i < items;
        const u64 key = there ? keys[i] : 0;
        const u32 digit = u32(key >> shift) % DIGITS;
        // Lanes with the same digit.
        u32 peers = __ballot_sync(~0u, there);
        for (u32 bit = 0; bit < 8; bit++) {
            const u32 set = __ballot_sync(~0u, digit >> bit & 1);
            peers &= digit >> bit & 1 ? set : ~set;
        }
        const u32 before = __popc(peers & ((1u << lane) - 1));
        const u32 to = indices[warp][digit] + before;
        __syncwarp();
        if (there) {
            other_keys[to] = key;
            other_values[to] = values[i];
            if (before == 0) indices[warp][digit] += __popc(peers);
        }
        __syncwarp();
    }
}
