//! The GPU modules, run on the CPU by an emulation of CUDA; with `PELOTON_TEST_DEVICE=gpu` on the first GPU. The built
//! program needs no other files: `cargo test --no-run` makes a program that runs on a machine without Rust.
#![cfg(feature = "cuda")]

#[path = "../common/mod.rs"]
mod common;

mod closed;
mod cylinder;
mod fake;
mod faults;
mod kernels;
mod races;
mod timepix;
mod ut;
mod velo;

use peloton::gpu::{Device, Order};
use std::sync::OnceLock;

/// Whether tests run on a GPU.
fn is_on_gpu() -> bool {
    match std::env::var("PELOTON_TEST_DEVICE") {
        Err(_) => false,
        Ok(device) if device == "emulated" => false,
        Ok(device) if device == "gpu" => true,
        Ok(other) => panic!("PELOTON_TEST_DEVICE is gpu or emulated, not {other}"),
    }
}

/// The device under test: the emulated one with lanes in this order, or the GPU, opened once.
fn device(order: Order) -> Device {
    static GPU: OnceLock<Device> = OnceLock::new();
    if is_on_gpu() {
        let open = || {
            fake::bring_lane_programs();
            Device::gpu(0).expect("a GPU")
        };
        return GPU.get_or_init(open).clone();
    }
    Device::emulated(order).expect("a C++ compiler")
}
