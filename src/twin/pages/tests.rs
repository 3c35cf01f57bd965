use serde_json::json;

mod acts;
mod shown;

use super::super::{Admin, NewRepo, Options, Prepared, Role, Stage, Twin, lock};
use super::*;

#[test]
fn what_people_write_can_not_leave_its_place() {
    assert_eq!(safe("<script>\"'&"), "&lt;script&gt;&quot;&#39;&amp;");
}

struct House {
    twin: Twin,
    admin: Admin,
    _dir: tempfile::TempDir,
}

async fn house() -> House {
    let dir = tempfile::tempdir().unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let twin = Twin::start(Options { listen, data: dir.path().join("git") }).await.unwrap();
    let admin = twin.admin();
    for login in ["ada", "mia", "eve"] {
        admin.create_user(login).unwrap();
    }
    admin.create_repo("ada/site", NewRepo::default()).unwrap();
    admin.set_role("ada/site", "mia", Role::Maintain).unwrap();
    House { twin, admin, _dir: dir }
}

impl House {
    fn page(&self, path: &str) -> String {
        page(&lock(&self.twin.shared), path, false).unwrap_or_else(|| panic!("no page at {path}"))
    }

    async fn posts(&self, path: &str, origin: Option<&str>, form: &str) -> (u16, String) {
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let mut request = client.post(format!("{}{path}", self.twin.url())).body(form.to_owned());
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    fn open_stage(&self) {
        let ready = |name: &str, path: &str, text: Option<&str>| Prepared {
            name: name.into(),
            about: format!("what {name} is for"),
            message: format!("the {name} commit"),
            files: vec![(path.into(), text.map(str::to_owned))],
        };
        let stage = Stage {
            cast: vec!["ada".into(), "mia".into(), "eve".into()],
            workflow: ".github/workflows/ci.yml".into(),
            job: "test".into(),
            commits: vec![ready("more", "more.md", Some("more\n")), ready("less", "a.md", None)],
            changes: vec![ready("fresh", "fresh.md", Some("fresh\n"))],
            tries: vec!["Say `hello` on #1.".into()],
        };
        self.admin.open_stage("ada/site", stage).unwrap();
    }
}

const HOSTILE: &str = "<script>document.title='owned'</script>\"'><img src=x onerror=alert(1)>";

/// Everything that a stranger can name or write, on every page that shows it.
#[tokio::test]
async fn hostile_words_are_shown_and_do_nothing() {
    let house = house().await;
    let admin = &house.admin;
    let branch = "x\"><script>alert(1)</script>";
    admin.commit("ada/site", "ada", branch, HOSTILE, &[("a<script>.md", Some(HOSTILE))]).unwrap();
    let number = admin.open_pull("ada/site", "ada", HOSTILE, branch, "main").unwrap();
    let head = admin.branch("ada/site", branch).unwrap().unwrap();
    admin.comment("ada/site", "eve", number, HOSTILE).unwrap();
    let text = format!("```\n</code></pre>{HOSTILE}\n```\n\n<details ontoggle=alert(1) open>x");
    admin.comment("ada/site", "eve", number, &text).unwrap();
    let labels = json!({"name": "<script>alert(1)</script>", "color": "ff0000", "description": HOSTILE});
    admin.call_as("ada", "POST", "/repos/ada/site/labels", labels).unwrap();
    let put = json!({"labels": ["<script>alert(1)</script>"]});
    admin.call_as("ada", "POST", &format!("/repos/ada/site/issues/{number}/labels"), put).unwrap();
    let review = json!({"event": "REQUEST_CHANGES", "body": HOSTILE});
    admin.call_as("mia", "POST", &format!("/repos/ada/site/pulls/{number}/reviews"), review).unwrap();
    let output = json!({"title": HOSTILE, "summary": HOSTILE, "text": HOSTILE, "annotations": [
        {"path": HOSTILE, "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": HOSTILE}]});
    let run = json!({"name": HOSTILE, "head_sha": head, "conclusion": "failure", "output": output});
    let run = admin.check_run_as(super::super::model::ACTIONS_APP, "ada/site", run).unwrap();
    house.open_stage();
    admin.commit("ada/site", "ada", "y\"><script>z", "m", &[("b.md", Some("b"))]).unwrap();

    let pull = format!("/ada/site/pull/{number}");
    let (run, commit) = (format!("/ada/site/runs/{run}"), format!("/ada/site/commit/{head}"));
    for path in ["/", "/ada", "/ada/site", "/ada/site/pulls", "/ada/site/issues", &pull, &run, &commit] {
        let html = house.page(path);
        let lower = html.to_ascii_lowercase();
        for bad in ["<script", "<img", " onerror=alert(1)>\"", "<details ontoggle"] {
            assert!(!lower.contains(bad), "{path} has {bad}:\n{html}");
        }
        // Each tag of the page is one that the pages themselves write.
        for tag in lower.split('<').skip(1).filter_map(|rest| rest.split(['>', ' ', '/']).find(|name| !name.is_empty()))
        {
            let ours = "!doctype html head meta title style body nav main aside h1 h2 h3 p a b span section header footer \
                        div time ul ol li code pre br details summary form label select option textarea button input \
                        strong em table tbody tr td";
            assert!(ours.split(' ').any(|name| name == tag.trim_end_matches('\n')), "{path} has <{tag}");
        }
    }
    assert!(house.page(&pull).contains("&lt;script&gt;document.title"));
}

#[tokio::test]
async fn a_pull_request_shows_its_label_its_checks_and_why_it_may_not_merge() {
    let house = house().await;
    let admin = &house.admin;
    admin.require_checks("ada/site", &[("gate", None)]).unwrap();
    let head = admin.commit("ada/site", "ada", "idea", "an idea", &[("a.md", Some("a"))]).unwrap();
    let number = admin.open_pull("ada/site", "ada", "An idea", "idea", "main").unwrap();
    let label = json!({"name": "phase:build", "color": "fef2c0"});
    admin.call_as("ada", "POST", "/repos/ada/site/labels", label).unwrap();
    let put = json!({"labels": ["phase:build"]});
    admin.call_as("ada", "POST", &format!("/repos/ada/site/issues/{number}/labels"), put).unwrap();
    admin.comment("ada/site", "mia", number, "<!-- unseen -->\n**bold** words").unwrap();
    let path = format!("/ada/site/pull/{number}");
    let html = house.page(&path);
    assert!(html.contains("background:#fef2c0;color:#1f2328"), "{html}");
    assert!(html.contains("<strong>bold</strong> words") && !html.contains("unseen"), "{html}");
    assert!(html.contains("committed") && html.contains("an idea"), "{html}");
    assert!(
        html.contains("Merging is refused</b><ul><li>Required status check &quot;gate&quot; is expected."),
        "{html}"
    );
    assert!(!html.contains("<form"), "nobody was let on the stage");

    let output = json!({"title": "All fine", "summary": "- **one** thing"});
    let run = json!({"name": "gate", "head_sha": head, "conclusion": "success", "output": output});
    admin.check_run_as(super::super::model::ACTIONS_APP, "ada/site", run).unwrap();
    let html = house.page(&path);
    assert!(html.contains("It may be merged") && html.contains("<li><strong>one</strong> thing</li>"), "{html}");
    admin.call_as("ada", "PUT", &format!("/repos/ada/site/pulls/{number}/merge"), json!({})).unwrap();
    let html = house.page(&path);
    assert!(html.contains("merged this as") && html.contains("<b>Merged</b>"), "{html}");
}

#[tokio::test]
async fn visitors_act_as_the_cast_with_their_rights_and_only_where_the_stage_is_open() {
    let house = house().await;
    let admin = &house.admin;
    admin.require_checks("ada/site", &[("test", None)]).unwrap();
    admin.commit("ada/site", "ada", "idea", "an idea", &[("a.md", Some("a"))]).unwrap();
    assert_eq!(house.posts("/ada/site/act", None, "do=open&as=ada&branch=idea&title=Mine").await.0, 404, "closed");
    house.open_stage();
    admin.commit("ada/site", "ada", "kept", "for an App", &[("k.md", Some("k"))]).unwrap();
    admin.reserve_branch("ada/site", "kept", 7).unwrap();
    let html = house.page("/ada/site");
    assert!(html.contains("<option>idea</option>") && !html.contains("<option>kept</option>"), "{html}");
    assert_eq!(house.posts("/ada/site/act", None, "do=open&as=ada&branch=idea&title=Mine").await.0, 303);
    assert!(!house.page("/ada/site").contains("<option>idea</option>"), "it has its pull request");
    let act = "/ada/site/pull/1/act";

    let other = Some("http://evil.example");
    assert_eq!(house.posts(act, other, "do=comment&as=ada&body=hi").await.0, 403);
    assert_eq!(house.posts(act, Some("null"), "do=comment&as=ada&body=hi").await.0, 403);
    assert_eq!(house.posts(act, None, "do=comment&as=github-actions%5Bbot%5D&body=hi").await.0, 404, "not of the cast");
    assert!(admin.comments("ada/site", 1).unwrap().is_empty());
    let own = house.twin.url();
    assert_eq!(house.posts(act, Some(&own), "do=comment&as=eve&body=two+words%21").await.0, 303);
    let local = own.replace("127.0.0.1", "localhost");
    assert_eq!(house.posts(act, Some(&local), "do=approve&as=mia&body=").await.0, 303);
    assert_eq!(admin.comments("ada/site", 1).unwrap()[0].body, "two words!");

    let (status, told) = house.posts(act, Some(&own), "do=approve&as=ada&body=").await;
    assert_eq!(status, 422, "one's own");
    assert_eq!(told, "refused: Unprocessable Entity\nCan not approve your own pull request\n");
    assert_eq!(house.posts(act, Some(&own), "do=ci-red").await.0, 303);
    let (status, told) = house.posts(act, Some(&own), "do=merge&as=ada").await;
    assert_eq!(status, 405);
    assert!(told.starts_with("refused: ") && told.contains("Required status check \"test\" is failing."), "{told}");
    assert!(!told.contains('<'), "whoever has no browser reads text: {told}");
    let browser = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = browser.post(format!("{own}{act}")).header("accept", "text/html,*/*").body("do=merge&as=ada");
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 405);
    let told = answer.text().await.unwrap();
    assert!(told.contains("That was refused") && told.contains("check &quot;test&quot; is failing."), "{told}");
    assert_eq!(house.posts(act, Some(&own), "do=ci-green").await.0, 303);
    assert!(matches!(house.posts(act, Some(&own), "do=merge&as=eve").await.0, 403 | 404), "a reader can't");
    assert_eq!(house.posts(act, Some(&own), "do=merge&as=mia").await.0, 303);
    assert!(admin.issue("ada/site", 1).unwrap().pull.unwrap().merged_at.is_some());
}

