// A libcuda that runs kernels on the CPU: what src/gpu/driver/cuda.rs asks of NVIDIA's driver, on a machine without a GPU.
// As a driver may, it does nothing before a stream is waited for; it refuses what a driver refuses: calls before cuInit or without a
// context, nothing of zero bytes, copies and launches outside of what was allocated.
//
// FAKE_CUDA_KERNELS   the library with the kernels (peloton::gpu::emulated_library)
// FAKE_CUDA_VERSION   what the driver says that it is of; 13000 unless given
// FAKE_CUDA_GPUS      how many GPUs there are; 1 unless given
// FAKE_CUDA_SM        their compute capability, such as 90
// FAKE_CUDA_CONTROL   a file of six words of 8 bytes: which call from now on fails, counted from 1 (0: none); how many calls there were;
//                     0, or 1 to remember what is copied to the host, or 2 to copy just that again, in the same order, in place of all
//                     other work; what a GPU would have done, ns of CPU; where in this process the code of ut_tracklets is, a lane
//                     program (peloton::gpu::emulated_lanes), and bytes of its arguments. Without the file it loads, and its launch
//                     is refused
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace {

// Results, as NVIDIA numbers them.
enum Result {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY_FOR_GPU = 209,
    FILE_NOT_FOUND = 301,
    NOT_FOUND = 500,
    NOT_READY = 600,
    UNKNOWN = 999,
};

using Pointer = unsigned long long;

struct Context {};
struct Stream {
    std::vector<std::function<void()>> work;
};
struct Event {
    std::chrono::steady_clock::time_point time;
    bool is_done = false;
};
struct Function {
    void (*run)(unsigned, unsigned, unsigned, const void*);
    size_t bytes;
};

constexpr int MOST_GPUS = 8;
Context contexts[MOST_GPUS];
std::atomic<bool> is_started{false};
thread_local Context* current = nullptr;
// What is allocated, on the device and on the host: start and size.
std::map<uintptr_t, size_t> memory, host_memory;
std::mutex lock;

int number_of(const char* variable, int unless_given) {
    const char* text = std::getenv(variable);
    return text ? std::atoi(text) : unless_given;
}

std::atomic<uint64_t>* control() {
    static std::atomic<uint64_t>* const mapped = [] {
        const char* path = std::getenv("FAKE_CUDA_CONTROL");
        const int file = path ? open(path, O_RDWR) : -1;
        void* const bytes = file < 0 ? MAP_FAILED : mmap(nullptr, 48, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        return bytes == MAP_FAILED ? nullptr : static_cast<std::atomic<uint64_t>*>(bytes);
    }();
    return mapped;
}

// Whether this call is the one that is to fail.
bool fails() {
    std::atomic<uint64_t>* const of = control();
    if (!of) return false;
    of[1]++;
    uint64_t left = of[0];
    while (left > 0 && !of[0].compare_exchange_weak(left, left - 1)) {}
    return left == 1;
}

// What was copied to the host, and how much of that was copied again.
std::vector<std::vector<char>> copied;
size_t copied_again = 0;

enum Mode : uint64_t { RUN, REMEMBER, REPEAT };

// How work is done now; a stored result is begun anew with every change.
Mode mode() {
    static uint64_t before = RUN;
    const uint64_t now = control() ? control()[2].load() : RUN;
    if (now != before && now == REMEMBER) copied.clear();
    if (now != before) copied_again = 0;
    return Mode(before = now);
}

uint64_t cpu_ns() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

void copy_to_host(void* to, Pointer from, size_t bytes) {
    const auto* source = reinterpret_cast<const char*>(from);
    if (mode() == REMEMBER) copied.emplace_back(source, source + bytes);
    if (mode() == REPEAT) {
        const auto& stored = copied[copied_again++ % copied.size()];
        if (stored.size() != bytes) std::abort();
        source = stored.data();
    }
    std::memcpy(to, source, bytes);
}

// Whether so many bytes from there on are allocated.
bool holds(const std::map<uintptr_t, size_t>& all, uintptr_t start, size_t bytes) {
    const std::lock_guard<std::mutex> guard(lock);
    auto next = all.upper_bound(start);
    if (next == all.begin()) return false;
    --next;
    return start >= next->first && start + bytes <= next->first + next->second;
}

void* allocate(std::map<uintptr_t, size_t>& all, size_t bytes, int garbage) {
    void* const start = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!start) return nullptr;
    std::memset(start, garbage, bytes);
    const std::lock_guard<std::mutex> guard(lock);
    all[reinterpret_cast<uintptr_t>(start)] = bytes;
    return start;
}

bool release(std::map<uintptr_t, size_t>& all, uintptr_t start) {
    {
        const std::lock_guard<std::mutex> guard(lock);
        if (all.erase(start) == 0) return false;
    }
    std::free(reinterpret_cast<void*>(start));
    return true;
}

bool has_context() {
    return current != nullptr;
}

} // namespace

