//! The papers' tables of machines, with this one beside them.

use super::entry::Job;
use super::report::Report;
use super::table::Origin::{Here, Paper, Setting};
use super::table::{Cell, Table};
use crate::{Config, cpu_name};
use peloton::Result;
use peloton::simd::{Isa, Level};

/// A machine of a paper: name, cores, highest frequency in GHz, second-level cache in MiB (of the CPU the third), memory in GiB,
/// price in dollars. What a paper does not say is none.
struct Machine(&'static str, Option<u64>, [Option<f64>; 4]);

const GTX_1080_TI: Machine =
    Machine("GeForce GTX 1080 Ti", Some(3584), [Some(1.67), Some(2.75), Some(10.92), Some(699.0)]);

/// Tables I and II of Search by triplet.
///
/// # Errors
/// When nothing would run here.
pub fn triplet(job: &Job<'_>) -> Result<Report> {
    let machines = [
        Machine("2 x Intel Xeon E5-2630 (Broadwell)", None, [None; 4]),
        Machine("2 x Intel Xeon Silver 4114 (Skylake)", Some(20), [None; 4]),
        Machine("2 x AMD EPYC 7301", Some(32), [None; 4]),
        Machine("GeForce GTX 1060", Some(1280), [Some(1.81), Some(1.5), Some(5.94), Some(249.0)]),
        GTX_1080_TI,
        Machine("GeForce RTX 2080 Ti", Some(4352), [Some(1.545), Some(6.0), Some(10.92), Some(1199.0)]),
        Machine("Tesla V100", Some(5120), [Some(1.37), Some(6.0), Some(32.0), Some(8899.0)]),
    ];
    report(job, &machines, "three servers and four GPUs")
}

/// Table 2 of Compass UT.
///
/// # Errors
/// When nothing would run here.
pub fn compass(job: &Job<'_>) -> Result<Report> {
    let machines = [
        GTX_1080_TI,
        Machine("GeForce RTX 2080 Ti", Some(4352), [Some(1.54), Some(6.0), Some(10.92), Some(1199.0)]),
        Machine("Tesla T4", Some(2560), [Some(1.59), Some(6.0), Some(16.0), Some(2350.0)]),
        Machine("Tesla V100", Some(5120), [Some(1.37), Some(6.0), Some(16.0), Some(8899.0)]),
        Machine("Intel Xeon E5-2678W v3", Some(20), [Some(3.5), Some(25.0), Some(64.0), Some(2145.0)]),
    ];
    report(job, &machines, "four GPUs, and a server with two of the CPU")
}

fn report(job: &Job<'_>, machines: &[Machine], paper_machine: &'static str) -> Result<Report> {
    let mut table = Table::new("Machines")
        .columns(Setting, &[("machine", "")])
        .columns(Here, &[("cores or threads", ""), ("instruction sets", "")])
        .columns(Paper, &[("cores", ""), ("highest frequency", "GHz"), ("cache", "MiB"), ("memory", "GiB")])
        .columns(Paper, &[("price", "$")]);
    let sets = Isa::ALL.into_iter().filter(|isa| Level::choose(Some(*isa), None).is_ok()).map(Isa::name);
    let mut own = vec![
        Cell::Word(format!("this one, {}", cpu_name())),
        Cell::Count(Config::default().thread_count() as u64),
        sets.collect::<Vec<_>>().join(", ").as_str().into(),
    ];
    own.resize(8, Cell::Nothing);
    table.row(own);
    for Machine(name, cores, [frequency, cache, memory, price]) in machines {
        let number =
            |value: &Option<f64>, digits| value.map_or(Cell::Nothing, |value| Cell::Number(value, digits));
        table.row(vec![
            (*name).into(),
            Cell::Nothing,
            Cell::Nothing,
            cores.map_or(Cell::Nothing, Cell::Count),
            number(frequency, 3),
            number(cache, 2),
            number(memory, 2),
            number(price, 0),
        ]);
    }
    let note = "Cores of GPUs are CUDA cores, and their cache is that of the second level, as the papers have it; prices are those \
                that the papers name. Prices, frequencies and caches of this machine are not looked up";
    Ok(Report {
        input: Vec::new(),
        machine: job.machine(&Config::default())?,
        paper_machine,
        tables: vec![table],
        notes: vec![note.into()],
        ..Report::default()
    })
}
