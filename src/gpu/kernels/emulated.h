// Runs the kernels on a CPU, for machines without a GPU: it stands before the kernel source in place of CUDA's
// own definitions. Every thread of a block is a fiber on one OS thread; a fiber gives way only at
// __syncthreads and at warp collectives, which complete once all lanes of their mask have arrived. Atomics are
// plain, since nothing runs in between. Blocks run one after another.
//
// `order` decides in which order lanes and blocks run: 0 forward, 1 in reverse, anything else is the seed of a
// random order that changes at every turn. A result that depends on it is a race. Misuse ends the program:
// a lane outside its own mask, different collectives under one mask, a barrier that some lanes never reach.
//
// Compiled with ThreadSanitizer, every lane is a thread to it: __syncthreads orders memory among the lanes of a block, __syncwarp
// among those of its mask, and nothing else does. Two variables are for tests then: EMULATED_BLOCKS=unordered leaves blocks
// unordered, too (their shared memory is one, so reports of thread-local memory mean nothing), and EMULATED_WITHOUT=N takes the
// barrier or __syncwarp of number N away. EMULATED_BARRIERS=FILE lists the numbers of those that were met, with their functions.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
// What the machine itself does is no kernel's access to memory.
#define EMULATED_MACHINE static __attribute__((noinline, no_sanitize("thread")))
#else
#define EMULATED_MACHINE inline
#endif

#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
// A block's memory: blocks of one OS thread run one at a time.
#define __shared__ static thread_local

namespace emulated {

enum Wait { RUNS, AT_BARRIER, AT_COLLECTIVE, DONE };
enum Collective { SHUFFLE, SHUFFLE_XOR, SHUFFLE_UP, BALLOT, SYNC };

#if defined(__SANITIZE_THREAD__)
// Its reports are written on the stack of the lane.
constexpr size_t STACK = 512 << 10;
#else
constexpr size_t STACK = 32 << 10;
#endif

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};

struct Fiber {
    void* stack_pointer = nullptr;
    std::unique_ptr<char, Free> stack;
    Wait wait = RUNS;
    Collective collective = SYNC;
    unsigned mask = 0, lane_or_distance = 0;
    uint64_t in = 0, out = 0;
#if !defined(__x86_64__)
    ucontext_t context;
#endif
#if defined(__SANITIZE_THREAD__)
    void* thread = nullptr;
    // What __syncwarp under a mask orders, of which this is the first lane.
    char order = 0;
#endif
};

struct Machine {
    std::vector<Fiber> fibers;
    std::vector<unsigned> turn;
    Fiber scheduler;
    unsigned current = 0, threads = 0, block = 0, blocks = 0;
    uint64_t random = 0;
    void (*body)(const void*) = nullptr;
    const void* args = nullptr;
#if defined(__SANITIZE_THREAD__)
    // What __syncthreads orders, and the begin and end of lanes.
    char order = 0, begun = 0, ended = 0;
#endif
};

#if defined(__SANITIZE_THREAD__)
#define EMULATED_RELEASE(PLACE) __tsan_release(&(PLACE))
#define EMULATED_ACQUIRE(PLACE) __tsan_acquire(&(PLACE))
#else
#define EMULATED_RELEASE(PLACE)
#define EMULATED_ACQUIRE(PLACE)
#endif

[[noreturn]] inline void die(const char* what) {
    std::fprintf(stderr, "emulated device: %s\n", what);
    std::abort();
}