#define CALL                                  \
    if (fails()) return UNKNOWN;              \
    if (!is_started) return NOT_INITIALIZED
#define CALL_IN_CONTEXT                       \
    CALL;                                     \
    if (!has_context()) return INVALID_CONTEXT

extern "C" {

int cuDriverGetVersion(int* version) {
    if (fails()) return UNKNOWN;
    *version = number_of("FAKE_CUDA_VERSION", 13000);
    return SUCCESS;
}

int cuInit(unsigned) {
    if (fails()) return UNKNOWN;
    if (number_of("FAKE_CUDA_GPUS", 1) == 0) return NO_DEVICE;
    is_started = true;
    return SUCCESS;
}

int cuDeviceGetCount(int* count) {
    CALL;
    *count = number_of("FAKE_CUDA_GPUS", 1);
    return SUCCESS;
}

int cuDeviceGet(int* device, int number) {
    CALL;
    if (number < 0 || number >= number_of("FAKE_CUDA_GPUS", 1) || number >= MOST_GPUS) return INVALID_DEVICE;
    *device = number;
    return SUCCESS;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
    CALL;
    const int sm = number_of("FAKE_CUDA_SM", 90);
    // Major and minor compute capability.
    *value = attribute == 75 ? sm / 10 : attribute == 76 ? sm % 10 : 1;
    return SUCCESS;
}

int cuDeviceGetName(char* name, int length, int) {
    CALL;
    std::snprintf(name, size_t(length), "fake GPU");
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
    CALL;
    *context = &contexts[device];
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int) {
    CALL;
    return SUCCESS;
}

int cuCtxGetCurrent(void** context) {
    CALL;
    *context = current;
    return SUCCESS;
}

int cuCtxSetCurrent(void* context) {
    CALL;
    current = static_cast<Context*>(context);
    return SUCCESS;
}

int cuCtxSynchronize() {
    CALL_IN_CONTEXT;
    return SUCCESS;
}

int cuModuleLoadData(void** module, const void* image) {
    CALL_IN_CONTEXT;
    // Machine code, or PTX, which begins with a comment.
    if (std::memcmp(image, "\177ELF", 4) != 0 && std::memcmp(image, "//", 2) != 0) return INVALID_IMAGE;
    // The code of lane programs for a CPU is in the program itself.
    if (std::strstr(static_cast<const char*>(image), ".entry ut_tracklets(")) {
        *module = dlopen(nullptr, RTLD_NOW);
        return SUCCESS;
    }
    const char* const path = std::getenv("FAKE_CUDA_KERNELS");
    *module = path ? dlopen(path, RTLD_NOW) : nullptr;
    return *module ? SUCCESS : FILE_NOT_FOUND;
}

int cuModuleUnload(void* module) {
    CALL_IN_CONTEXT;
    dlclose(module);
    return SUCCESS;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
    CALL_IN_CONTEXT;
    if (std::strcmp(name, "ut_tracklets") == 0) {
        using Run = void (*)(unsigned, unsigned, unsigned, const void*);
        const auto* const of = control();
        *function = of ? new Function{reinterpret_cast<Run>(of[4].load()), of[5].load()} : new Function{nullptr, 0};
        return SUCCESS;
    }
    void* const run = dlsym(module, name);
    const void* const bytes = dlsym(module, (std::string(name) + "_bytes").c_str());
    if (!run || !bytes) return NOT_FOUND;
    // As long as the program: a module is loaded once or twice.
    *function = new Function{reinterpret_cast<void (*)(unsigned, unsigned, unsigned, const void*)>(run),
                             *static_cast<const unsigned*>(bytes)};
    return SUCCESS;
}

int cuStreamCreate(void** stream, unsigned) {
    CALL_IN_CONTEXT;
    *stream = new Stream;
    return SUCCESS;
}

int cuStreamSynchronize(void* stream) {
    CALL_IN_CONTEXT;
    auto& work = static_cast<Stream*>(stream)->work;
    const uint64_t begin = cpu_ns();
    for (auto& one : work) one();
    work.clear();
    if (control()) control()[3] += cpu_ns() - begin;
    return SUCCESS;
}

int cuStreamDestroy_v2(void* stream) {
    CALL_IN_CONTEXT;
    delete static_cast<Stream*>(stream);
    return SUCCESS;
}

int cuMemAlloc_v2(Pointer* to, size_t bytes) {
    CALL_IN_CONTEXT;
    if (bytes == 0) return INVALID_VALUE;
    *to = reinterpret_cast<Pointer>(allocate(memory, bytes, 0xa5));
    return *to ? SUCCESS : 2;
}

int cuMemFree_v2(Pointer start) {
    CALL_IN_CONTEXT;
    return release(memory, start) ? SUCCESS : INVALID_VALUE;
}

int cuMemHostAlloc(void** to, size_t bytes, unsigned) {
    CALL_IN_CONTEXT;
    if (bytes == 0) return INVALID_VALUE;
    *to = allocate(host_memory, bytes, 0x5a);
    return *to ? SUCCESS : 2;
}

int cuMemFreeHost(void* start) {
    CALL_IN_CONTEXT;
    return release(host_memory, reinterpret_cast<uintptr_t>(start)) ? SUCCESS : INVALID_VALUE;
}

int cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t bytes, void* stream) {
    CALL_IN_CONTEXT;
    if (!holds(memory, to, bytes) || !holds(host_memory, reinterpret_cast<uintptr_t>(from), bytes)) return INVALID_VALUE;
    static_cast<Stream*>(stream)->work.push_back([=] {
        if (mode() != REPEAT) std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    });
    return SUCCESS;
}

int cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t bytes, void* stream) {
    CALL_IN_CONTEXT;
    if (!holds(memory, from, bytes) || !holds(host_memory, reinterpret_cast<uintptr_t>(to), bytes)) return INVALID_VALUE;
    static_cast<Stream*>(stream)->work.push_back([=] { copy_to_host(to, from, bytes); });
    return SUCCESS;
}

int cuMemsetD8Async(Pointer start, unsigned char value, size_t bytes, void* stream) {
    CALL_IN_CONTEXT;
    if (!holds(memory, start, bytes)) return INVALID_VALUE;
    static_cast<Stream*>(stream)->work.push_back([=] {
        if (mode() != REPEAT) std::memset(reinterpret_cast<void*>(start), value, bytes);
    });
    return SUCCESS;
}

int cuEventCreate(void** event, unsigned) {
    CALL_IN_CONTEXT;
    *event = new Event;
    return SUCCESS;
}

int cuEventDestroy_v2(void* event) {
    CALL_IN_CONTEXT;
    delete static_cast<Event*>(event);
    return SUCCESS;
}

int cuEventRecord(void* event, void* stream) {
    CALL_IN_CONTEXT;
    auto* const of = static_cast<Event*>(event);
    of->is_done = false;
    static_cast<Stream*>(stream)->work.push_back([=] {
        of->time = std::chrono::steady_clock::now();
        of->is_done = true;
    });
    return SUCCESS;
}

int cuEventElapsedTime(float* ms, void* from, void* to) {
    CALL_IN_CONTEXT;
    const auto *const before = static_cast<Event*>(from), *const after = static_cast<Event*>(to);
    if (!before->is_done || !after->is_done) return NOT_READY;
    *ms = std::chrono::duration<float, std::milli>(after->time - before->time).count();
    return SUCCESS;
}

int cuLaunchKernel(void* function, unsigned blocks, unsigned blocks_y, unsigned blocks_z, unsigned threads, unsigned threads_y,
                   unsigned threads_z, unsigned shared, void* stream, void** parameters, void** extra) {
    CALL_IN_CONTEXT;
    const auto* const of = static_cast<Function*>(function);
    const bool is_flat = blocks_y == 1 && blocks_z == 1 && threads_y == 1 && threads_z == 1;
    if (blocks == 0 || threads == 0 || threads > 1024 || !is_flat || shared > 0 || extra) return INVALID_VALUE;
    if (!of->run) return NO_BINARY_FOR_GPU;
    // Copied before the call returns, as a driver does.
    const auto* const bytes = static_cast<const char*>(parameters[0]);
    const std::vector<char> args(bytes, bytes + of->bytes);
    static_cast<Stream*>(stream)->work.push_back([=] {
        if (mode() != REPEAT) of->run(blocks, threads, 0, args.data());
    });
    return SUCCESS;
}

int cuGetErrorString(int result, const char** text) {
    *text = result == UNKNOWN ? "planted" : "refused by the fake driver";
    return SUCCESS;
}

int cuGetErrorName(int, const char** text) {
    *text = "FAKE";
    return SUCCESS;
}

} // extern "C"
