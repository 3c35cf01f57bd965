//! What the pages show.

use super::*;

fn actions() -> u64 {
    super::super::super::model::ACTIONS_APP
}

#[tokio::test]
async fn a_diff_shows_lines_and_says_what_it_does_not_show() {
    let house = house().await;
    let admin = &house.admin;
    let long: String = (0..2_000).map(|n| format!("{n}\n")).collect();
    let old = [("kept.md", Some("one\ntwo\nthree\n")), ("old-name.md", Some("the same\nfor the\nmost part\n"))];
    admin.commit("ada/site", "ada", "main", "before", &old).unwrap();
    let files = [
        ("kept.md", Some("one\n2 <b>&\nthree\n")),
        ("old-name.md", None),
        ("new-name.md", Some("the same\nfor the\nmost part\n")),
        ("long.txt", Some(long.as_str())),
        ("data.bin", Some("a\0b")),
        ("empty", Some("")),
    ];
    admin.commit("ada/site", "ada", "idea", "after", &files).unwrap();
    let number = admin.open_pull("ada/site", "ada", "An idea", "idea", "main").unwrap();
    let html = house.page(&format!("/ada/site/pull/{number}"));
    let changed = "<tr class=\"del\"><td>2</td><td></td><td><span>-</span>two</td></tr>\
                   <tr class=\"add\"><td></td><td>2</td><td><span>+</span>2 &lt;b&gt;&amp;</td></tr>";
    assert!(html.contains(changed), "{html}");
    assert!(html.contains("<code>old-name.md</code> → <code>new-name.md</code> <span class=\"sub\">renamed</span>"));
    assert!(html.contains("No line of it differs.") && html.contains("A binary file: not shown."), "{html}");
    assert!(html.contains("No lines: it is empty, or only its mode differs."), "{html}");
    assert!(html.contains("1401 more lines are not shown."), "{html}");
    let file = |name: &str| html.split("<details class=\"box file\"").find(|part| part.contains(name)).unwrap();
    assert!(file("long.txt").starts_with('>') && file("kept.md").starts_with(" open>"), "a large one is folded");
    assert!(html.contains(">5 files changed</a>"), "{html}");
}

#[tokio::test]
async fn what_a_check_says_of_a_line_stands_under_it() {
    let house = house().await;
    let admin = &house.admin;
    let head = admin.commit("ada/site", "ada", "idea", "an idea", &[("a.md", Some("one\ntwo\n"))]).unwrap();
    let number = admin.open_pull("ada/site", "ada", "An idea", "idea", "main").unwrap();
    let note = |line: u64, message: &str| {
        json!({"path": "a.md", "start_line": line, "end_line": line,
        "annotation_level": "failure", "title": "R-1", "message": message})
    };
    let notes = [note(2, "Mend <two>."), note(9, "Mend nine.")];
    let output = json!({"title": "Red", "summary": "s", "annotations": notes});
    let run = json!({"name": "gate", "head_sha": head, "conclusion": "failure", "output": output});
    admin.check_run_as(actions(), "ada/site", run).unwrap();
    let html = house.page(&format!("/ada/site/pull/{number}"));
    let (before, diff) = html.split_once("<section id=\"files\">").unwrap();
    let second = diff.split_once("<span>+</span>two</td></tr>").unwrap().1;
    assert!(second.starts_with("<tr class=\"note-row\">"), "{diff}");
    assert!(second.contains("gate · failure</span><b>R-1</b><span>Mend &lt;two&gt;.</span>"), "{diff}");
    assert!(!before.contains("Mend &lt;two&gt;") && before.contains(">1 finding in the diff below</a>"), "{before}");
    assert!(before.contains("<code>a.md:9</code> failure Mend nine.") && !diff.contains("Mend nine."), "{html}");
}

#[tokio::test]
async fn issues_have_their_own_list_and_lead_to_what_they_speak_of() {
    let house = house().await;
    let admin = &house.admin;
    admin.commit("ada/site", "ada", "idea", "an idea", &[("a.md", Some("a"))]).unwrap();
    admin.open_pull("ada/site", "ada", "The change", "idea", "main").unwrap();
    let body = json!({"title": "The question", "body": "About #1, @mia.\n\n- [x] asked", "labels": ["urgent"]});
    admin.call_as("eve", "POST", "/repos/ada/site/issues", body).unwrap();
    let (pulls, issues) = (house.page("/ada/site/pulls"), house.page("/ada/site/issues"));
    assert!(pulls.contains("The change") && !pulls.contains("The question"), "{pulls}");
    assert!(issues.contains("The question") && !issues.contains("The change"), "{issues}");
    assert!(issues.contains("Pull requests 1</a>") && issues.contains("Issues 1</a>"), "{issues}");
    let all = house.page("/ada/site");
    assert!(all.find("The change").unwrap() < all.find("The question").unwrap(), "two lists: {all}");
    let html = house.page("/ada/site/issues/2");
    assert!(html.contains("<p>About <a href=\"/ada/site/pull/1\">#1</a>, @mia.</p>"), "{html}");
    assert!(html.contains("type=\"checkbox\"") && html.contains(">urgent</span>"), "{html}");
    assert!(!html.contains("Checks on the head") && !html.contains("Files changed"), "{html}");
}

