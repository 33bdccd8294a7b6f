//! Identifies the model of this CPU, which determines the faster way to gather and the size of the address caches.

#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;

/// Whether AMD made the CPU.
pub(crate) fn is_amd() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        maker() == *b"AuthenticAMD"
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether the gather instruction of AVX-512 is faster than sixteen loads on this CPU. The answer is kept, because levels are
/// made for every dispatch, and `cpuid` takes microseconds in a virtual machine.
pub(in crate::simd) fn has_fast_gathers() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        static HAS_FAST_GATHERS: LazyLock<bool> = LazyLock::new(|| {
            let signature = std::arch::x86_64::__cpuid(1).eax;
            has_fast_gathers_by(&maker(), family_and_model(signature))
        });
        *HAS_FAST_GATHERS
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg(target_arch = "x86_64")]
fn maker() -> [u8; 12] {
    let maker = std::arch::x86_64::__cpuid(0);
    let mut name = [0; 12];
    for (to, from) in name.chunks_mut(4).zip([maker.ebx, maker.edx, maker.ecx]) {
        to.copy_from_slice(&from.to_le_bytes());
    }
    name
}

/// Family and model of the signature that leaf 1 of `cpuid` gives.
#[cfg(target_arch = "x86_64")]
fn family_and_model(signature: u32) -> (u32, u32) {
    let bits = |first: u32, count: u32| signature >> first & ((1 << count) - 1);
    let family = bits(8, 4);
    let model = bits(4, 4) | bits(16, 4) << 4;
    (if family == 15 { family + bits(20, 8) } else { family }, model)
}

/// Models (of family 6) of Intel's CPUs with AVX-512 whose microcode makes gathers slow to protect the data of other
/// programs (gather data sampling): Skylake to Cascade Lake, Cannon Lake, Ice Lake, Tiger Lake, Rocket Lake.
#[cfg(target_arch = "x86_64")]
const GUARDED: [u32; 9] = [0x55, 0x66, 0x6A, 0x6C, 0x7D, 0x7E, 0x8C, 0x8D, 0xA7];

/// True for Intel's CPUs except the [`GUARDED`] ones. With the gather instruction, stages took 11 to 22 % less time on model
/// 0xCF (Emerald Rapids), and more on a Zen 4.
#[cfg(target_arch = "x86_64")]
fn has_fast_gathers_by(maker: &[u8; 12], (family, model): (u32, u32)) -> bool {
    maker == b"GenuineIntel" && !(family == 6 && GUARDED.contains(&model))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn families_and_models_are_those_that_lscpu_shows() {
        // Zen 4 (EPYC 9004), Zen 5 (EPYC 9005), Skylake-SP, Ice Lake-SP, Sapphire Rapids, Emerald Rapids, Granite Rapids.
        let known = [
            (0x00A1_0F11, (25, 17)),
            (0x00B0_0F21, (26, 2)),
            (0x0005_0654, (6, 0x55)),
            (0x0006_06A6, (6, 0x6A)),
            (0x0008_06F8, (6, 0x8F)),
            (0x000C_06F2, (6, 0xCF)),
            (0x000A_06D1, (6, 0xAD)),
        ];
        for (signature, expected) in known {
            assert_eq!(family_and_model(signature), expected, "{signature:#x}");
        }
    }

    #[test]
    fn gathers_are_chosen_where_they_were_measured_to_be_faster() {
        let amd = |cpu| has_fast_gathers_by(b"AuthenticAMD", cpu);
        let intel = |model| has_fast_gathers_by(b"GenuineIntel", (6, model));
        assert!(!amd((25, 17)) && !amd((26, 2)) && !amd((6, 0xCF)));
        assert!(intel(0x8F) && intel(0xCF) && intel(0xAD));
        assert!(!intel(0x55) && !intel(0x6A) && !intel(0x8C));
        // Future models.
        assert!(intel(0xFF) && has_fast_gathers_by(b"GenuineIntel", (18, 1)));
        assert!(!has_fast_gathers_by(b"HygonGenuine", (24, 1)));
    }

    #[test]
    fn this_cpu_has_one_maker() {
        assert_eq!(is_amd(), maker() == *b"AuthenticAMD");
        assert!(!(is_amd() && has_fast_gathers()));
        assert!(maker().iter().all(u8::is_ascii));
    }
}
