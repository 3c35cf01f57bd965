//! Files that GitHub keeps at another host: it answers with an address that is good for a moment and for whoever has it.
//!
//! One such step is made, and no more. Our token stays at home: the other host has no business with it. No error tells the address,
//! because it is a key by itself.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use reqwest::Url;

use super::answer::{Answer, Reply, failure};
use super::error::{Error, Result};
use super::request::Request;
use super::wire::Wire;

impl Wire {
    /// Fetches what an answer says is elsewhere.
    pub(super) async fn fetch_elsewhere(&self, request: &Request, reply: &Reply) -> Result<Answer> {
        let broken = |what: &str| Error::malformed(request.route, what);
        let most = request.elsewhere.unwrap_or_default();
        let location = reply.headers.get(header::LOCATION).and_then(|location| location.to_str().ok());
        let address = location.and_then(|location| address(location, self.endpoint.api()));
        let address = address.ok_or_else(|| broken("it is at an address that nothing is fetched from"))?;
        let sent = self.http.get(address).header(header::USER_AGENT, self.agent.clone()).send().await;
        let mut answer = sent.map_err(|error| failure(request, &error, false))?;
        match answer.status() {
            StatusCode::OK => {}
            status if status.is_redirection() => return Err(broken("it is sent on a second time")),
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                return Err(Error::NotFound { route: request.route, by: self.credentials.speaker(), write: false });
            }
            status if status.is_server_error() => {
                return Err(Error::Server { route: request.route, status: status.as_u16(), unclear: false });
            }
            status => return Err(broken(&format!("where it is kept, status {} is answered", status.as_u16()))),
        }
        let too_large = || Error::TooLarge { route: request.route, most };
        if answer.content_length().is_some_and(|told| told > most as u64) {
            return Err(too_large());
        }
        let mut body = BytesMut::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| failure(request, &error, true))? {
            if body.len() + chunk.len() > most {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(of(request, body.freeze()))
    }
}

/// Where something may be fetched from: by TLS, unless the API itself is a stand-in that has none.
fn address(location: &str, api: &str) -> Option<Url> {
    let address = Url::parse(location).ok()?;
    let plain = address.scheme() == "http" && api.starts_with("http://");
    let bare = address.username().is_empty() && address.password().is_none();
    Some(address).filter(|address| bare && (address.scheme() == "https" || plain))
}

fn of(request: &Request, body: Bytes) -> Answer {
    Answer { route: request.route, headers: HeaderMap::new(), body, next: None }
}