#if defined(__x86_64__)
// Saves what a function must keep, and takes up where another fiber did.
extern "C" void emulated_switch(void** save, void* load);
asm(R"(
.text
.local emulated_switch
.type emulated_switch,@function
emulated_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
#endif

EMULATED_MACHINE void swap(Fiber& from, Fiber& to) {
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to.thread, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(__x86_64__)
    emulated_switch(&from.stack_pointer, to.stack_pointer);
#else
    swapcontext(&from.context, &to.context);
#endif
}

// The machine of the fiber that runs. Where it lies stands at the beginning of the fiber's stack, which lies at a multiple of its
// size: fibers ask all the time, and thread-local variables of a shared library are found by a call.
EMULATED_MACHINE Machine& machine() {
    const uintptr_t on_stack = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    return **reinterpret_cast<Machine**>(on_stack & ~uintptr_t(STACK - 1));
}

EMULATED_MACHINE void give_way(Wait wait) {
    Machine& m = machine();
    Fiber& me = m.fibers[m.current];
    me.wait = wait;
    if (wait == AT_BARRIER) EMULATED_RELEASE(m.order);
    if (wait == DONE) EMULATED_RELEASE(m.ended);
    swap(me, m.scheduler);
    if (wait == AT_BARRIER) EMULATED_ACQUIRE(m.order);
}

EMULATED_MACHINE void fiber_main() {
    EMULATED_ACQUIRE(machine().begun);
    machine().body(machine().args);
    for (;;) give_way(DONE);
}

#if defined(__SANITIZE_THREAD__)
// Whether nothing orders the blocks of a launch.
EMULATED_MACHINE bool are_unordered() {
    static const bool unordered = std::getenv("EMULATED_BLOCKS") != nullptr;
    return unordered;
}
#endif

EMULATED_MACHINE void start(Machine& m, unsigned lane) {
    Fiber& fiber = m.fibers[lane];
    if (!fiber.stack) {
        fiber.stack.reset(static_cast<char*>(std::aligned_alloc(STACK, STACK)));
        if (!fiber.stack) die("no memory for stacks");
        *reinterpret_cast<Machine**>(fiber.stack.get()) = &m;
    }
    fiber.wait = RUNS;
#if defined(__SANITIZE_THREAD__)
    // A lane of another block is another thread, or the same one later.
    if (fiber.thread && are_unordered()) {
        __tsan_destroy_fiber(fiber.thread);
        fiber.thread = nullptr;
    }
    if (!fiber.thread) fiber.thread = __tsan_create_fiber(0);
#endif
#if defined(__x86_64__)
    // Not all at the same place of a page: they would share the same lines of the cache.
    const uintptr_t end = reinterpret_cast<uintptr_t>(fiber.stack.get()) + STACK - lane % 61 * 64;
    uintptr_t top = end & ~uintptr_t(15);
    void** place = reinterpret_cast<void**>(top);
    *--place = nullptr;
    *--place = reinterpret_cast<void*>(&fiber_main);
    for (int i = 0; i < 6; i++) *--place = nullptr;
    fiber.stack_pointer = place;
#else
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get() + 64;
    fiber.context.uc_stack.ss_size = STACK - 64;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, fiber_main, 0);
#endif
}

// Completes the collectives of a warp whose lanes have all arrived; says whether there was one.
EMULATED_MACHINE bool complete(Machine& m, unsigned warp) {
    const unsigned begin = 32 * warp, lanes = m.threads - begin < 32 ? m.threads - begin : 32;
    const unsigned exists = lanes == 32 ? ~0u : (1u << lanes) - 1;
    bool any = false;
    for (unsigned lane = 0; lane < lanes; lane++) {
        Fiber& first = m.fibers[begin + lane];
        if (first.wait != AT_COLLECTIVE) continue;
        const unsigned mask = first.mask & exists;
        bool all = true;
        unsigned ballot = 0;
        for (unsigned k = 0; k < lanes && all; k++) {
            if (!(mask >> k & 1)) continue;
            Fiber& other = m.fibers[begin + k];
            if (other.wait == DONE) die("a lane of a mask has ended");
            all = other.wait == AT_COLLECTIVE && other.mask == first.mask;
            if (all && other.collective != first.collective) die("different collectives under one mask");
            ballot |= unsigned(other.in != 0) << k;
        }
        if (!all) continue;
        for (unsigned k = 0; k < lanes; k++) {
            if (!(mask >> k & 1)) continue;
            Fiber& other = m.fibers[begin + k];
            unsigned from = k;
            if (other.collective == SHUFFLE) from = other.lane_or_distance & 31;
            if (other.collective == SHUFFLE_XOR) from = k ^ other.lane_or_distance;
            if (other.collective == SHUFFLE_UP) from = k >= other.lane_or_distance ? k - other.lane_or_distance : k;
            const bool there = from < lanes && (mask >> from & 1);
            other.out = other.collective == BALLOT ? ballot : m.fibers[begin + (there ? from : k)].in;
        }
        for (unsigned k = 0; k < lanes; k++)
            if (mask >> k & 1) m.fibers[begin + k].wait = RUNS;
        any = true;
    }
    return any;
}

