//! Where GitHub is: github.com, a data-residency host, an Enterprise Server, or a stand-in on this machine.
//!
//! Three addresses belong together and follow from the first: REST, GraphQL and the one that people and `git` use.
//! An Enterprise Server has REST under `/api/v3` and GraphQL beside it under `/api/graphql`, not below it.

use reqwest::Url;

/// GitHub's addresses, without trailing slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    api: Url,
    graphql: Url,
    server: Url,
}

/// An address that can't be GitHub's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be an http or https address without credentials, query or fragment, such as {example}")]
pub struct BadAddress {
    what: &'static str,
    example: &'static str,
}

impl Endpoint {
    /// The addresses that follow from REST's: `https://api.github.com`, or `https://HOST/api/v3`.
    pub fn new(api: &str) -> Result<Self, BadAddress> {
        let api = address("the API's address", "https://api.github.com or https://github.example.com/api/v3", api)?;
        let mut graphql = api.clone();
        let mut server = api.clone();
        server.set_path("");
        match api.path().strip_suffix("/api/v3") {
            Some(before) => {
                graphql.set_path(&format!("{before}/api/graphql"));
                server.set_path(before);
            }
            None => {
                graphql.set_path(&format!("{}/graphql", api.path().trim_end_matches('/')));
                if let Some(host) = api.host_str().and_then(|host| host.strip_prefix("api.")) {
                    // A host that was good with its first label is good without it.
                    let _ = server.set_host(Some(host));
                }
            }
        }
        Ok(Self { api, graphql, server })
    }

    /// Takes another address for GraphQL (`GITHUB_GRAPHQL_URL`).
    pub fn with_graphql(mut self, graphql: &str) -> Result<Self, BadAddress> {
        self.graphql = address("the GraphQL address", "https://api.github.com/graphql", graphql)?;
        Ok(self)
    }

    /// Takes another address for `git` and people (`GITHUB_SERVER_URL`).
    pub fn with_server(mut self, server: &str) -> Result<Self, BadAddress> {
        self.server = address("the server's address", "https://github.com", server)?;
        Ok(self)
    }

    pub fn github_com() -> Self {
        Self::new("https://api.github.com").expect("a constant that is an address")
    }

    /// What a workflow run is told: `GITHUB_API_URL`, `GITHUB_GRAPHQL_URL` and `GITHUB_SERVER_URL`.
    pub fn from_env(get: impl Fn(&str) -> Option<String>) -> Result<Self, BadAddress> {
        let set = |name| get(name).filter(|value| !value.is_empty());
        let mut endpoint = match set("GITHUB_API_URL") {
            Some(api) => Self::new(&api)?,
            None => Self::github_com(),
        };
        if let Some(graphql) = set("GITHUB_GRAPHQL_URL") {
            endpoint = endpoint.with_graphql(&graphql)?;
        }
        if let Some(server) = set("GITHUB_SERVER_URL") {
            endpoint = endpoint.with_server(&server)?;
        }
        Ok(endpoint)
    }

    /// The address of one REST path (`/repos/…?…`).
    ///
    /// A next-link or a redirect names a whole address, of which only path and query are taken: a token is never sent
    /// to a host that an answer chose, and it is never missing on page 2 because the host is not github.com.
    pub(super) fn rest(&self, path_and_query: &str) -> String {
        let base = self.api.as_str().trim_end_matches('/');
        let prefix = self.api.path().trim_end_matches('/');
        let path = match path_and_query.strip_prefix(prefix) {
            Some(rest) if !prefix.is_empty() && rest.starts_with('/') => rest,
            _ => path_and_query,
        };
        format!("{base}{path}")
    }

    /// Path and query of a link that an answer gave.
    pub(super) fn path_of(link: &str) -> Option<String> {
        if link.starts_with('/') && !link.starts_with("//") {
            return Some(link.to_owned());
        }
        let url = Url::parse(link).ok()?;
        Some(match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        })
    }

    pub fn api(&self) -> &str {
        self.api.as_str().trim_end_matches('/')
    }

    /// Who signs the tokens of workflows' jobs here.
    pub fn token_issuer(&self) -> String {
        match self.server.host_str() {
            Some("github.com") => "https://token.actions.githubusercontent.com".to_owned(),
            // A host with its data in one place has its own issuer beside it.
            Some(host) if host.ends_with(".ghe.com") => format!("https://token.actions.{host}"),
            _ => format!("{}/_services/token", self.server()),
        }
    }

    pub fn graphql(&self) -> &str {
        self.graphql.as_str()
    }

    pub fn server(&self) -> &str {
        self.server.as_str().trim_end_matches('/')
    }
}

fn address(what: &'static str, example: &'static str, text: &str) -> Result<Url, BadAddress> {
    let bad = || BadAddress { what, example };
    let mut url = Url::parse(text.trim()).map_err(|_| bad())?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() || !plain || url.fragment().is_some() {
        return Err(bad());
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_addresses_follow_from_one() {
        for (api, graphql, server) in [
            ("https://api.github.com", "https://api.github.com/graphql", "https://github.com"),
            ("https://api.github.com/", "https://api.github.com/graphql", "https://github.com"),
            ("https://ghe.example.com/api/v3", "https://ghe.example.com/api/graphql", "https://ghe.example.com"),
            ("https://api.octo.ghe.com", "https://api.octo.ghe.com/graphql", "https://octo.ghe.com"),
            ("http://127.0.0.1:8080/api/v3/", "http://127.0.0.1:8080/api/graphql", "http://127.0.0.1:8080"),
        ] {
            let endpoint = Endpoint::new(api).unwrap();
            assert_eq!((endpoint.graphql(), endpoint.server()), (graphql, server), "{api}");
        }
        let env =
            Endpoint::from_env(|name| (name == "GITHUB_GRAPHQL_URL").then(|| "https://other.example.com/g".to_owned()));
        assert_eq!(env.unwrap().graphql(), "https://other.example.com/g");
    }

    #[test]
    fn an_address_with_credentials_or_another_scheme_is_refused_without_being_repeated() {
        for bad in ["", "api.github.com", "ftp://x", "https://user:hunter2@x", "https://x?token=hunter2", "https://x#y"]
        {
            let error = Endpoint::new(bad).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn links_lose_their_host_and_keep_their_path() {
        let endpoint = Endpoint::new("https://ghe.example.com/api/v3").unwrap();
        let next = Endpoint::path_of("https://evil.example.com/api/v3/repositories/1/pulls?page=2").unwrap();
        assert_eq!(endpoint.rest(&next), "https://ghe.example.com/api/v3/repositories/1/pulls?page=2");
        assert_eq!(endpoint.rest("/repos/o/r"), "https://ghe.example.com/api/v3/repos/o/r");
        assert_eq!(Endpoint::github_com().rest("/repos/o/r"), "https://api.github.com/repos/o/r");
        assert_eq!(Endpoint::path_of("//evil.example.com/x"), None);
    }
}
