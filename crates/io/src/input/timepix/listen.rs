//! [`listen`]: receives pixel hits from a sender on a TCP or UDP socket.

use super::{Datagrams, PixelOptions, PixelReader};
use crate::Host;
use peloton::{Error, Result};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::thread::sleep;
use std::time::Duration;

/// Time limit of a read from a socket: then the hits that arrived are worked on, and a cancelled wait ends.
const PATIENCE: Duration = Duration::from_millis(20);

/// Waits for one sender on `tcp://HOST:PORT`, or for datagrams on `udp://HOST:PORT`. Returns a reader of the hits, and
/// for UDP the socket, which counts dropped datagrams.
///
/// # Errors
/// [`Error::Config`] for other addresses; [`Error::Io`] when the job is cancelled before data arrive or a socket fails.
pub fn listen(
    address: &str,
    options: PixelOptions,
    host: Host<'_>,
) -> Result<(PixelReader, Option<UdpSocket>)> {
    let failed = |e| Error::io(address, e);
    let tcp = address.strip_prefix("tcp://");
    let place = tcp.or(address.strip_prefix("udp://")).unwrap_or_default();
    if place.to_socket_addrs().is_err() {
        let message =
            "no address to listen at: give HOST:PORT, such as tcp://0.0.0.0:5000 or udp://127.0.0.1:5000";
        return Err(Error::Config(format!("{address}: {message}")));
    }
    if tcp.is_some() {
        let listener = TcpListener::bind(place).map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        host.progress.note(&format!(
            "waiting for a sender on tcp://{local}; the job ends when the sender closes the connection"
        ));
        let stream = accept(&listener, host).map_err(failed)?;
        let clock = stream.try_clone().map_err(failed)?;
        clock.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        wait(address, host, || clock.peek(&mut [0; 16]))?;
        let reader = PixelReader::from_stream(address, stream, options)?;
        return Ok((reader, None));
    }
    let datagrams = Datagrams::bind(place)?;
    let socket = datagrams.socket().map_err(failed)?;
    let local = socket.local_addr().map_err(failed)?;
    socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    host.progress
        .note(&format!("waiting for datagrams on udp://{local}; an empty datagram or Ctrl-C ends the job"));
    wait(address, host, || socket.peek(&mut [0; 16]))?;
    let reader = PixelReader::from_stream(address, datagrams, options)?;
    Ok((reader, Some(socket)))
}

/// Waits until there is something to read, which `peek` says, or the sender is gone.
///
/// # Errors
/// [`Error::Io`] if the job is cancelled before data arrive, or if the socket fails.
fn wait(address: &str, host: Host<'_>, peek: impl Fn() -> std::io::Result<usize>) -> Result<()> {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    loop {
        match peek() {
            Err(e) if matches!(e.kind(), Interrupted | TimedOut | WouldBlock) && !host.is_cancelled() => {}
            Err(_) if host.is_cancelled() => {
                let message = "the job ended before any data arrived";
                return Err(Error::io(address, std::io::Error::other(message)));
            }
            // A datagram may be larger than what is looked at of it, which some systems call an error.
            read => return read.map(drop).map_err(|e| Error::io(address, e)),
        }
    }
}

/// The first sender; an error when the job is to end before there is one.
fn accept(listener: &TcpListener, host: Host<'_>) -> std::io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock && !host.is_cancelled() => sleep(PATIENCE),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                return Err(std::io::Error::other("the job ended before a sender connected"));
            }
            Err(e) => return Err(e),
        }
    }
}
