//! [`StreamSequence`]: a chain of stages over an endless stream of data, which arrives in pieces.

use super::{Batch, Executor, Handle, Machine, Sliced, Stage};
use crate::Result;
use crate::event::{Counters, Product, Results};

/// A chain of stages over an endless stream of data, which arrives in pieces. Data whose results are not complete
/// wait inside, so that results do not depend on where the stream is cut.
pub trait StreamSequence: Send {
    /// The name on the command line and in results.
    const NAME: &'static str;
    /// The stages in the order in which they run; stage i counts in [`Counters::stages`]`[i]`.
    const STAGES: &'static [Stage];

    /// The output columns, as a product.
    const PRODUCT: Handle;

    /// A piece of the input.
    type Piece: Batch;
    /// Output columns.
    type Output: Product;

    /// Processes the next piece and passes the complete results to `visit`, in order and in any number of parts.
    /// Data that `visit` leaves in a part are overwritten. When the stream ends with the piece, all results are
    /// complete, and the next piece begins another stream.
    ///
    /// # Errors
    /// When a device fails.
    fn push(&mut self, piece: &Self::Piece, visit: &mut dyn FnMut(&mut Self::Output)) -> Result<()>;

    /// Counts since the beginning.
    fn counters(&self) -> Counters;

    /// Properties of the executor.
    fn machine(&self) -> Machine;

    /// Switches the measurement of times of kernels, see [`Executor::time_kernels`].
    fn time_kernels(&mut self, yes: bool) {
        let _ = yes;
    }

    /// Times of kernels since the last call, see [`Executor::take_kernel_times`].
    fn take_kernel_times(&mut self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// An executor that runs a [`StreamSequence`]: each part of its results is a slice.
#[derive(Debug)]
pub struct Streaming<S>(pub S);

impl<S: StreamSequence> Executor for Streaming<S> {
    fn run(&mut self, piece: &dyn Batch, results: &mut Sliced) -> Result<Counters> {
        let before = self.0.counters();
        results.prepare(0, &[S::PRODUCT]);
        self.0.push(piece.of()?, &mut |part| {
            let slot = results.add(&[S::PRODUCT]);
            std::mem::swap(part, slot.get_mut().expect("a slot of this product"));
        })?;
        Ok(self.0.counters().since(&before))
    }

    fn repeat(
        &mut self,
        piece: &dyn Batch,
        passes: u64,
        visit: &(dyn Fn(usize, &dyn Results) + Sync),
    ) -> Result<Counters> {
        let (before, piece) = (self.0.counters(), piece.of()?);
        for _ in 0..passes {
            let mut slice = 0;
            self.0.push(piece, &mut |part| {
                visit(slice, part);
                slice += 1;
            })?;
        }
        Ok(self.0.counters().since(&before))
    }

    fn machine(&self) -> Machine {
        self.0.machine()
    }

    fn time_kernels(&mut self, yes: bool) {
        self.0.time_kernels(yes);
    }

    fn take_kernel_times(&mut self) -> Vec<(&'static str, u64)> {
        self.0.take_kernel_times()
    }
}
