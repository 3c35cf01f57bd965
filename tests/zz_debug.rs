use phasegate::rehearsal::{Rehearsal, Setup, REPO};
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dbg() {
    let r = Rehearsal::start(Setup::default()).await.unwrap();
    r.pushes("rover", "b", "an idea", &[("docs/input/idea.md", "A.\n")]).await.unwrap();
    r.opens("rover", "Add a dimmer", "b").await.unwrap();
    println!("{:?}", r.admin().branch(REPO, "phasegate/ledger"));
    println!("{:?}", r.admin().file(REPO, "phasegate/ledger", "changes/0/1/0001.json"));
    let q = "query($owner: String!, $name: String!, $ref: String!, $at: String!) { repository(owner: $owner, name: $name) { ref(qualifiedName: $ref) { target { oid } } object(expression: $at) { ... on Tree { entries { name object { ... on Blob { text } } } } } } }";
    let c = reqwest::Client::new();
    let u = r.admin().installation_token(r.admin().install(r.app().id, REPO).unwrap()).unwrap();
    let v = c.post(format!("{}/api/graphql", r.url())).bearer_auth(u).json(&serde_json::json!({"query": q, "variables": {"owner":"octo-org","name":"lantern","ref":"refs/heads/phasegate/ledger","at":"phasegate/ledger:changes/0/1"}})).send().await.unwrap().text().await.unwrap();
    println!("{}", &v[..v.len().min(600)]);
    for l in r.admin().request_log() { println!("{} {} {} {}", l.actor, l.method, l.path, l.status); }
}
