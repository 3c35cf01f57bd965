//! What an agent has to read from us for a whole change, counted in tokens by a tokenizer that others wrote.
//!
//! The texts are those of stories that are played. `benches/tokens.sh` runs this and puts what is counted on the page, beside a peer; here it
//! is held under a ceiling, and the page against it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::node;
use super::told::{
    self, ANSWERS, COMMENT, EXPLAIN, FOLDER, INSTRUCTIONS, NEXT, PASSES, PROMPTS, ROLES, SKILL, TOOLS, Told,
};

/// The most that an agent may have to read for the demo's story in the pipeline, from `/expand` to the merge and DEPLOY; measured: 14,164.
const MOST_FOR_A_CHANGE: usize = 15_500;
/// The same for one that has neither the program nor its tools, and reads the bot's comment in their place; measured: 20,658.
const MOST_BY_THE_COMMENT: usize = 24_500;
/// And for a task from its intake to its end by `task loop`; measured: 10,922.
const MOST_FOR_A_TASK: usize = 13_000;

/// How far the page may be from what is counted now, in per cent: digests differ each time.
const MOST_OFF: u64 = 5;

/// The texts of one kind.
struct Counted {
    what: &'static str,
    texts: usize,
    tokens: usize,
}

fn counted(all: &[Told]) -> Vec<Counted> {
    let texts: Vec<&str> = all.iter().map(|one| one.text.as_str()).collect();
    let numbers = node("tokens.cjs", "PHASEGATE_TOKENIZER", &json!(texts).to_string());
    let numbers: Vec<usize> = serde_json::from_str(&numbers).unwrap();
    assert_eq!(numbers.len(), all.len());
    let mut sums: Vec<Counted> = Vec::new();
    for (one, tokens) in all.iter().zip(numbers) {
        assert!(tokens > 0, "{} has nothing to read", one.what);
        match sums.iter_mut().find(|sum| sum.what == one.what) {
            Some(sum) => (sum.texts, sum.tokens) = (sum.texts + 1, sum.tokens + tokens),
            None => sums.push(Counted { what: one.what, texts: 1, tokens }),
        }
    }
    sums
}

fn told_as(sums: &[Counted], kinds: &[&str]) -> (Vec<Value>, usize) {
    let rows =
        kinds.iter().map(|kind| sums.iter().find(|sum| sum.what == *kind).unwrap_or_else(|| panic!("no {kind}")));
    let rows: Vec<&Counted> = rows.collect();
    let all = rows.iter().map(|row| row.tokens).sum();
    (rows.iter().map(|row| json!({ "what": row.what, "texts": row.texts, "tokens": row.tokens })).collect(), all)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_has_to_read_from_us_stays_under_its_ceiling() {
    let (change, task) = (counted(&told::pipeline().await), counted(&told::task()));
    let files = [INSTRUCTIONS, SKILL, ROLES, PROMPTS];
    let stories = [
        ("a change", &change, &[&files[..], &[TOOLS, NEXT, EXPLAIN, ANSWERS]].concat(), MOST_FOR_A_CHANGE),
        ("a change, by the comment", &change, &[&files[..], &[COMMENT, ANSWERS]].concat(), MOST_BY_THE_COMMENT),
        ("a task", &task, &[&files[..], &[FOLDER, PASSES]].concat(), MOST_FOR_A_TASK),
    ];
    let mut measured = Vec::new();
    for (story, sums, kinds, most) in stories {
        let (rows, all) = told_as(sums, kinds);
        eprintln!("{story}: {all} tokens, {most} at most");
        for row in &rows {
            eprintln!("  {:>6}  {} × {}", row["tokens"], row["texts"], row["what"]);
        }
        measured.push(json!({ "story": story, "rows": rows, "all": all, "most": most }));
    }
    // Whoever counts anew for the page gets what is so, whatever is held below.
    let anew = std::env::var_os("PHASEGATE_TOKENS");
    if let Some(file) = &anew {
        std::fs::write(file, serde_json::to_vec(&measured).unwrap()).unwrap();
    }
    for one in &measured {
        let (story, all, most) =
            (one["story"].as_str().unwrap(), one["all"].as_u64().unwrap(), one["most"].as_u64().unwrap());
        assert!(all <= most, "{story}: an agent has to read {all} tokens, and {most} are the most");
        if anew.is_none() {
            let page = on_the_page(story);
            let off = all.abs_diff(page) * 100 / all;
            assert!(off <= MOST_OFF, "{story}: the page says {page}, and it is {all}: run benches/tokens.sh --page");
        }
    }
}

/// What `docs/benchmarks.md` says of a story, all of it together.
fn on_the_page(story: &str) -> u64 {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/benchmarks.md");
    let page = std::fs::read_to_string(page).unwrap();
    let row = page
        .lines()
        .find_map(|line| line.strip_prefix(&format!("| **{story}** | ")))
        .unwrap_or_else(|| panic!("{story}"));
    row.split(" | ").nth(1).unwrap().replace(['*', ','], "").parse().unwrap()
}