/// All of it within a second or two, so that clocks tell nothing.
#[tokio::test]
async fn a_page_tells_things_in_the_order_they_happened() {
    let house = house().await;
    let admin = &house.admin;
    admin.commit("ada/site", "ada", "idea", "the-first-push", &[("a.md", Some("a"))]).unwrap();
    let number = admin.open_pull("ada/site", "ada", "An idea", "idea", "main").unwrap();
    admin.comment("ada/site", "ada", number, "the-first-word").unwrap();
    let review = json!({"event": "APPROVE", "body": "the-first-review"});
    admin.call_as("mia", "POST", &format!("/repos/ada/site/pulls/{number}/reviews"), review).unwrap();
    admin.commit("ada/site", "ada", "idea", "the-second-push", &[("b.md", Some("b"))]).unwrap();
    admin.comment("ada/site", "mia", number, "the-second-word").unwrap();
    admin.call_as("ada", "PUT", &format!("/repos/ada/site/pulls/{number}/merge"), json!({})).unwrap();
    admin.comment("ada/site", "mia", number, "the-last-word").unwrap();
    let html = house.page(&format!("/ada/site/pull/{number}"));
    let order = ["the-first-push", "the-first-word", "the-first-review", "the-second-push", "the-second-word"];
    let order = order.into_iter().chain(["merged this as", "the-last-word"]);
    let found: Vec<usize> = order.map(|word| html.find(word).unwrap_or_else(|| panic!("no {word}"))).collect();
    assert!(found.is_sorted(), "{found:?}\n{html}");
}

