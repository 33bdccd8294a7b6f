//! Translates the CPU's formulas to CUDA C++. The kernels of `kalman` are generic over the gang, and [`Traced`] is a
//! gang that records operations instead of computing. Each formula is therefore written once, and a device runs the
//! same operations in the same order.

mod gang;

pub(super) use gang::Traced;

use crate::simd::varying::{F32, Mask, U32};
use std::cell::RefCell;

/// A value, given by the number of the operation that computes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node(usize);

struct Operation {
    /// Type of the value in C++; `text` is its expression.
    cpp: &'static str,
    text: String,
    /// Values that the expression uses.
    of: Vec<Node>,
}

thread_local! {
    static OPERATIONS: RefCell<Vec<Operation>> = const { RefCell::new(Vec::new()) };
}

/// Records an operation.
fn node(cpp: &'static str, text: String, of: &[Node]) -> Node {
    OPERATIONS.with_borrow_mut(|all| {
        all.push(Operation { cpp, text, of: of.to_vec() });
        Node(all.len() - 1)
    })
}

/// A float variable of the kernel, by its name.
pub(super) fn float(name: &str) -> F32<Traced> {
    F32 { g: Traced, v: node("float", name.into(), &[]) }
}

/// A bool variable of the kernel, by its name.
pub(super) fn yes(name: &str) -> Mask<Traced> {
    Mask { g: Traced, v: node("bool", name.into(), &[]) }
}

/// Outputs of a traced function: C++ variables with their values.
#[derive(Default)]
pub(super) struct Outputs(Vec<(String, Node)>);

impl Outputs {
    /// Adds an output of type float.
    pub fn float(&mut self, place: &str, value: F32<Traced>) {
        self.0.push((place.into(), value.v));
    }

    /// Adds an output of type bool.
    pub fn yes(&mut self, place: &str, value: Mask<Traced>) {
        self.0.push((place.into(), value.v));
    }

    /// Adds an output that is an unsigned integer.
    pub fn whole(&mut self, place: &str, value: U32<Traced>) {
        self.0.push((place.into(), value.v));
    }
}

/// The C++ function `head` with the operations of `body`. It reads all inputs before it writes outputs.
pub(super) fn function(head: &str, body: impl FnOnce(Traced, &mut Outputs)) -> String {
    OPERATIONS.with_borrow_mut(Vec::clear);
    let mut outputs = Outputs::default();
    body(Traced, &mut outputs);
    let mut text = format!("__device__ __forceinline__ void {head} {{\n");
    OPERATIONS.with_borrow(|all| {
        // Operations come after the values that they use, so one backward pass finds all that are needed.
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