EMULATED_MACHINE unsigned random_below(Machine& m, unsigned count) {
    m.random = m.random * 6364136223846793005u + 1442695040888963407u;
    return unsigned(m.random >> 33) % count;
}

// The order of so many lanes or blocks.
EMULATED_MACHINE void shuffle(Machine& m, std::vector<unsigned>& to, unsigned count, unsigned order) {
    to.resize(count);
    for (unsigned i = 0; i < count; i++) to[i] = order == 1 ? count - 1 - i : i;
    for (unsigned i = count; order > 1 && i > 1; i--) std::swap(to[i - 1], to[random_below(m, i)]);
}

EMULATED_MACHINE void run_block(Machine& m, unsigned order) {
#if defined(__SANITIZE_THREAD__)
    m.scheduler.thread = __tsan_get_current_fiber();
    EMULATED_RELEASE(m.begun);
#endif
    for (unsigned i = 0; i < m.threads; i++) start(m, i);
    for (unsigned left = m.threads; left > 0;) {
        bool moved = false;
        shuffle(m, m.turn, m.threads, order);
        for (unsigned i : m.turn) {
            if (m.fibers[i].wait != RUNS) continue;
            m.current = i;
            swap(m.scheduler, m.fibers[i]);
            left -= m.fibers[i].wait == DONE;
            moved = true;
        }
        for (unsigned warp = 0; 32 * warp < m.threads; warp++) moved |= complete(m, warp);
        if (moved || left == 0) continue;
        for (unsigned i = 0; i < m.threads; i++)
            if (m.fibers[i].wait != AT_BARRIER) die("a barrier or collective that some lanes never reach");
        for (unsigned i = 0; i < m.threads; i++) m.fibers[i].wait = RUNS;
    }
#if defined(__SANITIZE_THREAD__)
    if (!are_unordered()) EMULATED_ACQUIRE(m.ended);
#endif
}

EMULATED_MACHINE void launch(unsigned blocks, unsigned threads, unsigned order, void (*body)(const void*), const void* args) {
    static thread_local Machine m;
    if (threads == 0 || threads > 1024) die("a block has 1 to 1024 threads");
    if (m.fibers.size() < threads) m.fibers.resize(threads);
    m.threads = threads, m.blocks = blocks, m.body = body, m.args = args, m.random = order;
    std::vector<unsigned> queue;
    shuffle(m, queue, blocks, order);
    for (unsigned block : queue) {
        m.block = block;
        run_block(m, order);
    }
    EMULATED_ACQUIRE(m.ended);
}

EMULATED_MACHINE uint64_t collective(Collective what, unsigned mask, uint64_t in, unsigned lane_or_distance) {
    Machine& m = machine();
    Fiber& me = m.fibers[m.current];
    if (!(mask >> (m.current & 31) & 1)) die("a lane is not in its own mask");
    me.collective = what, me.mask = mask, me.in = in, me.lane_or_distance = lane_or_distance;
    [[maybe_unused]] Fiber& first = m.fibers[(m.current & ~31u) + __builtin_ctz(mask)];
    if (what == SYNC) EMULATED_RELEASE(first.order);
    give_way(AT_COLLECTIVE);
    if (what == SYNC) EMULATED_ACQUIRE(first.order);
    return me.out;
}

#if defined(__SANITIZE_THREAD__)
// The barriers that were met: by number, the functions that they are in.
struct Met {
    const char* functions[256] = {};
    ~Met() {
        const char* const path = std::getenv("EMULATED_BARRIERS");
        std::FILE* const file = path ? std::fopen(path, "w") : nullptr;
        if (!file) return;
        for (unsigned number = 0; number < 256; number++)
            if (functions[number]) std::fprintf(file, "%u %s\n", number, functions[number]);
        std::fclose(file);
    }
};
inline Met met;

// Whether a barrier stands: one may be taken away.
EMULATED_MACHINE bool stands(unsigned number, const char* function) {
    static const char* const without = std::getenv("EMULATED_WITHOUT");
    if (number >= 256) die("more barriers than are counted");
    met.functions[number] = function;
    return !without || number != unsigned(std::atoi(without));
}
#endif

