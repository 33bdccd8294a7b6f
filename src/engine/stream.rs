//! [`StreamSequence`]: a chain of stages over an endless stream of data, which arrives in pieces.

use super::{Batch, Executor, Handle, Machine, Sliced, Stage};
use crate::Result;
use crate::event::{Counters, Product, Results};

/// A chain of stages over an endless stream of data, which arrives in pieces. Data wait in the chain until their
/// results are complete, so that results do not depend on where the stream is cut into pieces.
pub trait StreamSequence: Send {
    /// The name of the chain on the command line and in results.
    const NAME: &'static str;
    /// The stages in the order in which they run. The counts of stage i are in [`Counters::stages`]`[i]`.
    const STAGES: &'static [Stage];

    /// Handle of the product: the name and the type of the output columns.
    const PRODUCT: Handle;

    /// Type of a piece of the input.
    type Piece: Batch;
    /// Type of the output columns.
    type Output: Product;

    /// Processes the next piece of the stream and passes the complete results to `visit`, in order, in any number of
    /// parts. `visit` must take the results that it needs out of the part, which is overwritten afterwards. If the
    /// stream ends with this piece, all results are complete, and the next piece begins another stream.
    ///
    /// # Errors
    /// Returns an error if a device fails.
    fn push(&mut self, piece: &Self::Piece, visit: &mut dyn FnMut(&mut Self::Output)) -> Result<()>;

    /// Returns the counts since the chain was made.
    fn counters(&self) -> Counters;

    /// Returns the properties of the CPU or device that runs the chain.
    fn machine(&self) -> Machine;

    /// Switches the measurement of kernel times on or off; see [`Executor::time_kernels`].
    fn time_kernels(&mut self, yes: bool) {
        let _ = yes;
    }

    /// Returns the kernel times since the last call; see [`Executor::take_kernel_times`].
    fn take_kernel_times(&mut self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// An executor that runs a [`StreamSequence`]. Each part of the results becomes a slice of `Sliced`.
#[derive(Debug)]
pub struct Streaming<S>(pub S);

impl<S: StreamSequence> Executor for Streaming<S> {
    fn run(&mut self, piece: &dyn Batch, results: &mut Sliced) -> Result<Counters> {
        let before = self.0.counters();
        results.prepare(0, &[S::PRODUCT]);
        self.0.push(piece.of()?, &mut |part| {
            let slot = results.add(&[S::PRODUCT]);
            std::mem::swap(part, slot.get_mut().expect("the slot has the type of the product"));
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
