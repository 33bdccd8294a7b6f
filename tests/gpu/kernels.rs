//! Every kernel compiles for current GPUs, within limits on its resources.

use peloton::gpu::{KERNELS, Libraries, usage};

/// Volta, Turing, Ampere, Hopper, Blackwell.
const ARCHITECTURES: [&str; 5] = ["sm_70", "sm_75", "sm_80", "sm_90", "sm_120"];

#[test]
fn every_kernel_compiles_and_none_spills() {
    if !Libraries::find().compiler {
        let is_promised = std::env::var_os("PELOTON_NVRTC").is_some();
        assert!(!is_promised, "no libnvrtc where PELOTON_NVRTC says: .ci/nvrtc-setup brings it");
        eprintln!("skipped: no libnvrtc on the library path (.ci/nvrtc-setup brings it)");
        return;
    }
    println!(
        "{:20} {:>6} {:>9} {:>8} {:>7} {:>7}",
        "kernel", "arch", "registers", "shared B", "stack B", "spill B"
    );
    for architecture in ARCHITECTURES {
        let all = usage(architecture).expect("kernels that compile");
        for kernel in KERNELS {
            let found = all.iter().find(|usage| usage.kernel == kernel).expect("an entry for each kernel");
            let (registers, shared) = (found.registers, found.shared);
            println!(
                "{:20} {architecture:>6} {registers:>9} {shared:>8} {:>7} {:>7}",
                found.kernel, found.stack, found.spills
            );
            assert_eq!((found.stack, found.spills), (0, 0), "{} uses local memory on {architecture}", kernel);
            assert!((8..=128).contains(&registers), "{}: {registers} registers", kernel);
            assert!(shared <= 48 << 10, "{}: {shared} bytes of shared memory", kernel);
        }
        assert_eq!(all.len(), KERNELS.len());
    }
}
