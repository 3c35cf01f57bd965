//! One request, before it is sent: a route, what fills it, and how it may be repeated.
//!
//! A route is written once, as a template, and serves twice: filled in it is the path, as it stands it labels the
//! metrics. Whatever fills it is encoded, so that a login, a branch or a label can't climb into another path.

use http::Method;
use serde_json::Value;

use super::budget::Cost;
use super::error::{Error, Result};

/// What may be done when the answer is a time-out or a server error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Doing it twice is the same as doing it once: it may simply be repeated.
    Safe,
    /// It may have happened: nothing is repeated before its key has been looked for.
    Never,
}

#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) route: &'static str,
    pub(super) path: String,
    pub(super) body: Option<Value>,
    pub(super) repeat: Repeat,
    pub(super) graphql: bool,
    pub(super) creates: bool,
    pub(super) must_exist: bool,
    /// It may lie elsewhere: so many bytes of it are taken at most.
    pub(super) elsewhere: Option<usize>,
}

impl Request {
    /// Fills `{…}` in the route, in order. `{…*}` keeps slashes, for git refs.
    pub(super) fn new(method: Method, route: &'static str, parts: &[&str]) -> Result<Self> {
        let repeat = if method == Method::GET { Repeat::Safe } else { Repeat::Never };
        let path = fill(route, parts)?;
        Ok(Self {
            method,
            route,
            path,
            body: None,
            repeat,
            graphql: false,
            creates: false,
            must_exist: false,
            elsewhere: None,
        })
    }

    pub(super) fn graphql(body: Value, repeat: Repeat) -> Self {
        Self {
            method: Method::POST,
            route: "/graphql",
            path: String::new(),
            body: Some(body),
            repeat,
            graphql: true,
            creates: false,
            must_exist: false,
            elsewhere: None,
        }
    }

    pub(super) fn query(mut self, name: &str, value: &str) -> Self {
        self.path.push(if self.path.contains('?') { '&' } else { '?' });
        self.path.push_str(name);
        self.path.push('=');
        encode(&mut self.path, value, false);
        self
    }

    pub(super) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// A write that leaves the same behind however often it is made.
    pub(super) fn idempotent(mut self) -> Self {
        self.repeat = Repeat::Safe;
        self
    }

    /// A file, which GitHub may keep at another host: it is fetched from there, up to so many bytes.
    pub(super) fn may_lie_elsewhere(mut self, most: usize) -> Self {
        self.elsewhere = Some(most);
        self
    }

    /// Counts as content that GitHub limits by the minute and hour.
    pub(super) fn creates(mut self) -> Self {
        self.creates = true;
        self
    }

    /// The caller knows that the thing exists, so that "not found" is a replica that lags behind.
    pub(super) fn must_exist(mut self, yes: bool) -> Self {
        self.must_exist = yes;
        self
    }

    pub(super) fn reads(&self) -> bool {
        self.method == Method::GET || (self.graphql && self.repeat == Repeat::Safe)
    }

    pub(super) fn cost(&self) -> Cost {
        let resource = if self.graphql { "graphql" } else { "core" };
        Cost { resource, points: if self.reads() { 1 } else { 5 }, creates: self.creates }
    }
}

fn fill(route: &'static str, parts: &[&str]) -> Result<String> {
    let mut path = String::with_capacity(route.len() + 40);
    let mut parts = parts.iter();
    let mut rest = route;
    while let Some((before, inside)) = rest.split_once('{') {
        let (name, tail) = inside.split_once('}').ok_or_else(|| Error::malformed(route, "an open brace"))?;
        let part = parts.next().ok_or_else(|| Error::malformed(route, format!("nothing given for {name}")))?;
        // An empty part or a dot segment would make it another path altogether.
        if part.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
            return Err(Error::malformed(route, format!("{part:?} can't be a {name}")));
        }
        path.push_str(before);
        encode(&mut path, part, name.ends_with('*'));
        rest = tail;
    }
    path.push_str(rest);
    if parts.next().is_some() { Err(Error::malformed(route, "too many parts")) } else { Ok(path) }
}

fn encode(into: &mut String, text: &str, keep_slashes: bool) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => into.push(char::from(byte)),
            b'/' if keep_slashes => into.push('/'),
            _ => into.push_str(&format!("%{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(route: &'static str, parts: &[&str]) -> Result<String> {
        Request::new(Method::GET, route, parts).map(|request| request.path)
    }

    #[test]
    fn parts_are_encoded_and_cant_climb() {
        assert_eq!(path("/a/{x}/b/{y}", &["1", "c d"]).unwrap(), "/a/1/b/c%20d");
        assert_eq!(path("/labels/{name}", &["a/b?c#d"]).unwrap(), "/labels/a%2Fb%3Fc%23d");
        assert_eq!(path("/ref/{ref*}", &["heads/a/b é"]).unwrap(), "/ref/heads/a/b%20%C3%A9");
        for climbing in ["..", ".", "", "a/../b", "/a", "a//b"] {
            assert!(path("/users/{login}/x", &[climbing]).is_err(), "{climbing:?}");
        }
        assert!(path("/a/{x}", &[]).is_err());
        assert!(path("/a", &["x"]).is_err());
        let request = Request::new(Method::GET, "/a", &[]).unwrap().query("q", "a&b=c").query("p", "1");
        assert_eq!(request.path, "/a?q=a%26b%3Dc&p=1");
    }
}