EMULATED_MACHINE unsigned thread() { return machine().current; }
EMULATED_MACHINE unsigned block() { return machine().block; }
EMULATED_MACHINE unsigned threads() { return machine().threads; }
EMULATED_MACHINE unsigned blocks() { return machine().blocks; }

template <class T> uint64_t bits(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T> T value(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

struct Dim { unsigned x; };

} // namespace emulated

#define threadIdx (emulated::Dim{emulated::thread()})
#define blockIdx (emulated::Dim{emulated::block()})
#define blockDim (emulated::Dim{emulated::threads()})
#define gridDim (emulated::Dim{emulated::blocks()})

inline void __syncthreads() { emulated::give_way(emulated::AT_BARRIER); }
inline void __syncwarp(unsigned mask = ~0u) { emulated::collective(emulated::SYNC, mask, 0, 0); }
#if defined(__SANITIZE_THREAD__)
#define __syncthreads() (emulated::stands(__COUNTER__, __func__) ? __syncthreads() : void())
#define __syncwarp(...) (emulated::stands(__COUNTER__, __func__) ? __syncwarp(__VA_ARGS__) : void())
#endif
template <class T> T __shfl_sync(unsigned mask, T v, unsigned lane) {
    return emulated::value<T>(emulated::collective(emulated::SHUFFLE, mask, emulated::bits(v), lane));
}
template <class T> T __shfl_xor_sync(unsigned mask, T v, unsigned with) {
    return emulated::value<T>(emulated::collective(emulated::SHUFFLE_XOR, mask, emulated::bits(v), with));
}
template <class T> T __shfl_up_sync(unsigned mask, T v, unsigned distance) {
    return emulated::value<T>(emulated::collective(emulated::SHUFFLE_UP, mask, emulated::bits(v), distance));
}
inline unsigned __ballot_sync(unsigned mask, int yes) {
    return unsigned(emulated::collective(emulated::BALLOT, mask, yes != 0, 0));
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
inline unsigned __float_as_uint(float f) { return unsigned(emulated::bits(f)); }
inline float __uint_as_float(unsigned u) { return emulated::value<float>(u); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
#if defined(__SANITIZE_THREAD__)
// They order nothing but themselves.
template <class T> T atomicCAS(T* to, T is, T value) {
    __atomic_compare_exchange_n(to, &is, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return is;
}
template <class T, class Change> T emulated_change(T* to, Change change) {
    for (T old = __atomic_load_n(to, __ATOMIC_RELAXED);;) {
        const T before = atomicCAS(to, old, change(old));
        if (before == old) return old;
        old = before;
    }
}
template <class T> T atomicAdd(T* to, T value) { return emulated_change(to, [=](T old) { return T(old + value); }); }
template <class T> T atomicMin(T* to, T value) { return emulated_change(to, [=](T old) { return value < old ? value : old; }); }
template <class T> T atomicMax(T* to, T value) { return emulated_change(to, [=](T old) { return value > old ? value : old; }); }
#else
template <class T> T atomicAdd(T* to, T value) { T old = *to; *to = old + value; return old; }
template <class T> T atomicMin(T* to, T value) { T old = *to; if (value < old) *to = value; return old; }
template <class T> T atomicMax(T* to, T value) { T old = *to; if (value > old) *to = value; return old; }
template <class T> T atomicCAS(T* to, T is, T value) { T old = *to; if (old == is) *to = value; return old; }
#endif

// A kernel whose arguments are one struct, and how many threads a block has at most; NAME_bytes is the size of the arguments.
#define KERNEL(NAME, ARGS, ...)                                                                           \
    static void NAME##_body(const ARGS& a);                                                               \
    extern "C" { extern const unsigned NAME##_bytes; const unsigned NAME##_bytes = sizeof(ARGS); }        \
    extern "C" void NAME(unsigned blocks, unsigned threads, unsigned order, const void* args) {           \
        const unsigned bounds[] = {__VA_ARGS__};                                                          \
        if (threads > bounds[0]) emulated::die(#NAME " has too many threads");                            \
        emulated::launch(blocks, threads, order,                                                          \
            [](const void* a) { NAME##_body(*static_cast<const ARGS*>(a)); }, args);                      \
    }                                                                                                     \
    static void NAME##_body(const ARGS& a)