/// Everybody finds their way: each field has a name, and headings come in order.
#[tokio::test]
async fn pages_can_be_read_aloud() {
    let house = house().await;
    let admin = &house.admin;
    let head = admin.commit("ada/site", "ada", "idea", "an idea", &[("a.md", Some("a"))]).unwrap();
    admin.open_pull("ada/site", "ada", "An idea", "idea", "main").unwrap();
    admin.comment("ada/site", "mia", 1, "# Loud\n\n##### Quiet").unwrap();
    let action = json!({"label": "Explain", "description": "What is missing", "identifier": "explain"});
    let run = json!({"name": "gate", "head_sha": head, "conclusion": "failure", "actions": [action]});
    admin.check_run_as(actions(), "ada/site", run).unwrap();
    admin.commit("ada/site", "ada", "free", "m", &[("b.md", Some("b"))]).unwrap();
    house.open_stage();
    for path in ["/", "/ada/site", "/ada/site/issues", "/ada/site/pull/1"] {
        let html = house.page(path);
        assert!(html.contains("<html lang=\"en\">") && html.matches("<h1>").count() == 1, "{path}");
        for field in ["<select", "<input", "<textarea"] {
            for (at, _) in html.match_indices(field) {
                let before = &html[..at];
                let (open, closed) = (before.rfind("<label"), before.rfind("</label>"));
                assert!(open > closed, "{path}: no label for {}", &html[at..at + 60]);
            }
        }
        let levels: Vec<u32> = html
            .split("<h")
            .skip(1)
            .filter(|rest| rest[1..].starts_with(['>', ' ']))
            .filter_map(|rest| rest.chars().next()?.to_digit(10))
            .collect();
        let jumps = levels.windows(2).find(|pair| pair[1] > pair[0] + 1);
        // What people write may begin as deep as they like; it stays below the page's own headings.
        assert!(levels.first() == Some(&1) && (jumps.is_none() || path.contains("/pull/")), "{path}: {levels:?}");
        assert!(levels[1..].iter().all(|level| *level > 1), "{path}: {levels:?}");
    }
}

#[tokio::test]
async fn what_is_worth_trying_is_said_only_on_an_open_stage() {
    let house = house().await;
    house.admin.commit("ada/site", "ada", "idea", "an idea", &[("a.md", Some("a"))]).unwrap();
    house.admin.open_pull("ada/site", "ada", "An idea", "idea", "main").unwrap();
    assert!(!house.page("/ada/site").contains("to try"));
    house.open_stage();
    let html = house.page("/ada/site");
    assert!(html.contains("<h2>1 thing to try</h2>"), "{html}");
    assert!(html.contains("<p>Say <code>hello</code> on <a href=\"/ada/site/pull/1\">#1</a>.</p>"), "{html}");
    assert!(html.contains("<option value=\"fresh\">what fresh is for</option>"), "{html}");
    let html = house.page("/ada/site/pull/1");
    assert!(html.contains("<details class=\"box tries\"><summary>1 thing to try</summary>"), "folded: {html}");
    house.admin.call_as("ada", "PUT", "/repos/ada/site/pulls/1/merge", json!({})).unwrap();
    assert!(house.page("/ada/site/pull/1").contains("<h2>1 thing to try</h2>"));
}

#[tokio::test]
async fn addresses_with_odd_letters_lead_where_they_should() {
    let house = house().await;
    house.admin.commit("ada/site", "ada", "main", "m", &[("a b/c#d.md", Some("found it"))]).unwrap();
    let html = house.page("/ada/site");
    let to =
        html.split("href=\"").find_map(|rest| rest.split('"').next().filter(|to| to.contains("/blob/main/a"))).unwrap();
    assert_eq!(to, "/ada/site/blob/main/a%20b/c%23d.md");
    assert!(house.page(to).contains("found it"));
}

/// Pages ask nobody who they are.
#[tokio::test]
async fn a_private_repository_has_no_pages() {
    let house = house().await;
    let admin = &house.admin;
    admin.create_repo("ada/secret", NewRepo { private: true, ..NewRepo::default() }).unwrap();
    admin.commit("ada/secret", "ada", "idea", "an idea", &[("a.md", Some("a"))]).unwrap();
    admin.open_pull("ada/secret", "ada", "An idea", "idea", "main").unwrap();
    for below in ["", "/pulls", "/issues", "/pull/1", "/blob/main/README.md"] {
        let path = format!("/ada/secret{below}");
        assert!(page(&lock(&house.twin.shared), &path, false).is_none(), "{path}");
    }
    assert!(!house.page("/").contains("secret") && !house.page("/ada").contains("secret"));
}
