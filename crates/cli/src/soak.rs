//! `peloton soak`: sends pixel hits over TCP or UDP at given rates for a long time, and checks that no hit is lost.

use crate::effects;
use crate::interrupt::CANCEL;
use crate::latency::Latencies;
use crate::options::{ConfigArgs, ReportArgs, SequenceArgs};
use crate::report::PageArgs;
use crate::samples::{Sample, Samples, resident_mib};
use clap::{Args, ValueEnum};
use peloton::event::PixelHits;
use peloton::simd::set_default_float_mode;
use peloton::timepix::{Timepix, Workers};
use peloton::{Error, Result};
use peloton_io::input::timepix::{
    Datagrams, Feed, PixelFormat, PixelOptions, PixelReader, ReadEnd, WhenFull, dropped_datagrams,
};
use peloton_io::output::JobFiles;
use peloton_job::{Config, Progress, SequenceName, Work};
use peloton_plot::text::{grouped, rate, table};
use peloton_sim::timepix::{PixelSim, PixelSimSpec};
use serde::Serialize;
use std::collections::VecDeque;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Size of a record of a hit, bytes.
const RECORD: usize = 16;
/// Number of hits sent at once.
const PACKET: usize = 4096;
/// Number of hits in a UDP datagram.
const DATAGRAM: usize = 512;

/// Protocol of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    Tcp,
    Udp,
}

/// Send pixel hits over TCP or UDP on this machine at given rates, and account for every hit
///
/// The first round sends hits as fast as they can be clustered, and measures this rate. The further rounds send at
/// fixed shares of this rate (--share). Over TCP with --when-full wait, a sender that is too fast waits, and the table
/// shows its delay; with --when-full drop, hits are dropped and counted. Over UDP the sender never waits: the system
/// drops and counts datagrams when the socket is full. The exit code is 1 if a hit is neither in a cluster nor counted.
#[derive(Args)]
#[command(after_help = "\
Examples:
  peloton soak --seconds 600 --share 0.8
  peloton soak --input sim:timepix,preset=lead0 --share 1.5 --when-full drop
  peloton soak --seconds 60 --report soak.html  latencies and memory as figures")]
pub struct Soak {
    /// Simulation that gives the hits; the same hits are sent repeatedly
    #[arg(long, value_name = "SIM", default_value = "sim:timepix,preset=am241,hits=2000000,seed=1")]
    input: String,
    /// Protocol of the sender
    #[arg(long, value_name = "NAME", default_value = "tcp")]
    transport: Transport,
    /// Shares of the measured rate; each share adds a round that sends at this share of the rate
    #[arg(long, value_name = "SHARE,...", value_delimiter = ',', default_values_t = [0.8, 1.5])]
    share: Vec<f64>,
    /// Length of each round after the first, s
    #[arg(long, value_name = "T", default_value_t = 60.0, value_parser = crate::throughput::seconds)]
    seconds: f64,
    /// Length of the first round, which measures the rate, s
    #[arg(long, value_name = "T", default_value_t = 3.0, value_parser = crate::throughput::seconds)]
    warm_up: f64,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    sequence: SequenceArgs,
}

/// Results of all rounds.
#[derive(Debug, Serialize)]
struct Soaked<'a> {
    sequence: SequenceName,
    rounds: &'a [Round],
}

/// Results of one round.
#[derive(Debug, Clone, Serialize)]
struct Round {
    /// Requested rate, hits/s; null for the first round, which sends as fast as possible.
    asked: Option<f64>,
    seconds: f64,
    sent: u64,
    hits_per_second: f64,
    clusters: u64,
    dropped: u64,
    /// Number of sent hits that the system dropped because a socket was full.
    dropped_by_system: u64,
    late: u64,
    /// Number of sent hits that are neither in a cluster nor counted as dropped.
    lost: u64,
    /// How late the sender was at the end of the round, because it had to wait for the receiver, s.
    held_back: f64,
    /// Latency from sending a packet to its results, ms: median, 99 %, 99.9 %, worst.
    latency_ms: [f64; 4],
    /// Resident memory after the first tenth of the round, and its maximum from then to the end, MiB.
    memory_mib: Option<[f64; 2]>,
    /// Rate and memory in the course of the round.
    samples: Vec<Sample>,
}

