//! The sockets of this machine that have a path. Neither a network of its own nor a folder that can only be read keeps a process from
//! speaking to one that it sees. So they are hidden; one that the policy names itself, under `read`, is shown again.
//!
//! The kernel has a list of them, by the names that they were bound with. A name may have any byte. One that is relative was so in
//! the folder in which its owner was, and is looked for in the one where the owner is now. Who has renamed or linked a socket
//! since is not in the list.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// What is to be hidden for them.
pub(super) fn listed() -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for Bound { inode, name } in read(&fs::read("/proc/self/net/unix")?) {
        match name.as_encoded_bytes().first() {
            None | Some(b'@') => {}
            Some(b'/') => paths.push(PathBuf::from(name)),
            Some(_) => paths.extend(owners(&inode).into_iter().map(|folder| folder.join(&name))),
        }
    }
    let mut hides: Vec<PathBuf> = paths.iter().map(|path| speakable(path).to_owned()).collect();
    hides.sort();
    hides.dedup();
    Ok(hides)
}

/// The path itself, or the folder above it that can be passed on: what is hidden is told as text.
fn speakable(path: &Path) -> &Path {
    path.ancestors().find(|path| path.to_str().is_some()).unwrap_or(path)
}

#[derive(Debug, PartialEq, Eq)]
struct Bound {
    inode: OsString,
    name: OsString,
}

/// The kernel's list. A name goes on to the end of its line, and where it has line ends of its own, to the next entry.
fn read(list: &[u8]) -> Vec<Bound> {
    let mut found: Vec<Bound> = Vec::new();
    for line in list.split(|byte| *byte == b'\n').skip(1) {
        match entry(line) {
            Some(bound) => found.push(bound),
            None => {
                if let Some(before) = found.last_mut().filter(|_| !line.is_empty()) {
                    before.name.push("\n");
                    before.name.push(OsStr::from_bytes(line));
                }
            }
        }
    }
    found
}

/// An entry: an address, six numbers, and the name, if it has one.
fn entry(line: &[u8]) -> Option<Bound> {
    let mut rest = line;
    let mut column = || -> Option<&[u8]> {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        let (column, behind) = rest.split_at(end);
        rest = behind;
        (!column.is_empty()).then_some(column)
    };
    let is_address = |bytes: &[u8]| {
        bytes.strip_suffix(b":").is_some_and(|hex| hex.len() >= 8 && hex.iter().all(u8::is_ascii_hexdigit))
    };
    column().filter(|address| is_address(address))?;
    let is_number = |bytes: &&[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    for _ in 0..5 {
        column().filter(is_number)?;
    }
    let inode = column().filter(is_number)?.to_owned();
    let name = rest.strip_prefix(b" ").unwrap_or(rest).to_owned();
    Some(Bound { inode: OsString::from_vec(inode), name: OsString::from_vec(name) })
}

/// The folders of the processes that have this socket, as far as one may look.
fn owners(inode: &OsStr) -> Vec<PathBuf> {
    let mut wanted = OsString::from("socket:[");
    wanted.push(inode);
    wanted.push("]");
    let has_it = |process: &Path| {
        let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        open.into_iter().any(|one| fs::read_link(one.path()).is_ok_and(|link| link.as_os_str() == wanted))
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|process| process.path());
    processes.filter(|process| has_it(process)).filter_map(|process| fs::read_link(process.join("cwd")).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_any_byte() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 17081 /run/plain.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03    12\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20 /run/a b/with  blanks \n\
            0000000000000000: 00000002 00000000 00010000 0001 01 21 @abstract\xff\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 22 /run/\xff.sock\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 23 /run/two\nlines\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 24 rel.sock\n";
        let found = read(list);
        let names: Vec<&[u8]> = found.iter().map(|bound| bound.name.as_bytes()).collect();
        let expected: [&[u8]; 7] = [
            b"/run/plain.sock",
            b"",
            b"/run/a b/with  blanks ",
            b"@abstract\xff",
            b"/run/\xff.sock",
            b"/run/two\nlines",
            b"rel.sock",
        ];
        assert_eq!(names, expected);
        assert_eq!(found[1].inode, "12");
        assert_eq!(read(b""), []);
    }

    #[test]
    fn what_can_not_be_told_is_hidden_with_its_folder() {
        assert_eq!(speakable(Path::new("/run/a b/c")), Path::new("/run/a b/c"));
        let odd = PathBuf::from(OsString::from_vec(b"/run/x/\xff/s".to_vec()));
        assert_eq!(speakable(&odd), Path::new("/run/x"));
    }
}
