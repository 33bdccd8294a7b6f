//! The kernels as machine code and PTX within the program: a machine with a GPU needs no compiler.
//!
//! `kernels/compiled` contains the output of the NVRTC that `.ci/nvrtc-setup` installs, and the hash of the source. A test
//! compares the hash; if this NVRTC is installed, another test compares the code. After a change of kernels, or of formulas
//! traced into them, run `PELOTON_KERNELS=renew cargo test --release --features cuda --lib images`.

use super::compile::{Target, compile, source_hash};
use crate::{Error, Result};

/// The oldest GPU that the kernels are compiled for: Volta.
pub(super) const OLDEST_GPU: [i32; 2] = [7, 0];

/// Code in the program.
struct Compiled {
    target: Target,
    /// Compute capability of the oldest GPU that can run the code.
    from: [i32; 2],
    file: &'static str,
    bytes: &'static [u8],
}

macro_rules! compiled {
    ($($target:ident $from:expr, $file:literal;)*) => {
        /// Codes in order of preference, best last.
        static COMPILED: &[Compiled] = &[$(Compiled {
            target: Target::$target,
            from: $from,
            file: $file,
            bytes: include_bytes!(concat!("../kernels/compiled/", $file)),
        },)*];
    };
}

compiled! {
    // For GPUs without machine code in this list: the driver compiles the PTX.
    Ptx [7, 0], "compute_70.ptx";
    Cubin [8, 0], "sm_80.cubin";
    Cubin [9, 0], "sm_90.cubin";
}

/// Hash of the source from which the code was made.
const SOURCE: &str = include_str!("../kernels/compiled/source.txt");

/// The kernels for a GPU.
pub(super) struct Image {
    pub bytes: Vec<u8>,
    /// Describes where the kernels come from.
    pub name: String,
}

/// The kernels for a GPU of this compute capability: from the file in `PELOTON_CUBIN` if that is set, otherwise from the
/// program. If the code in the program was made from another source, NVRTC compiles the kernels.
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read; [`Error::Device`] when NVRTC is needed but missing, or with its message.
pub(super) fn image(capability: [i32; 2]) -> Result<Image> {
    if let Some(file) = std::env::var_os("PELOTON_CUBIN").filter(|file| !file.is_empty()) {
        let bytes = std::fs::read(&file).map_err(|error| Error::io(std::path::Path::new(&file), error))?;
        return Ok(Image { bytes: ended(bytes), name: format!("kernels of {}", file.display()) });
    }
    if SOURCE.trim() == source_hash() {
        let chosen = choose(capability);
        return Ok(Image { bytes: ended(chosen.bytes.to_vec()), name: format!("kernels {}", chosen.file) });
    }
    let [major, minor] = capability;
    let bytes = compile(&format!("sm_{major}{minor}"))?;
    Ok(Image { bytes, name: "kernels by NVRTC".into() })
}

/// Appends a zero byte: the driver reads PTX, which is text, up to a zero. Machine code may end with additional zeros.
pub(super) fn ended(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.push(0);
    bytes
}

/// Chooses the best code for a compute capability. Machine code runs on GPUs of its major version, from its minor
/// version on; PTX runs on all GPUs from its version on.
fn choose(capability: [i32; 2]) -> &'static Compiled {
    let runs = |compiled: &&Compiled| {
        let same = compiled.target == Target::Ptx || compiled.from[0] == capability[0];
        same && compiled.from <= capability
    };
    COMPILED.iter().rev().find(runs).unwrap_or(&COMPILED[0])
}

#[cfg(test)]
mod tests {
    use super::super::compile::{VERSION, build, version};
    use super::*;
    use std::path::Path;

    #[test]
    fn the_right_code_is_chosen() {
        let chosen = |capability| choose(capability).file;
        assert_eq!([[7, 0], [7, 5]].map(chosen), ["compute_70.ptx"; 2]);
        assert_eq!([[8, 0], [8, 6], [8, 9]].map(chosen), ["sm_80.cubin"; 3]);
        assert_eq!(chosen([9, 0]), "sm_90.cubin");
        assert_eq!([[10, 0], [12, 0]].map(chosen), ["compute_70.ptx"; 2]);
    }

    /// Compares the hash of the source; needs no compiler.
    #[test]
    fn the_code_in_the_program_is_of_this_source() {
        if std::env::var("PELOTON_KERNELS").as_deref() == Ok("renew") {
            return;
        }
        assert_eq!(SOURCE.trim(), source_hash(), "kernels changed: see the head of src/gpu/driver/images.rs");
        let text = std::str::from_utf8(COMPILED[0].bytes).expect("PTX is text");
        for kernel in crate::gpu::KERNELS {
            assert!(text.contains(&format!(".entry {kernel}(")), "{kernel}");
            for compiled in &COMPILED[1..] {
                let name = [kernel.as_bytes(), &[0]].concat();
                assert!(compiled.bytes.windows(name.len()).any(|part| part == name), "{kernel}");
            }
        }
        // Each operation is rounded separately, or is fused where the source requests it.
        for approximation in [".approx", ".ftz", "mul.f32", "add.f32", "sub.f32", "div.full"] {
            assert!(!text.contains(approximation), "{approximation}");
        }
    }

    /// The code in the program equals the output of NVRTC byte by byte; with `PELOTON_KERNELS=renew`, the output
    /// replaces the code.
    #[test]
    fn the_code_in_the_program_is_what_the_compiler_makes() {
        let (found, is_promised) = (version(), std::env::var_os("PELOTON_NVRTC").is_some());
        if found.as_deref().ok() != Some(VERSION) {
            assert!(!is_promised, "PELOTON_NVRTC promises NVRTC {VERSION}, and there is {found:?}");
            eprintln!("skipped: no NVRTC {VERSION} on the library path (.ci/nvrtc-setup brings it)");
            return;
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gpu/kernels/compiled");
        let renew = std::env::var("PELOTON_KERNELS").as_deref() == Ok("renew");
        for compiled in COMPILED {
            let architecture = compiled.file.split('.').next().expect("a name");
            let (made, _) = build(architecture, compiled.target).expect("kernels that compile");
            if renew {
                std::fs::write(folder.join(compiled.file), &made).expect("a file");
            } else {
                assert!(made == compiled.bytes, "{} is not what NVRTC makes", compiled.file);
            }
        }
        if renew {
            std::fs::write(folder.join("source.txt"), source_hash() + "\n").expect("a file");
        }
    }
}
