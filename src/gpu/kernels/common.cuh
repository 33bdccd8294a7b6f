// What all kernels share: names of types, and arithmetic that gives the CPU's bits. Sums and products are
// rounded one by one (-fmad=false) and fused only where the CPU does it.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

constexpr u32 NONE = 0xffffffffu;
constexpr u64 NONE64 = ~0ull;

__device__ __forceinline__ float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ float divided(float a, float b) { return __fdiv_rn(a, b); }
__device__ __forceinline__ float root(float a) { return __fsqrt_rn(a); }
__device__ __forceinline__ float absolute(float a) { return __uint_as_float(__float_as_uint(a) & 0x7fffffffu); }
// The second when one of them is NaN.
__device__ __forceinline__ float smaller(float a, float b) { return a < b ? a : b; }
__device__ __forceinline__ float larger(float a, float b) { return a > b ? a : b; }
// One NaN for all NaNs.
__device__ __forceinline__ float same_nan(float a) { return a == a ? a : __uint_as_float(0x7fc00000u); }

// Truncation towards zero, as two's complement; what does not fit and NaN give 2^31.
__device__ __forceinline__ u32 truncated(float a) {
    return a < 2147483648.0f && a > -2147483648.0f ? u32(int(a)) : 0x80000000u;
}

// Rising with the value, -0 before 0.
__device__ __forceinline__ u32 rising(float a) {
    const u32 bits = __float_as_uint(a);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

// Sum of the values of the threads before this one; `total` is that of all. Every thread of the block calls it.
__device__ inline u32 sum_before(u32 value, u32& total) {
    __shared__ u32 sums[33];
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (blockDim.x + 31) >> 5;
    u32 sum = value;
    for (u32 distance = 1; distance < 32; distance *= 2) {
        const u32 below = __shfl_up_sync(~0u, sum, distance);
        if (lane >= distance) sum += below;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 before = 0;
        for (u32 i = 0; i < warps; i++) {
            const u32 own = sums[i];
            sums[i] = before;
            before += own;
        }
        sums[32] = before;
    }
    __syncthreads();
    total = sums[32];
    sum += sums[warp] - value;
    // The next call writes to the same memory.
    __syncthreads();
    return sum;
}
