//! Formulas of the CPU as CUDA C++: the kernels of `kalman` are generic over the gang, and [`Traced`] is a gang that
//! computes nothing and records the operations. A formula is thus written once, and a device does the same operations
//! in the same order.

mod gang;

pub(super) use gang::Traced;

use crate::simd::varying::{F32, Mask, U32};
use std::cell::RefCell;

/// A value: the number of the operation that makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node(usize);

struct Operation {
    /// Its type and its value in C++.
    cpp: &'static str,
    text: String,
    /// What it is made of.
    of: Vec<Node>,
}

thread_local! {
    static OPERATIONS: RefCell<Vec<Operation>> = const { RefCell::new(Vec::new()) };
}

/// Writes an operation down.
fn node(cpp: &'static str, text: String, of: &[Node]) -> Node {
    OPERATIONS.with_borrow_mut(|all| {
        all.push(Operation { cpp, text, of: of.to_vec() });
        Node(all.len() - 1)
    })
}

/// A float of the kernel, by its name there.
pub(super) fn float(name: &str) -> F32<Traced> {
    F32 { g: Traced, v: node("float", name.into(), &[]) }
}

/// A yes or no of the kernel, by its name there.
pub(super) fn yes(name: &str) -> Mask<Traced> {
    Mask { g: Traced, v: node("bool", name.into(), &[]) }
}

/// What a traced function writes: places in C++ with their values.
#[derive(Default)]
pub(super) struct Outputs(Vec<(String, Node)>);

impl Outputs {
    /// A float.
    pub fn float(&mut self, place: &str, value: F32<Traced>) {
        self.0.push((place.into(), value.v));
    }

    /// A yes or no.
    pub fn yes(&mut self, place: &str, value: Mask<Traced>) {
        self.0.push((place.into(), value.v));
    }

    /// A whole number.
    pub fn whole(&mut self, place: &str, value: U32<Traced>) {
        self.0.push((place.into(), value.v));
    }
}

/// The function `head` in C++, `body` being what it computes. Everything is read before anything is written.
pub(super) fn function(head: &str, body: impl FnOnce(Traced, &mut Outputs)) -> String {
    OPERATIONS.with_borrow_mut(Vec::clear);
    let mut outputs = Outputs::default();
    body(Traced, &mut outputs);
    let mut text = format!("__device__ __forceinline__ void {head} {{\n");
    OPERATIONS.with_borrow(|all| {
        // Operations come after what they are made of.
        let mut needed = vec![false; all.len()];
        outputs.0.iter().for_each(|(_, node)| needed[node.0] = true);
        for (number, operation) in all.iter().enumerate().rev() {
            if needed[number] {
                operation.of.iter().for_each(|node| needed[node.0] = true);
            }
        }
        for (number, operation) in all.iter().enumerate().filter(|(number, _)| needed[*number]) {
            text.push_str(&format!("    const {} v{number} = {};\n", operation.cpp, operation.text));
        }
    });
    outputs.0.iter().for_each(|(place, node)| text.push_str(&format!("    {place} = v{};\n", node.0)));
    text + "}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_written_down_in_order() {
        let text = function("f(float& x, bool b)", |g, out| {
            let (x, two) = (float("x"), F32::splat(g, 2.0));
            let unused = x / two;
            let y = x.neg_mul_add(two, unused.abs());
            let z = (yes("b") & y.lt(two)).select_f(y * two, x);
            let _ = z.sqrt();
            out.float("x", z);
        });
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        let expected = [
            "__device__ __forceinline__ void f(float& x, bool b) {",
            "const float v0 = x;",
            "const float v1 = __uint_as_float(0x40000000u);",
            "const float v2 = divided(v0, v1);",
            "const float v3 = absolute(v2);",
            "const float v4 = fused(-v0, v1, v3);",
            "const bool v5 = b;",
            "const bool v6 = v4 < v1;",
            "const bool v7 = v5 && v6;",
            "const float v8 = v4 * v1;",
            "const float v9 = v7 ? v8 : v0;",
            "x = v9;",
            "}",
        ];
        assert_eq!(lines, expected);
    }
}
