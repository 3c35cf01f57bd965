use std::io::Write as _;

use base64::Engine as _;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

const MOST: u64 = 64 * 1024;
const TEXT: &[u8] = b"{\"schema\": \"phasegate/run@1\"}\n";

/// A file of an archive that is written down byte by byte.
#[derive(Clone)]
struct File {
    name: Vec<u8>,
    /// The name in the header before its content, where that is another.
    named: Option<Vec<u8>>,
    mode: u32,
    flags: u16,
    method: u16,
    content: Vec<u8>,
    size: u32,
}

fn file(name: &str) -> File {
    let (content, size) = (TEXT.to_vec(), TEXT.len() as u32);
    File { name: name.into(), named: None, mode: 0o100_644, flags: 0, method: 0, content, size }
}

fn the_log() -> File {
    file(FILE)
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

/// What stands in both headers of a file.
fn shared(one: &File, name: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    for short in [20, one.flags, one.method, 0, 0x21] {
        head.extend(u16::to_le_bytes(short));
    }
    for long in [crc(&one.content), one.content.len() as u32, one.size] {
        head.extend(long.to_le_bytes());
    }
    head.extend((name.len() as u16).to_le_bytes());
    head.extend(0_u16.to_le_bytes());
    head
}

fn end(files: u16, listed: u32, at: u32, comment: &[u8]) -> Vec<u8> {
    let mut end = END.to_vec();
    for short in [0, 0, files, files] {
        end.extend(u16::to_le_bytes(short));
    }
    end.extend(listed.to_le_bytes());
    end.extend(at.to_le_bytes());
    end.extend((comment.len() as u16).to_le_bytes());
    end.extend(comment);
    end
}

fn packed(files: &[File]) -> Vec<u8> {
    let (mut bytes, mut list) = (Vec::new(), Vec::new());
    for one in files {
        let at = bytes.len() as u32;
        let local = one.named.as_ref().unwrap_or(&one.name);
        bytes.extend(LOCAL);
        bytes.extend(shared(one, local));
        bytes.extend(local);
        bytes.extend(&one.content);
        list.extend(b"PK\x01\x02");
        // By a system that has modes.
        list.extend([20, 3]);
        list.extend(shared(one, &one.name));
        list.extend([0; 6]);
        list.extend((one.mode << 16).to_le_bytes());
        list.extend(at.to_le_bytes());
        list.extend(&one.name);
    }
    let (at, listed) = (bytes.len() as u32, list.len() as u32);
    bytes.extend(list);
    bytes.extend(end(files.len() as u16, listed, at, b""));
    bytes
}

fn refused(bytes: &[u8]) -> &'static str {
    let why = log(bytes, MOST).unwrap_err();
    let says = why.to_string();
    assert!(says.ends_with('.') && why.next().ends_with('.'), "{says}");
    why.name()
}

#[test]
fn the_log_is_read_of_what_the_upload_makes() {
    assert_eq!(log(&packed(&[file("evidence.html"), the_log()]), MOST).unwrap(), TEXT);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for name in [FILE, "evidence.html", "more/execution_log.json"] {
        writer.start_file(name, options).unwrap();
        writer.write_all(TEXT).unwrap();
    }
    assert_eq!(log(&writer.finish().unwrap().into_inner(), MOST).unwrap(), TEXT);
}

/// By archiver 7.0.1, as `actions/upload-artifact` calls it. Sizes follow behind the content.
const UPLOADED: &str = "UEsDBBQACAAIAGxHcV0AAAAAAAAAAAAAAAANAAAAZXZpZGVuY2UuaHRtbLMpsAMAUEsHCLuhbjwFAAAAAwAAAFBLAwQUAAgACACDGCJcAAAA\
    AAAAAAAAAAAAEgAAAGV4ZWN1dGlvbl9sb2cuanNvbqtWSlSyUjCs5arGYAAAUEsHCNlKfL0OAAAAGwAAAFBLAQItAxQACAAIAGxHcV27oW48\
    BQAAAAMAAAANAAAAAAAAAAAAIACkgQAAAABldmlkZW5jZS5odG1sUEsBAi0DFAAIAAgAgxgiXNlKfL0OAAAAGwAAABIAAAAAAAAAAAAgAKSB\
    QAAAAGV4ZWN1dGlvbl9sb2cuanNvblBLBQYAAAAAAgACAHsAAACOAAAAAAA=";

