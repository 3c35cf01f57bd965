//! Answers kept for conditional requests.
//!
//! An authorised "304 not modified" costs nothing of the hourly allowance, and most of what the bot reads has not
//! changed. One cache belongs to one installation, never more: what one may see, another may not. It is bounded in
//! entries and bytes; the least recently used go first.

use std::collections::HashMap;

use bytes::Bytes;

const MOST_ENTRIES: usize = 512;
const MOST_BYTES: usize = 16 * 1024 * 1024;
const LARGEST: usize = 1024 * 1024;

#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) etag: String,
    pub(super) body: Bytes,
    pub(super) next: Option<String>,
    used: u64,
}

#[derive(Debug, Default)]
pub(super) struct Etags {
    kept: HashMap<String, Kept>,
    bytes: usize,
    clock: u64,
}

impl Etags {
    pub(super) fn get(&mut self, path: &str) -> Option<Kept> {
        self.clock += 1;
        let kept = self.kept.get_mut(path)?;
        kept.used = self.clock;
        Some(kept.clone())
    }

    pub(super) fn keep(&mut self, path: &str, etag: String, body: Bytes, next: Option<String>) {
        self.forget(path);
        if body.len() > LARGEST {
            return;
        }
        self.clock += 1;
        self.bytes += body.len();
        self.kept.insert(path.to_owned(), Kept { etag, body, next, used: self.clock });
        while self.kept.len() > MOST_ENTRIES || self.bytes > MOST_BYTES {
            let Some(oldest) = self.kept.iter().min_by_key(|(_, kept)| kept.used).map(|(path, _)| path.clone()) else {
                return;
            };
            self.forget(&oldest);
        }
    }

    pub(super) fn forget(&mut self, path: &str) {
        if let Some(kept) = self.kept.remove(path) {
            self.bytes -= kept.body.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_the_least_recently_used_goes_first() {
        let mut etags = Etags::default();
        for n in 0..MOST_ENTRIES + 10 {
            etags.keep(&n.to_string(), "e".into(), Bytes::from_static(b"x"), None);
            assert!(etags.get("0").is_some());
        }
        assert_eq!(etags.kept.len(), MOST_ENTRIES);
        assert!(etags.get("1").is_none());
        for n in 0..40 {
            etags.keep(&format!("big{n}"), "e".into(), Bytes::from(vec![0; LARGEST]), None);
        }
        assert!(etags.bytes <= MOST_BYTES);
        etags.keep("huge", "e".into(), Bytes::from(vec![0; LARGEST + 1]), None);
        assert!(etags.get("huge").is_none());
        let total: usize = etags.kept.values().map(|kept| kept.body.len()).sum();
        assert_eq!(total, etags.bytes);
    }
}
