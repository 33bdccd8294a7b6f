// What stands before the kernel source on a GPU. A kernel has at most THREADS threads per block, and its
// arguments are one struct.
#define KERNEL(NAME, ARGS, THREADS) extern "C" __global__ void __launch_bounds__(THREADS) NAME(const ARGS a)
