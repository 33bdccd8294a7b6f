// What stands before the kernel source on a GPU. The arguments of a kernel are one struct; behind it stands how many
// threads a block has at most, and where the compiler should not choose itself, how many blocks at least have to
// fit a multiprocessor.
#define KERNEL(NAME, ARGS, ...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__) NAME(const ARGS a)
