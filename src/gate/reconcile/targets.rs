//! What a change is deployed to: the files that only one target reads, and the words by which people name it.

use crate::finding::quoted;
use crate::gate::build::covered::is_of_tests;
use crate::gate::build::{Bench, is_vendored};
use crate::gate::expand;
use crate::gate::paper::Paper;
use crate::gate::papers::{DESIGN, Found, SCOPE};

pub struct Target {
    pub files: &'static [&'static str],
    pub called: &'static str,
    words: &'static [&'static str],
    /// Nothing is deployed there without one of the files.
    needed: bool,
}

const fn target(
    files: &'static [&'static str],
    called: &'static str,
    words: &'static [&'static str],
    needed: bool,
) -> Target {
    Target { files, called, words, needed }
}

#[rustfmt::skip]
const TARGETS: &[Target] = &[
    target(&["Dockerfile", "Containerfile", "docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml"], "a container",
        &["docker", "container", "image", "compose", "podman", "oci", "kubernetes", "k8s"], false),
    target(&["fly.toml"], "Fly", &["fly"], true),
    target(&["vercel.json"], "Vercel", &["vercel"], false),
    target(&["netlify.toml"], "Netlify", &["netlify"], false),
    target(&["render.yaml"], "Render", &["render"], false),
    target(&["Procfile"], "Heroku", &["heroku", "procfile", "dokku"], false),
    target(&["serverless.yml", "serverless.yaml"], "Serverless", &["serverless", "lambda"], false),
    target(&["wrangler.toml", "wrangler.jsonc", "wrangler.json"], "Cloudflare Workers", &["cloudflare", "wrangler", "worker"], false),
    target(&["Chart.yaml"], "Kubernetes", &["helm", "kubernetes", "k8s", "chart"], false),
    target(&["firebase.json"], "Firebase", &["firebase"], true),
    target(&["railway.json", "railway.toml"], "Railway", &["railway"], false),
];

/// Targets that scope deploys to, and that need a file.
pub fn named(scope: &Paper) -> Vec<&'static Target> {
    let text = expand::said(scope, "Deployment Target").map(|part| part.text().to_lowercase()).unwrap_or_default();
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let docker = |target: &Target| {
        target.called == "a container" && words.iter().any(|word| matches!(*word, "docker" | "dockerfile"))
    };
    let wanted =
        |target: &&Target| target.needed && target.words.iter().any(|word| words.contains(word)) || docker(target);
    TARGETS.iter().filter(wanted).collect()
}

/// Each file that was added for a target which neither scope nor design names.
pub fn undesigned(bench: &Bench<'_>) -> Vec<Found> {
    let both = [&bench.scope, &bench.design];
    let told: Vec<String> = both.into_iter().flatten().map(Paper::everything).collect();
    let told = told.join("\n").to_lowercase();
    let mut all = Vec::new();
    for path in bench.site.added.iter().filter(|path| !is_of_tests(path) && !is_vendored(path)) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some(target) = TARGETS.iter().find(|target| target.files.contains(&name)) else { continue };
        if !target.words.iter().any(|word| told.contains(word)) {
            let called = target.called;
            let says = format!("this is for {called}, which neither scope nor design names.");
            let next = format!(
                "Add the line `- {called} ({})` to the Deployment Target in `{SCOPE}`, or say in `{DESIGN}` what it is for; or take it out.",
                quoted(name).trim_matches('`')
            );
            all.push(Found::in_file(path, says).next(next));
        }
    }
    all
}
