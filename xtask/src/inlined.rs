//! Finds kernels whose closures are not inlined: such code lacks the level's instructions and is many times slower.

use crate::Result;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Prefixes of the intrinsics of x86-64.
const INTRINSICS: [&str; 5] = ["sse", "ssse", "avx", "fma", "bmi"];

/// Fails when kernels call intrinsics. An intrinsic cannot be inlined into code that is compiled without its
/// instructions, so it is called as a function. In crates that are not optimised, hashbrown and ASCII functions of
/// `core` call intrinsics, too; calls of intrinsics by intrinsics are ignored.
pub fn check(program: &Path) -> Result<()> {
    let objdump = Command::new("objdump")
        .args(["--disassemble", "--demangle", "--no-show-raw-insn"])
        .arg(program)
        .stdout(Stdio::piped())
        .spawn();
    let mut objdump = objdump.map_err(|error| format!("objdump cannot be started: {error}"))?;
    let output = BufReader::new(objdump.stdout.take().expect("a pipe"));
    let lines = output.split(b'\n').map_while(std::result::Result::ok);
    let (without_kernels, others) = calls(lines.map(|line| String::from_utf8_lossy(&line).into_owned()));
    let status = objdump.wait().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("objdump {}: {status}", program.display()));
    }
    if without_kernels == 0 {
        return Err(format!(
            "no call of an intrinsic is found in {}, not even in code that is not optimised",
            program.display()
        ));
    }
    if others.is_empty() {
        return Ok(());
    }
    let others = others.join("\n");
    Err(format!(
        "intrinsics are called, so a closure of a kernel is not inlined (src/simd/README.md):\n{others}"
    ))
}

/// Functions without kernels that call intrinsics where crates are not optimised.
const WITHOUT_KERNELS: [&str; 2] = ["hashbrown::", "core::slice::ascii::"];

/// Returns the number of calls of intrinsics by functions without kernels, and the calls by other functions.
fn calls(lines: impl Iterator<Item = String>) -> (usize, Vec<String>) {
    let (mut caller, mut without_kernels, mut others) = (String::new(), 0, Vec::new());
    for line in lines {
        if line.ends_with(">:") && line.starts_with(|c: char| c.is_ascii_hexdigit()) {
            caller =
                line.split_once('<').map_or(line.clone(), |(_, name)| name.trim_start_matches('<').into());
        } else if is_call_of_intrinsic(&line) && !caller.starts_with("core::core_arch::") {
            if WITHOUT_KERNELS.iter().any(|function| caller.starts_with(function)) {
                without_kernels += 1;
            } else {
                others.push(format!("{caller} {}", line.trim()));
            }
        }
    }
    (without_kernels, others)
}

fn is_call_of_intrinsic(line: &str) -> bool {
    let Some((before, called)) = line.split_once("core_arch::x86") else { return false };
    let called = called.strip_prefix("_64").unwrap_or(called);
    let is_intrinsic =
        called.strip_prefix("::").is_some_and(|name| INTRINSICS.iter().any(|of| name.starts_with(of)));
    is_intrinsic && (before.contains("call ") || before.contains("jmp "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_attributed_to_their_callers() {
        let text = "0010 <hashbrown::raw::find>:\n  1: call 5 <core::core_arch::x86::sse2::_mm_set1_epi8>\n\
                    0018 <core::slice::ascii::is_ascii>:\n  1: call 5 <core::core_arch::x86::sse2::_mm_or_si128>\n\
                    001c <core::slice::iter::fold>:\n  1: call 5 <core::core_arch::x86::avx2::_mm256_or>\n\
                    0020 <<peloton::velo as Kernel>::run>:\n  2: jmp 5 <core::core_arch::x86::avx2::_mm256_add>\n\
                    0030 <core::core_arch::x86::avx::a>:\n  3: call 5 <core::core_arch::x86::avx::b>\n\
                    0040 <main>:\n  4: call 5 <core::fmt::write>\n";
        let (without_kernels, others) = calls(text.lines().map(String::from));
        assert_eq!((without_kernels, others.len()), (2, 2), "{others:?}");
        assert!(
            others[0].starts_with("core::slice::iter") && others[1].starts_with("peloton::velo"),
            "{others:?}"
        );
    }
}