/// Python's `zipfile` on a stream that can't go back, as the upload is one.
const STREAMED: &str = "UEsDBBQACAAIAIMYIlwAAAAAAAAAAAAAAAANAAAAZXZpZGVuY2UuaHRtbLMpsAMAUEsHCLuhbjwFAAAAAwAAAFBLAwQUAAgACACDGCJcAAAA\
    AAAAAAAAAAAAEgAAAGV4ZWN1dGlvbl9sb2cuanNvbqtWSlSyUjCs5arGYAAAUEsHCNlKfL0OAAAAGwAAAFBLAQIUAxQACAAIAIMYIly7oW48\
    BQAAAAMAAAANAAAAAAAAAAAAAACkgQAAAABldmlkZW5jZS5odG1sUEsBAhQDFAAIAAgAgxgiXNlKfL0OAAAAGwAAABIAAAAAAAAAAAAAAKSB\
    QAAAAGV4ZWN1dGlvbl9sb2cuanNvblBLBQYAAAAAAgACAHsAAACOAAAAAAA=";

#[test]
fn the_log_is_read_of_an_archive_whose_sizes_follow() {
    let read = |text: &str| base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    for made in [STREAMED, UPLOADED] {
        assert_eq!(log(&read(made), MOST).unwrap(), "{\"a\": 1}\n".repeat(3).as_bytes());
    }
    let bytes = read(UPLOADED);
    // Not one of its bytes can be another one without somebody noticing, but for the times and modes of its files.
    let good = log(&bytes, MOST);
    for at in 0..bytes.len() {
        let mut bent = bytes.clone();
        bent[at] ^= 0x55;
        let read = log(&bent, MOST);
        assert!(read.is_err() || read == good, "byte {at}: {read:?}");
    }
    for end in 0..bytes.len() {
        assert!(log(&bytes[..end], MOST).is_err(), "cut at {end}");
    }
}

#[test]
fn what_is_no_archive_is_refused() {
    for bytes in [&b""[..], b"PK", b"{}", TEXT, &[0; 4096], b"\x1f\x8b\x08\x00 a tarball of some kind or other"] {
        assert_eq!(refused(bytes), "no_archive");
    }
    assert_eq!(refused(&packed(&[])), "no_log");
    assert_eq!(refused(&packed(&[file("evidence.html")])), "no_log");
    assert_eq!(refused(&packed(&[file("Execution_Log.json"), file("more/execution_log.json")])), "no_log");
}

#[test]
fn an_archive_of_too_many_files_is_refused_before_they_are_read() {
    let many: Vec<File> = (0..MOST_FILES).map(|n| file(&format!("{n}.txt"))).collect();
    assert_eq!(refused(&packed(&many)), "no_log");
    let more: Vec<File> = many.into_iter().chain([the_log()]).collect();
    assert_eq!(refused(&packed(&more)), "too_many_files");
    // It says so, and has none of them.
    let claims = [LOCAL, &end(60_000, 0, 4, b"")].concat();
    assert_eq!(refused(&claims), "too_many_files");
}

#[test]
fn two_files_of_one_name_are_refused() {
    let other = File { content: b"[]".to_vec(), size: 2, ..the_log() };
    assert_eq!(refused(&packed(&[the_log(), other.clone()])), "file_twice");
    assert_eq!(refused(&packed(&[file("a"), other, file("a"), the_log()])), "file_twice");
}

#[test]
fn names_that_lead_out_are_refused() {
    for name in [
        "../execution_log.json",
        "a/../../b",
        "a/../execution_log.json",
        "/etc/passwd",
        "./execution_log.json",
        "a//b",
        "..\\execution_log.json",
        "C:execution_log.json",
        "\\\\host\\share",
        "",
    ] {
        assert_eq!(refused(&packed(&[file(name), the_log()])), "leads_out", "{name}");
    }
    for name in [&b"a\0b"[..], b"\xff\xfe", b"execution_log.json\0"] {
        assert_eq!(refused(&packed(&[File { name: name.to_vec(), ..file("") }, the_log()])), "leads_out");
    }
}

#[test]
fn what_is_no_plain_file_is_refused() {
    for mode in [0o120_777, 0o040_755, 0o010_644, 0o020_644, 0o060_644, 0o140_644] {
        assert_eq!(refused(&packed(&[File { mode, ..the_log() }])), "not_plain", "{mode:o}");
        assert_eq!(refused(&packed(&[File { mode, ..file("other") }, the_log()])), "not_plain", "{mode:o}");
    }
    assert_eq!(refused(&packed(&[file("folder/"), the_log()])), "not_plain");
    assert_eq!(refused(&packed(&[file("execution_log.json/")])), "not_plain");
}

#[test]
fn what_is_packed_as_artefacts_are_not_is_refused() {
    assert_eq!(refused(&packed(&[File { flags: 1, ..the_log() }])), "encrypted");
    for method in [1, 6, 9, 12, 14, 93, 95, 98, 99] {
        let name = refused(&packed(&[File { method, ..the_log() }]));
        assert!(["other_method", "damaged_archive"].contains(&name), "{method}: {name}");
    }
}

