use proptest::prelude::*;

use super::*;

fn slash(line: &str) -> Option<&str> {
    line.strip_prefix('/')
}

/// A piece of what people, phones and attackers put into comments.
fn odd() -> impl Strategy<Value = String> {
    let known = prop::sample::select(COMMANDS).prop_map(|spec| format!("/{}", spec.name));
    let marks = prop::sample::select(vec![
        "\n",
        "\r\n",
        "\n\n",
        "\t",
        " ",
        "\u{a0}",
        "\u{200b}",
        "\u{feff}",
        "\u{ff0f}",
        "\u{202e}",
        "/",
        ">",
        "`",
        "```",
        "<details>",
        "</details>",
        "<!--",
        "-->",
        "|",
        "$$",
        "~~",
        "[",
        "](",
        "#",
        "- ",
        "1. ",
        "\u{1f44d}",
        "\0",
        "&#47;",
    ]);
    prop_oneof![3 => known, 4 => marks.prop_map(str::to_owned), 1 => "\\PC{0,12}", 1 => "[a-zA-Z0-9./ -]{0,12}"]
}

fn names(body: &str) -> Vec<String> {
    parse(body, slash).into_iter().map(|given| given.name).collect()
}

#[test]
fn several_commands_come_in_order_among_other_text() {
    let given = parse("Looks fine.\n/verify\r\n  /approve looks good to me\n\nthanks\n\n/status", slash);
    let seen: Vec<_> = given.iter().map(|g| (g.index, g.name.as_str(), g.args.as_str())).collect();
    assert_eq!(seen, [(0, "verify", ""), (1, "approve", "looks good to me"), (2, "status", "")]);
}

#[test]
fn talk_about_a_command_is_not_one() {
    for talk in [
        "> /approve",
        ">/approve\nlazy continuation",
        "    /approve",
        "```\n/approve\n```",
        "~~~\n/approve",
        "<!-- /approve -->",
        "<!--\n/approve\n-->",
        "text <!--\n/approve\n--> more",
        "`a\n/approve\nb`",
        "[a](b \"\n/approve\n\")",
        "![\n/approve\n](b)",
        "[a]:\n/approve",
        "- /approve",
        "1. /approve",
        "# /approve",
        "<details>\n/approve\n</details>",
        "<details>\n\n/approve\n\n</details>",
        "<blockquote>\n\n/approve",
        "a <code>\n/approve\n</code>",
        "<div><pre>\n\n/approve\n\n</pre></div>",
        "~~no\n/approve\nno~~",
        "[^1]\n\n[^1]:\n    /approve",
        "$$\n/approve\n$$",
        "please /approve this",
        "/approve/all",
        "/usr/bin",
        "/approve_all",
        "/approve@bot",
        "//approve",
        "/ approve",
        "| a | b |\n|---|---|\n| /approve | x |",
    ] {
        assert_eq!(names(talk), Vec::<String>::new(), "{talk:?}");
    }
}

#[test]
fn a_command_beside_html_is_one() {
    for plain in ["line<br>\n/approve", "<details>x</details>\n\n/approve", "<b>so</b>\n/approve", "/approve <3"] {
        assert_eq!(names(plain), ["approve"], "{plain:?}");
    }
}

#[test]
fn other_bots_commands_are_not_ours() {
    for other in ["/lgtm", "/hold", "/cc @ada", "/fix", "/test all", "/retest", "/merge", "/rebase"] {
        assert_eq!(names(other), Vec::<String>::new(), "{other:?}");
    }
    assert_eq!(parse("/aprove", slash)[0].close_to, Some("approve"));
    assert_eq!(parse("/verfiy", slash)[0].close_to, Some("verify"));
}

#[test]
fn a_head_is_twelve_digits_or_more() {
    let given = &parse("/approve A1b2c3d4e5f6 fine", slash)[0];
    assert_eq!((given.args.as_str(), given.head.as_deref()), ("fine", Some("a1b2c3d4e5f6")));
    let given = &parse("/approve a1b2c3d", slash)[0];
    assert_eq!((given.args.as_str(), given.head.as_deref()), ("a1b2c3d", None));
}

#[test]
fn a_first_word_that_looks_like_a_short_head_is_told_apart() {
    for (text, short) in [
        ("/approve DEADBEE1 fine", Some("deadbee1")),
        ("/approve a1b2c3d", Some("a1b2c3d")),
        ("/approve a1b2\u{200b}c3d", Some("a1b2c3d")),
        ("/approve a1b2c3d4e5f", Some("a1b2c3d4e5f")),
        ("/approve a1b2c3d4e5f6", None),
        ("/approve deadbeef", None),
        ("/approve facade", None),
        ("/approve a1b2c3", None),
        ("/approve see a1b2c3d", None),
    ] {
        assert_eq!(parse(text, slash)[0].short_head.as_deref(), short, "{text:?}");
    }
}

