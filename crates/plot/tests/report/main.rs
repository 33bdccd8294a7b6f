//! Reports: figures show the numbers that they are made of, pages are small, and no input breaks them.

mod golden;
mod hostile;
mod inputs;
mod marks;
mod page;
mod whole;
