//! Where pixel hits come from: files, pipes, sockets, the simulation.

use super::args::PixelArgs;
use super::datagrams::Datagrams;
use crate::console;
use crate::options::{InputArgs, ReportArgs};
use peloton::event::{Layout, PixelBlock};
use peloton::{Error, Result};
use peloton_io::input::timepix::PixelStream;
use peloton_io::input::timepix::{
    KatherineOptions, PixelCounts, PixelFormat, PixelOptions, PixelReader, ReadEnd,
};
use peloton_io::input::{Format, Source};
use peloton_sim::timepix::PixelSim;
use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

/// What is simulated when nobody names an input.
const DEFAULT_SIMULATION: &str = "sim:timepix,preset=am241,hits=4000000,seed=1";
/// How long a socket is waited for before what is there is worked on.
const PATIENCE: Duration = Duration::from_millis(20);

/// Hits and what is known of them beforehand.
pub struct PixelInput {
    /// The hits.
    pub stream: Box<dyn PixelStream>,
    /// Their sensor.
    pub layout: Layout,
    /// Their usual disorder, us.
    pub disorder_us: f64,
    /// Whether they come from a socket.
    pub is_live: bool,
    /// The socket that datagrams come from.
    pub socket: Option<UdpSocket>,
}

/// A simulation as a stream.
struct Simulated {
    sim: PixelSim,
    hits: u64,
    at_end: bool,
}

impl PixelStream for Simulated {
    fn read(&mut self, hits: usize, block: &mut PixelBlock) -> Result<ReadEnd> {
        if self.at_end {
            return Ok(ReadEnd::End);
        }
        let before = block.hits.len();
        self.at_end = !self.sim.read(hits, &mut block.hits);
        self.hits += (block.hits.len() - before) as u64;
        Ok(if self.at_end { ReadEnd::EndOfSource } else { ReadEnd::More })
    }

    fn counts(&self) -> PixelCounts {
        PixelCounts { hits: self.hits, ..PixelCounts::default() }
    }
}

/// Opens the inputs; without any, the built-in simulation.
pub fn open(input: &InputArgs, args: &PixelArgs, report: &ReportArgs) -> Result<PixelInput> {
    let default = [DEFAULT_SIMULATION.to_string()];
    let inputs = if input.inputs.is_empty() { &default[..] } else { &input.inputs };
    let is_special =
        |input: &&String| ["sim:", "tcp://", "udp://"].iter().any(|start| input.starts_with(start));
    if let Some(special) = inputs.iter().find(is_special) {
        if inputs.len() > 1 {
            return Err(Error::Config(format!("{special} cannot stand beside other inputs")));
        }
        if special.starts_with("sim:") {
            let sim = PixelSim::new(special.parse()?);
            let disorder_us = sim.disorder_us();
            let stream = Box::new(Simulated { sim, hits: 0, at_end: false });
            return Ok(PixelInput {
                stream,
                layout: Layout::single(256, 256)?,
                disorder_us,
                is_live: false,
                socket: None,
            });
        }
        return socket(special, options(input, args)?, report);
    }
    let source = |input: &String| if input == "-" { Source::Stdin } else { Source::Path(input.into()) };
    let sources: Vec<_> = inputs.iter().map(source).collect();
    Ok(from_reader(PixelReader::open(&sources, options(input, args)?)?, false))
}

fn from_reader(reader: PixelReader, is_live: bool) -> PixelInput {
    let (layout, disorder_us) = (reader.layout().clone(), reader.format().usual_disorder_us());
    PixelInput { stream: Box::new(reader), layout, disorder_us, is_live, socket: None }
}

fn options(input: &InputArgs, args: &PixelArgs) -> Result<PixelOptions> {
    let format = match input.format {
        Format::Auto => PixelFormat::Auto,
        Format::Pixels(format) => format,
        other => return Err(Error::Config(format!("--format {other} is no format of pixel hits"))),
    };
    let katherine = KatherineOptions { offset_unit: args.katherine_unit };
    Ok(PixelOptions { format, layout: args.layout.map(|layout| layout.layout()).transpose()?, katherine })
}

/// Waits for one sender on `tcp://HOST:PORT`, or for datagrams on `udp://HOST:PORT`.
fn socket(address: &str, options: PixelOptions, report: &ReportArgs) -> Result<PixelInput> {
    let failed = |e| Error::io(address, e);
    let host = &address[6..];
    let input = if address.starts_with("tcp://") {
        let listener = TcpListener::bind(host).map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        if !report.quiet {
            console::say(&format!("waiting for a sender on tcp://{local}"));
        }
        let (stream, _) = listener.accept().map_err(failed)?;
        let clock = stream.try_clone().map_err(failed)?;
        let reader = PixelReader::from_stream(address, stream, options)?;
        clock.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        from_reader(reader, true)
    } else {
        let datagrams = Datagrams::bind(host)?;
        let socket = datagrams.socket().map_err(failed)?;
        if !report.quiet {
            console::say(&format!("waiting for datagrams on udp://{}", socket.local_addr().map_err(failed)?));
        }
        let reader = PixelReader::from_stream(address, datagrams, options)?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        PixelInput { socket: Some(socket), ..from_reader(reader, true) }
    };
    Ok(input)
}
