//! Turns the loopback of a new network on, its first interface, by the one message of netlink that says so.

use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, sendto, socket};

pub(super) fn turn_on() -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACK: u16 = 1 | 4;
    const ERROR: u16 = 2;
    const UP: u32 = 1;
    let wire = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let mut message = Vec::new();
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACK.to_ne_bytes());
    // Its number, and the address of the kernel, which is none.
    message.extend([0; 8]);
    // Of no family, the interface 1, with the flag "up", and that one alone.
    message.extend([0; 4]);
    message.extend(1_i32.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    sendto(&wire, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0_u8; 64];
    let (_, read) = recv(&wire, &mut answer, RecvFlags::empty())?;
    let kind = u16::from_ne_bytes([answer[4], answer[5]]);
    let code = i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]);
    match (read >= 20 && kind == ERROR, code) {
        (true, 0) => Ok(()),
        (true, code) => Err(io::Error::from_raw_os_error(-code)),
        (false, _) => Err(io::Error::other("the kernel's answer is none")),
    }
}
