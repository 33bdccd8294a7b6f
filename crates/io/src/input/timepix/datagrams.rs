//! Receives pixel hits in UDP datagrams. The operating system drops and counts datagrams when its buffer is full.

use peloton::{Error, Result};
use socket2::SockRef;
use std::io::Read;
use std::net::UdpSocket;

/// Requested size of the receive buffer, bytes; the system may give less.
const BUFFER: usize = 16 << 20;
/// Largest datagram.
const LARGEST: usize = 1 << 16;

/// The bytes of successive datagrams as a stream; an empty datagram ends the stream.
pub struct Datagrams {
    socket: UdpSocket,
    waiting: Vec<u8>,
    used: usize,
}

impl Datagrams {
    /// Listens on the address `host`, such as `127.0.0.1:5000`.
    ///
    /// # Errors
    /// [`Error::Io`] when the operating system cannot open the socket.
    pub fn bind(host: &str) -> Result<Self> {
        let failed = |e| Error::io(format!("udp://{host}"), e);
        let socket = UdpSocket::bind(host).map_err(failed)?;
        SockRef::from(&socket).set_recv_buffer_size(BUFFER).map_err(failed)?;
        Ok(Self { socket, waiting: Vec::new(), used: 0 })
    }

    /// A second handle of the socket, to get its address, set its time limit, or call [`dropped_datagrams`].
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn socket(&self) -> std::io::Result<UdpSocket> {
        self.socket.try_clone()
    }
}

impl Read for Datagrams {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        if self.used == self.waiting.len() {
            self.waiting.resize(LARGEST, 0);
            self.used = LARGEST;
            let length = self.socket.recv(&mut self.waiting)?;
            self.waiting.truncate(length);
            self.used = 0;
        }
        let length = to.len().min(self.waiting.len() - self.used);
        to[..length].copy_from_slice(&self.waiting[self.used..self.used + length]);
        self.used += length;
        Ok(length)
    }
}

/// Number of datagrams that the operating system dropped at an open socket; none if the system does not report it.
pub fn dropped_datagrams(socket: &UdpSocket) -> Option<u64> {
    let port = format!(":{:04X}", socket.local_addr().ok()?.port());
    let table = if socket.local_addr().ok()?.is_ipv4() { "/proc/net/udp" } else { "/proc/net/udp6" };
    let text = std::fs::read_to_string(table).ok()?;
    let row =
        text.lines().find(|line| line.split_whitespace().nth(1).is_some_and(|at| at.ends_with(&port)))?;
    row.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_a_stream_and_what_the_system_drops_is_known() {
        let mut datagrams = Datagrams::bind("127.0.0.1:0").unwrap();
        let socket = datagrams.socket().unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        for part in [&b"abc"[..], b"de", b""] {
            sender.send_to(part, address).unwrap();
        }
        let mut text = String::new();
        datagrams.read_to_string(&mut text).unwrap();
        assert_eq!(text, "abcde");
        let Some(before) = dropped_datagrams(&socket) else {
            return println!("skipped: this system does not say");
        };
        assert_eq!(before, 0);
        // Sends more than the buffer holds.
        let large = vec![1; 32_000];
        for _ in 0..4 * BUFFER / large.len() {
            sender.send_to(&large, address).unwrap();
        }
        assert!(dropped_datagrams(&socket) > Some(0));
    }
}