/// So many zeros, in a thousandth of their bytes.
fn bomb(zeros: usize) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    writer.start_file(FILE, options).unwrap();
    writer.write_all(&vec![0; zeros]).unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn no_more_is_unpacked_than_is_taken_whatever_it_says_of_its_size() {
    assert_eq!(log(&bomb(MOST as usize), MOST).unwrap().len() as u64, MOST);
    let bytes = bomb(50 * MOST as usize);
    assert!(bytes.len() < 100_000);
    assert_eq!(refused(&bytes), "unpacks_too_large");
    // The same, with a size in its headers that would be fine.
    let (said, small) = (50 * MOST as u32, 1000_u32);
    let at: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..at + 4] == said.to_le_bytes()).collect();
    assert_eq!(at.len(), 2);
    let mut lying = bytes;
    at.into_iter().for_each(|at| lying[at..at + 4].copy_from_slice(&small.to_le_bytes()));
    let name = refused(&lying);
    assert!(["unpacks_too_large", "damaged_archive"].contains(&name), "{name}");
    assert_eq!(refused(&packed(&[File { size: u32::MAX - 1, ..the_log() }])), "unpacks_too_large");
}

#[test]
fn what_can_be_read_in_two_ways_is_read_in_none() {
    let good = packed(&[the_log()]);
    // Before it, behind it, or two of them.
    assert_eq!(refused(&[b"#!/bin/sh\n", good.as_slice()].concat()), "ambiguous_archive");
    assert_eq!(refused(&[good.as_slice(), b"\n"].concat()), "ambiguous_archive");
    assert_eq!(refused(&[good.as_slice(), &good].concat()), "ambiguous_archive");
    let listed = good.len() - END_SIZE - (30 + FILE.len() + TEXT.len());
    let at = good.len() - END_SIZE - listed;
    let with = |end: Vec<u8>| [&good[..good.len() - END_SIZE], &end].concat();
    assert_eq!(with(end(1, listed as u32, at as u32, b"")), good);
    assert_eq!(refused(&with(end(1, listed as u32, at as u32, b"a comment"))), "ambiguous_archive");
    // A second end in the comment of the first, whose list is empty.
    let hidden = end(1, listed as u32, at as u32, &end(0, 0, 0, b""));
    assert_eq!(refused(&with(hidden)), "ambiguous_archive");
    assert_eq!(refused(&with(end(1, listed as u32, at as u32 + 1, b""))), "ambiguous_archive");
    // A list that says that there is nothing.
    assert_eq!(refused(&with(end(0, 0, (at + listed) as u32, b""))), "ambiguous_archive");
    // One name before the content, and another in the list.
    let two = File { named: Some(b"evidence_page.html".to_vec()), ..the_log() };
    assert_eq!(refused(&packed(&[two])), "ambiguous_archive");
    // A file that the list does not have.
    let (first, second) = (packed(&[file("hidden.json")]), packed(&[the_log()]));
    let content = first.windows(4).position(|at| at == b"PK\x01\x02").unwrap();
    let listed = second.windows(4).position(|at| at == b"PK\x01\x02").unwrap();
    let mut bytes = [&first[..content], &second[..listed]].concat();
    let (at, mut list) = (bytes.len(), second[listed..second.len() - END_SIZE].to_vec());
    list[42..46].copy_from_slice(&(content as u32).to_le_bytes());
    bytes.extend(&list);
    bytes.extend(end(1, list.len() as u32, at as u32, b""));
    assert_eq!(refused(&bytes), "ambiguous_archive");
    // Two names for one content.
    let mut twice = packed(&[the_log(), file("b")]);
    let second = twice.windows(4).rposition(|at| at == b"PK\x01\x02").unwrap();
    twice[second + 42..second + 46].copy_from_slice(&0_u32.to_le_bytes());
    assert_eq!(refused(&twice), "ambiguous_archive");
}

#[test]
fn damage_is_seen() {
    let mut bytes = packed(&[the_log()]);
    let content = 30 + FILE.len();
    bytes[content + 3] ^= 1;
    assert_eq!(refused(&bytes), "damaged_archive");
    let mut bytes = bomb(4096);
    bytes[content + 2] = 0xff;
    let name = refused(&bytes);
    assert!(["damaged_archive", "ambiguous_archive"].contains(&name), "{name}");
}

#[test]
fn each_refusal_has_its_name() {
    let all = [
        Refused::NotZip,
        Refused::Ambiguous(String::new()),
        Refused::TooManyFiles(17),
        Refused::Twice,
        Refused::LeadsOut(String::new()),
        Refused::NotPlain { what: String::new(), is: "a link" },
        Refused::Encrypted(String::new()),
        Refused::OtherMethod(String::new()),
        Refused::NoFile,
        Refused::TooLarge { most: 1 },
        Refused::Damaged(String::new()),
    ];
    let names: std::collections::BTreeSet<&str> = all.iter().map(Refused::name).collect();
    assert_eq!(names.len(), all.len());
}