#[tokio::test]
async fn a_check_shows_its_annotations_and_its_buttons_can_be_pressed() {
    let house = house().await;
    let admin = &house.admin;
    let head = admin.commit("ada/site", "ada", "idea", "an idea", &[("a.md", Some("a"))]).unwrap();
    let number = admin.open_pull("ada/site", "ada", "An idea", "idea", "main").unwrap();
    let note =
        json!({"path": "a.md", "start_line": 3, "end_line": 3, "annotation_level": "failure", "message": "Mend it."});
    let output = json!({"title": "Red", "summary": "s", "annotations": [note]});
    let action = json!({"label": "Explain", "description": "What is missing", "identifier": "explain"});
    let run = json!({"name": "gate", "head_sha": head, "conclusion": "failure", "output": output, "actions": [action]});
    let run = admin.check_run_as(super::super::model::ACTIONS_APP, "ada/site", run).unwrap();
    let path = format!("/ada/site/pull/{number}");
    let html = house.page(&path);
    assert!(html.contains("<code>a.md:3</code> failure Mend it."), "{html}");
    assert!(!html.contains("<button"), "nobody was let on the stage");
    house.open_stage();
    let button = "<button name=\"press\" value=\"explain\" title=\"What is missing\">Explain</button>";
    assert!(house.page(&path).contains(button), "{}", house.page(&path));
    let act = format!("/ada/site/runs/{run}/act");
    let (status, told) = house.posts(&act, None, "as=mia&press=explain").await;
    assert_eq!((status, told), (303, format!("done: {path}\n")));
    assert_eq!(house.posts(&act, None, "as=mia&press=other").await.0, 404);
    assert_eq!(house.posts(&act, None, "as=eve&press=explain").await.0, 403, "a reader can't");
}

#[tokio::test]
async fn whoever_acts_is_told_when_what_follows_has_happened() {
    let house = house().await;
    house.admin.commit("ada/site", "ada", "idea", "an idea", &[("a.md", Some("a"))]).unwrap();
    house.open_stage();
    house.admin.settle_after_acts(|admin| {
        Box::pin(async move {
            admin.comment("ada/site", "mia", 1, "seen").unwrap();
            true
        })
    });
    assert_eq!(house.posts("/ada/site/act", None, "do=open&as=ada&branch=idea&title=Mine").await.0, 303);
    assert_eq!(house.admin.comments("ada/site", 1).unwrap()[0].body, "seen");
    assert_eq!(house.posts("/ada/site/act", None, "do=open&as=ada&branch=idea&title=Mine").await.0, 422);
    assert_eq!(house.admin.comments("ada/site", 1).unwrap().len(), 1, "nothing followed from what was refused");
}