/// For each packet, the number of hits sent up to and including it, and the time of sending.
type Sent = Arc<Mutex<VecDeque<(u64, Instant)>>>;

impl Soak {
    /// Adds to `files` the files that the command reads and writes.
    pub fn name_files(&self, files: &mut JobFiles) {
        self.config.name_files(files);
        self.sequence.name_files(files);
        self.report.name_files(files);
        self.page.name_files(files);
    }

    /// Runs the command.
    pub fn execute(&self) -> Result<ExitCode> {
        let timepix = SequenceName::Timepix;
        let mut config = self.config.resolve(&self.sequence, Some(timepix))?;
        if config.sequence != timepix {
            return Err(Error::Config(format!("soak feeds the sequence {timepix}, not {}", config.sequence)));
        }
        effects::check("soak", timepix, &[self.config.given(), self.sequence.given()].concat())?;
        if self.config.print_config {
            return self.config.print(&config).map(|()| ExitCode::SUCCESS);
        }
        let spec: PixelSimSpec = self.input.parse()?;
        let mut sim = PixelSim::new(spec);
        config.timepix.disorder_us.get_or_insert(sim.disorder_us());
        let mut hits = PixelHits::default();
        while sim.read(hits.len() + PACKET, &mut hits) {}
        // The hits fill whole datagrams.
        hits.set_len((hits.len() / DATAGRAM).max(1) * DATAGRAM);
        let hits = Arc::new(hits);
        let terminal = self.report.terminal();
        terminal.stage("as fast as possible");
        let measured = self.round(&config, &hits, None, self.warm_up, &terminal)?;
        let mut rounds = vec![measured];
        for share in &self.share {
            if CANCEL.is_requested() {
                break;
            }
            let asked = rounds[0].hits_per_second * share;
            terminal.stage(&format!("at {} hits/s", rate(asked)));
            rounds.push(self.round(&config, &hits, Some(asked), self.seconds, &terminal)?);
        }
        let about = peloton_job::about_inputs("soak", std::slice::from_ref(&self.input), &config);
        let soaked = Soaked { sequence: timepix, rounds: &rounds };
        self.page.report(&self.report, &text(&rounds), about, &soaked)?;
        let lost: u64 = rounds.iter().map(|round| round.lost).sum();
        Ok(if lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Runs one round: sends hits for `seconds` and clusters the received hits.
    fn round(
        &self,
        config: &Config,
        hits: &Arc<PixelHits>,
        rate: Option<f64>,
        seconds: f64,
        progress: &impl Progress,
    ) -> Result<Round> {
        let failed = |e| Error::io("loopback", e);
        let options = PixelOptions { format: PixelFormat::Hits16, ..PixelOptions::default() };
        let (sent, hits): (Sent, _) = (Arc::default(), hits.clone());
        let (log, time) = (sent.clone(), Duration::from_secs_f64(seconds));
        let start_sender = |transport, address| {
            std::thread::spawn(move || {
                set_default_float_mode();
                send(&mut Sender::new(transport, address)?, &hits, rate, time, &log)
            })
        };
        let patience = Some(Duration::from_millis(20));
        let (sender, reader, socket) = match self.transport {
            Transport::Tcp => {
                let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
                let sender = start_sender(self.transport, listener.local_addr().map_err(failed)?);
                let (stream, _) = listener.accept().map_err(failed)?;
                let clock = stream.try_clone().map_err(failed)?;
                let reader = PixelReader::from_stream("loopback", stream, options)?;
                clock.set_read_timeout(patience).map_err(failed)?;
                (sender, reader, None)
            }
            Transport::Udp => {
                let datagrams = Datagrams::bind("127.0.0.1:0")?;
                let socket = datagrams.socket().map_err(failed)?;
                let sender = start_sender(self.transport, socket.local_addr().map_err(failed)?);
                let reader = PixelReader::from_stream("loopback", datagrams, options)?;
                socket.set_read_timeout(patience).map_err(failed)?;
                (sender, reader, Some(socket))
            }
        };

        let layout = reader.layout().clone();
        let threads = Timepix::threads_for(&config.timepix, config.thread_count().saturating_sub(2).max(1));
        let threads = config.threads.unwrap_or(threads);
        let mut chain = Workers::new(&config.timepix, config.level()?, &layout, threads)?;
        let when_full =
            if rate.is_some() { self.sequence.pixels.when_full.unwrap_or_default() } else { WhenFull::Wait };
        let mut feed = Feed::start(reader, config.timepix.block_hits, when_full)?;
        let (mut latencies, mut dropped) = (Latencies::default(), 0);
        let (start, mut memory) = (Instant::now(), None);
        let (mut samples, mut arrived) = (Samples::default(), 0);
        let planned = rate.map(|rate| (rate * seconds) as u64);
        progress.begin(Work { what: "sending", of: "hits", items: planned });
        while let Some(fed) = feed.next()? {
            chain.push(&fed.block.hits, fed.end == ReadEnd::EndOfSource);
            dropped = fed.dropped;
            note_latencies(&sent, fed.counts.hits, &mut latencies);
            progress.advance(fed.counts.hits.saturating_sub(arrived));
            arrived = fed.counts.hits;
            let passed = start.elapsed();
            if samples.is_due(passed) {
                let resident = resident_mib();
                samples.add(passed, fed.counts.hits, resident);
                if passed.as_secs_f64() > 0.1 * seconds {
                    watch(&mut memory, resident);
                }
            }
            feed.give_back(fed.block);
        }
        progress.end();
        chain.push(&PixelHits::default(), true);
        let time = start.elapsed().as_secs_f64();
        let panicked = || Error::Internal("the sending thread panicked".into());
        let (count, held_back) = sender.join().map_err(|_| panicked())?.map_err(failed)?;
        let counts = chain.counts();
        let datagrams = socket.as_ref().and_then(dropped_datagrams).unwrap_or(0);
        let dropped_by_system = datagrams * DATAGRAM as u64;
        let accounted =
            counts.hits_out + counts.late + counts.masked + counts.filtered + dropped + dropped_by_system;
        Ok(Round {
            asked: rate,
            seconds: time,
            sent: count,
            hits_per_second: counts.hits_in as f64 / time,
            clusters: counts.clusters,
            dropped,
            dropped_by_system,
            late: counts.late,
            lost: count.abs_diff(accounted),
            held_back,
            latency_ms: [0.5, 0.99, 0.999, 1.0].map(|share| latencies.at(share)),
            memory_mib: memory,
            samples: samples.into_list(),
        })
    }
}

/// Socket of the sender.
enum Sender {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl Sender {
    fn new(transport: Transport, to: SocketAddr) -> std::io::Result<Self> {
        match transport {
            Transport::Tcp => TcpStream::connect(to).map(Self::Tcp),
            Transport::Udp => {
                let socket = UdpSocket::bind("127.0.0.1:0")?;
                socket.connect(to)?;
                Ok(Self::Udp(socket))
            }
        }
    }

    /// Sends a packet, whose hits fill a whole number of datagrams.
    fn send(&mut self, packet: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(packet),
            Self::Udp(socket) => {
                packet.chunks(DATAGRAM * RECORD).try_for_each(|part| socket.send(part).map(drop))
            }
        }
    }

    /// Marks the end of the data.
    fn end(&mut self) -> std::io::Result<()> {
        let Self::Udp(socket) = self else { return Ok(()) };
        // An empty datagram ends the data; it is repeated, since a full socket drops datagrams.
        (0..20).try_for_each(|_| {
            std::thread::sleep(Duration::from_millis(50));
            match socket.send(&[]) {
                // The receiver has closed its socket: it has seen the end.
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionRefused => Ok(()),
                sent => sent.map(drop),
            }
        })
    }
}

/// Sends the hits repeatedly, with later times in each repetition: at `rate` hits/s, or as fast as possible if none.
/// Returns the number of sent hits and the delay of the last packet, s.
fn send(
    to: &mut Sender,
    hits: &PixelHits,
    rate: Option<f64>,
    time: Duration,
    log: &Sent,
) -> std::io::Result<(u64, f64)> {
    let span = hits.time.iter().max().unwrap_or(&0) - hits.time.iter().min().unwrap_or(&0) + 100_000;
    let mut records = Vec::with_capacity(hits.len() * RECORD);
    for i in 0..hits.len() {
        let (time, x, y, tot) = hits.get(i);
        records.extend_from_slice(&time.to_le_bytes());
        [x, y, tot, 0].iter().for_each(|value| records.extend_from_slice(&value.to_le_bytes()));
    }
    let (start, mut sent, mut behind) = (Instant::now(), 0u64, 0.0);
    while start.elapsed() < time && !CANCEL.is_requested() {
        for packet in records.chunks_mut(PACKET * RECORD) {
            if let Some(rate) = rate {
                let due = Duration::from_secs_f64(sent as f64 / rate);
                let now = start.elapsed();
                std::thread::sleep(due.saturating_sub(now));
                behind = now.saturating_sub(due).as_secs_f64();
            }
            let count = (packet.len() / RECORD) as u64;
            sent += count;
            log.lock().unwrap_or_else(PoisonError::into_inner).push_back((sent, Instant::now()));
            to.send(packet)?;
            // The next repetition has later times.
            for record in packet.as_chunks_mut::<RECORD>().0 {
                let time = i64::from_le_bytes(record[..8].try_into().expect("eight bytes")) + span;
                record[..8].copy_from_slice(&time.to_le_bytes());
            }
            if start.elapsed() >= time {
                break;
            }
        }
    }
    to.end()?;
    Ok((sent, behind))
}

/// Adds the latencies of all packets within the first `arrived` hits.
fn note_latencies(sent: &Sent, arrived: u64, latencies: &mut Latencies) {
    let mut log = sent.lock().unwrap_or_else(PoisonError::into_inner);
    while log.front().is_some_and(|(count, _)| *count <= arrived) {
        let time = log.pop_front().map(|(_, time)| time.elapsed());
        latencies.add(time.unwrap_or_default());
    }
}

/// Records resident memory, MiB: the first value, and the largest.
fn watch(memory: &mut Option<[f64; 2]>, resident: Option<f64>) {
    let Some(mib) = resident else { return };
    let [_, largest] = memory.get_or_insert([mib; 2]);
    *largest = largest.max(mib);
}

fn text(rounds: &[Round]) -> String {
    let head = [
        "",
        "hits/s",
        "hits sent",
        "dropped here",
        "dropped by the socket",
        "not accounted for",
        "sender late by",
        "latency: median, ms",
        "99 %",
        "99.9 %",
        "worst",
        "memory, MiB",
    ];
    let mut rows = vec![head.map(String::from)];
    for round in rounds {
        let [median, usual, rare, worst] = round.latency_ms.map(|ms| format!("{ms:.2}"));
        rows.push([
            round.asked.map_or("as fast as possible".into(), |asked| format!("at {} hits/s", rate(asked))),
            rate(round.hits_per_second),
            grouped(round.sent),
            grouped(round.dropped),
            grouped(round.dropped_by_system),
            grouped(round.lost),
            format!("{:.3} s", round.held_back),
            median,
            usual,
            rare,
            worst,
            round.memory_mib.map_or("-".into(), |[first, largest]| format!("{first:.0} to {largest:.0}")),
        ]);
    }
    let lost: u64 = rounds.iter().map(|round| round.lost).sum();
    let verdict = if lost == 0 {
        "every hit is in a cluster or counted as dropped"
    } else {
        "HITS ARE MISSING: neither in clusters nor counted"
    };
    format!("{}\n{verdict}\n", table(&rows))
}