#[test]
fn only_the_first_word_is_a_head() {
    let given = &parse("/reject see commit a1b2c3d4e5f60718", slash)[0];
    assert_eq!((given.args.as_str(), given.head.as_deref()), ("see commit a1b2c3d4e5f60718", None));
    let given = &parse("/verify a1b2c3d4e5f6", slash)[0];
    assert_eq!((given.args.as_str(), given.head.as_deref()), ("", Some("a1b2c3d4e5f6")));
}

#[test]
fn large_letters_and_what_takes_no_room_make_no_difference() {
    for text in [
        "/Approve",
        "/APPROVE",
        "\u{feff}/approve",
        "\u{200b}/approve\u{200b}",
        "/approve\u{a0}",
        "text\n\t/approve",
        "/approve\r\n",
        "/approve \u{1f44d}",
        "/approve\u{202e}",
        "/app\u{200b}rove",
        "/approve \u{200b}\u{202e} ",
        "\u{2066}/approve\u{2069}",
    ] {
        let given = parse(text, slash);
        assert_eq!(given.len(), 1, "{text:?}");
        assert!(given[0].args.is_empty() || given[0].args == "\u{1f44d}", "{text:?}");
        assert!(given[0].spec.is_some_and(|spec| spec.name == "approve"), "{text:?}");
        assert_eq!(given[0].name, "approve");
    }
    assert_eq!(parse("/approve\u{a0}\u{1f44d} nice", slash)[0].args, "\u{1f44d} nice");
}

#[test]
fn what_reads_backwards_is_no_command() {
    assert!(parse("\u{202e}/approve", slash).is_empty() && parse(" \u{202d} /approve", slash).is_empty());
}

#[test]
fn a_mark_behind_the_name_or_another_slash_is_a_near_miss() {
    for text in ["/approve.", "/approve,", "/approve, thanks", "/Approve!", "/approve\u{1f44d}", "\u{ff0f}approve"] {
        let given = parse(text, slash);
        assert_eq!(given.len(), 1, "{text:?}");
        assert!(given[0].spec.is_none(), "{text:?}");
        assert_eq!(given[0].close_to, Some("approve"), "{text:?}");
    }
}

#[test]
fn what_comes_later_is_known_by_name() {
    for name in LATER {
        let given = parse(&format!("/{name} now"), slash);
        assert!(given.len() == 1 && given[0].spec.is_none() && given[0].close_to.is_none(), "{name}");
        assert!(COMMANDS.iter().all(|spec| spec.name != *name), "{name} is here");
    }
}

#[test]
fn what_is_too_many_is_said_once() {
    let given = parse(&"/status\n".repeat(500), slash);
    assert_eq!(given.len(), COMMANDS_A_COMMENT + 1);
    assert!(given[..COMMANDS_A_COMMENT].iter().all(|one| one.too_many == 0));
    assert_eq!(given[COMMANDS_A_COMMENT].too_many, 480);
    assert_eq!(parse(&"/status\n".repeat(COMMANDS_A_COMMENT), slash).len(), COMMANDS_A_COMMENT);
}

#[test]
fn a_comment_as_long_as_github_takes_is_read() {
    let longest = format!("{}\n/approve", "x ".repeat(32_763));
    assert_eq!(names(&longest), ["approve"]);
    let given = &parse(&format!("/reject {}", "y".repeat(65_528)), slash)[0];
    assert_eq!(given.args.len(), LONGEST_ARGS);
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = COMMANDS.iter().map(|spec| spec.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), COMMANDS.len());
}

proptest! {
    #[test]
    fn no_comment_breaks_the_parser(body in "(?s).{0,400}") {
        let _ = parse(&body, slash);
    }

    #[test]
    fn nothing_odd_breaks_the_parser(pieces in prop::collection::vec(odd(), 0..40)) {
        let body = pieces.concat();
        let found = parse(&body, slash);
        prop_assert!(found.is_empty() || may_hold_one(&body), "{body:?}");
        for given in found {
            prop_assert!(given.args.chars().count() <= LONGEST_ARGS);
            prop_assert!(given.name.chars().count() <= 40 && !given.name.contains('`'));
            prop_assert!(given.spec.is_some() || given.close_to.is_some() || LATER.contains(&given.name.as_str()));
        }
    }

    #[test]
    fn a_quoted_comment_has_no_commands(pieces in prop::collection::vec(odd(), 0..40)) {
        let body = pieces.concat().replace('\r', "");
        let quoted: String = body.split('\n').map(|line| format!("> {line}\n")).collect();
        prop_assert!(parse(&quoted, slash).is_empty(), "{quoted:?}");
    }

    #[test]
    fn a_fenced_comment_has_no_commands(pieces in prop::collection::vec(odd(), 0..40)) {
        let fenced = format!("````\n{}\n````", pieces.concat());
        prop_assert!(parse(&fenced, slash).is_empty(), "{fenced:?}");
    }
}
