//! Pictures that the commands leave: what the software looked like when it ran. They prove nothing, and no rule looks at them. People
//! do, on the evidence page.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::environ::Masks;
use super::reports::{Before, LONGEST_PATH, content, found};
use super::text;
use crate::ids::Digest;

/// So many are kept.
pub(crate) const MOST: usize = 12;
/// What one may have.
const LARGEST: u64 = 512 * 1024;
/// What all of them may have together: a log with them still goes where logs are sent.
const TOGETHER: u64 = 2 * 1024 * 1024;

/// A picture that the commands have left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Screenshot {
    pub path: String,
    /// Of its bytes.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("pattern" = super::artefact::DIGEST))]
    pub digest: Option<Digest>,
    pub bytes: u64,
    /// Its bytes in base64; none where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Why it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Screenshot {
    /// What a page shows it by: `data:image/png;base64,…`. None where these bytes are no picture, whatever the log says.
    pub fn address(&self) -> Option<String> {
        let bytes = STANDARD.decode(self.data.as_ref()?).ok().filter(|bytes| bytes.len() as u64 <= LARGEST)?;
        Some(format!("data:{};base64,{}", media(&bytes)?, STANDARD.encode(&bytes)))
    }
}

/// What kind of picture it is, by how it begins.
fn media(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// The pictures that the globs match now, and that were not there before.
pub(crate) fn read(folder: &Path, globs: &[String], before: &Before, masks: &Masks) -> Vec<Screenshot> {
    let (mut files, mut shots): (Vec<PathBuf>, Vec<Screenshot>) = (Vec::new(), Vec::new());
    for glob in globs {
        match found(folder, glob) {
            Ok(found) => files.extend(found),
            Err(why) => shots.push(left_out(text::head(glob, LONGEST_PATH), text::line(&why, 300))),
        }
    }
    files.sort();
    files.dedup();
    let mut left = TOGETHER;
    shots.extend(files.iter().take(MOST).map(|file| one(folder, file, before, &mut left)));
    shots.truncate(MOST);
    shots.iter_mut().for_each(|shot| shot.path = masks.hide_text(&shot.path));
    shots
}

fn left_out(path: String, why: String) -> Screenshot {
    Screenshot { path, digest: None, bytes: 0, data: None, why: Some(why) }
}

fn one(folder: &Path, file: &Path, before: &Before, left: &mut u64) -> Screenshot {
    let path = text::head(&file.to_string_lossy(), LONGEST_PATH);
    let mut most = LARGEST;
    let (bytes, about) = match content(folder, file, &mut most) {
        Ok(read) => read,
        Err(_) if most == 0 => return left_out(path, format!("it has more than {} KiB", LARGEST >> 10)),
        Err(why) => return left_out(path, text::line(&why, 300)),
    };
    let (digest, size) = (Digest::of(&bytes), bytes.len() as u64);
    let why = match before.stale(file, &about, &digest) {
        Some(stale) => Some(stale.to_owned()),
        None if media(&bytes).is_none() => Some("it is neither PNG, JPEG nor WebP".to_owned()),
        None if size > *left => Some(format!("all of them may have {} KiB together", TOGETHER >> 10)),
        None => None,
    };
    let data = why.is_none().then(|| STANDARD.encode(&bytes));
    *left -= data.as_ref().map_or(0, |_| size);
    Screenshot { path, digest: Some(digest), bytes: size, data, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nand so on";

    fn globs(all: &[&str]) -> Vec<String> {
        all.iter().map(|glob| (*glob).to_owned()).collect()
    }

    #[test]
    fn pictures_of_this_run_are_kept_and_what_is_none_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        put("old.png", PNG);
        let globs = globs(&["*.png", "a*"]);
        let before = Before::note(folder.path(), &globs, true);
        put("a.png", PNG);
        put("b.png", b"<script>alert(1)</script>");
        put("c.png", &[PNG, &vec![0; 600 * 1024][..]].concat());
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("d.png")).unwrap();
        let shots = read(folder.path(), &globs, &before, &Masks::default());
        let told: Vec<(&str, bool, Option<&str>)> =
            shots.iter().map(|shot| (shot.path.as_str(), shot.data.is_some(), shot.why.as_deref())).collect();
        assert_eq!(told.len(), 5, "{told:?}");
        assert_eq!(told[0], ("a.png", true, None));
        assert_eq!(told[1], ("b.png", false, Some("it is neither PNG, JPEG nor WebP")));
        assert_eq!(told[2], ("c.png", false, Some("it has more than 512 KiB")));
        assert_eq!(told[3], ("d.png", false, Some("it is a link")));
        assert_eq!(told[4], ("old.png", false, Some("it was there before the commands, and is the same as it was")));
        assert!(shots[0].address().unwrap().starts_with("data:image/png;base64,"));
    }

    /// Whoever reads them may read what the commands may not.
    #[test]
    fn nothing_is_read_behind_a_link() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let globs = globs(&["shots/**", "deep/shots/a.png"]);
        let before = Before::note(folder.path(), &globs, true);
        std::fs::create_dir(outside.path().join("shots")).unwrap();
        std::fs::write(outside.path().join("shots/a.png"), PNG).unwrap();
        std::os::unix::fs::symlink(outside.path().join("shots"), folder.path().join("shots")).unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("deep")).unwrap();
        let shots = read(folder.path(), &globs, &before, &Masks::default());
        let behind = Some("it lies behind a link, and those are not followed");
        assert_eq!(shots.len(), 2, "{shots:?}");
        for shot in &shots {
            assert_eq!((shot.why.as_deref(), &shot.data, &shot.digest), (behind, &None, &None));
        }
    }

    #[test]
    fn there_are_not_too_many_nor_too_much() {
        let folder = tempfile::tempdir().unwrap();
        let globs = globs(&["*.png"]);
        let before = Before::note(folder.path(), &globs, true);
        for at in 0..20 {
            let bytes = [PNG, &vec![at; 300 * 1024][..]].concat();
            std::fs::write(folder.path().join(format!("{at:02}.png")), bytes).unwrap();
        }
        let shots = read(folder.path(), &globs, &before, &Masks::default());
        assert_eq!((shots.len(), shots.iter().filter(|shot| shot.data.is_some()).count()), (MOST, 6));
        assert_eq!(shots[6].why.as_deref(), Some("all of them may have 2048 KiB together"));
    }

    #[test]
    fn a_log_that_lies_shows_no_picture() {
        let says = |data: &str| Screenshot {
            path: "a.png".to_owned(),
            digest: None,
            bytes: 1,
            data: Some(data.to_owned()),
            why: None,
        };
        for lie in ["", "no base64!", "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+", "\"><script>"] {
            assert_eq!(says(lie).address(), None, "{lie}");
        }
    }
}