/// An answer that came at once, within the limit of what it was asked for.
pub(super) fn bounded(request: &Request, answer: Answer) -> Result<Answer> {
    match request.elsewhere {
        Some(most) if answer.body.len() > most => Err(Error::TooLarge { route: request.route, most }),
        _ => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wiremock::matchers::{method, path};
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::super::client_tests::{Stage, ok, stage, status};
    use super::*;

    const ZIP: &str = "/repos/o/r/actions/artifacts/7/zip";

    fn sent_to(address: &str) -> ResponseTemplate {
        ResponseTemplate::new(302).insert_header("location", address)
    }

    /// A host that keeps something, and is not GitHub's.
    async fn keeps(answer: ResponseTemplate) -> MockServer {
        let host = MockServer::start().await;
        Mock::given(method("GET")).and(path("/kept")).respond_with(answer).mount(&host).await;
        host
    }

    async fn fetched(stage: &Stage) -> Result<Bytes> {
        stage.repo.artifact_zip(7, 100).await
    }

    #[tokio::test]
    async fn it_is_fetched_from_where_it_lies_and_the_token_stays_at_home() {
        let stage = stage().await;
        let host = keeps(ResponseTemplate::new(200).set_body_bytes("the archive")).await;
        stage.answers("GET", ZIP, sent_to(&format!("{}/kept?sig=a", host.uri()))).await;
        assert_eq!(fetched(&stage).await.unwrap(), "the archive");
        let asked = host.received_requests().await.unwrap();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].url.query(), Some("sig=a"));
        assert!(!asked[0].headers.contains_key("authorization"), "{:?}", asked[0].headers);
        assert!(!asked[0].headers.values().any(|value| value.to_str().unwrap().contains("secret-token")));
    }

    #[tokio::test]
    async fn a_second_step_is_not_made() {
        let stage = stage().await;
        let last = keeps(ResponseTemplate::new(200).set_body_bytes("never")).await;
        let host = keeps(sent_to(&format!("{}/kept", last.uri()))).await;
        stage.answers("GET", ZIP, sent_to(&format!("{}/kept", host.uri()))).await;
        let says = fetched(&stage).await.unwrap_err().to_string();
        assert!(says.contains("sent on a second time"), "{says}");
        assert!(last.received_requests().await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn no_more_is_read_than_is_taken() {
        let stage = stage().await;
        let host = keeps(ResponseTemplate::new(200).set_body_bytes(vec![b'a'; 101])).await;
        stage.answers("GET", ZIP, sent_to(&format!("{}/kept", host.uri()))).await;
        assert!(matches!(fetched(&stage).await, Err(Error::TooLarge { most: 100, .. })));
        // Nor where GitHub gives it itself.
        let here = super::super::client_tests::stage().await;
        here.answers("GET", ZIP, ResponseTemplate::new(200).set_body_bytes(vec![b'a'; 101])).await;
        assert!(matches!(fetched(&here).await, Err(Error::TooLarge { .. })));
    }

    /// A host that never says how long it is, and never ends.
    #[tokio::test]
    async fn a_file_without_an_end_is_left_alone() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/kept", listener.local_addr().unwrap());
        let endless = tokio::spawn(async move {
            let (mut to, _) = listener.accept().await.unwrap();
            let mut asked = [0; 1024];
            let _ = to.read(&mut asked).await;
            let _ = to.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
            let mut written = 0_u64;
            while to.write_all(b"8\r\naaaaaaaa\r\n").await.is_ok() {
                written += 8;
            }
            written
        });
        let stage = stage().await;
        stage.answers("GET", ZIP, sent_to(&address)).await;
        assert!(matches!(fetched(&stage).await, Err(Error::TooLarge { .. })));
        drop(stage);
        assert!(endless.await.unwrap() > 0, "the connection is closed");
    }

    #[tokio::test]
    async fn addresses_that_nothing_is_fetched_from_are_refused_and_not_told() {
        for bad in ["ftp://a.example/secret", "file:///etc/secret", "https://a:secret@b.example/", "/secret", ""] {
            assert_eq!(address(bad, "http://127.0.0.1/api/v3"), None, "{bad}");
        }
        let (open, closed) = ("http://a.example/b?c=d", "https://a.example/b?c=d");
        assert!(
            address(open, "https://api.github.com").is_none() && address(closed, "https://api.github.com").is_some()
        );
        assert!(address(open, "http://127.0.0.1:1").is_some() && address(closed, "http://127.0.0.1:1").is_some());
        let stage = stage().await;
        stage.answers("GET", ZIP, sent_to("ftp://a.example/secret")).await;
        let says = fetched(&stage).await.unwrap_err().to_string();
        assert!(says.contains("nothing is fetched from") && !says.contains("secret"), "{says}");
        // Nor is it told where nobody answers.
        let stage = super::super::client_tests::stage().await;
        stage.answers("GET", ZIP, sent_to("http://127.0.0.1:9/kept?sig=secret")).await;
        let says = fetched(&stage).await.unwrap_err().to_string();
        assert!(!says.contains("secret"), "{says}");
    }

    #[tokio::test]
    async fn what_is_gone_is_not_found_and_what_fails_is_tried_again() {
        for gone in [404, 410] {
            let stage = stage().await;
            let host = keeps(status(gone)).await;
            stage.answers("GET", ZIP, sent_to(&format!("{}/kept", host.uri()))).await;
            assert!(fetched(&stage).await.unwrap_err().is_not_found());
        }
        let stage = stage().await;
        let failing = keeps(status(503)).await;
        stage.answers("GET", ZIP, sent_to(&format!("{}/kept", failing.uri()))).await;
        assert!(fetched(&stage).await.unwrap_err().is_transient());
        assert_eq!(failing.received_requests().await.unwrap().len(), 4);
        let stage = super::super::client_tests::stage().await;
        let closed = keeps(status(403)).await;
        stage.answers("GET", ZIP, sent_to(&format!("{}/kept", closed.uri()))).await;
        assert!(fetched(&stage).await.unwrap_err().to_string().contains("status 403"));
    }

    #[tokio::test]
    async fn what_a_run_left_under_a_name_is_listed() {
        let stage = stage().await;
        let one = |id: u64, name: &str| {
            json!({
                "id": id, "name": name, "size_in_bytes": 5, "expired": false, "created_at": "2026-01-02T03:04:05Z",
                "workflow_run": { "id": 5, "repository_id": 1, "head_repository_id": 1, "head_branch": "main",
                    "head_sha": "a".repeat(40) },
            })
        };
        let body = json!({ "total_count": 2, "artifacts": [one(1, "results"), one(2, "other")] });
        stage.answers("GET", "/repos/o/r/actions/runs/5/artifacts", ok(body)).await;
        let found = stage.repo.artifacts(5, "results").await.unwrap();
        assert_eq!(found.iter().map(|one| one.id).collect::<Vec<_>>(), [1]);
    }
}
