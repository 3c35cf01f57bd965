use super::*;

#[test]
fn a_shell_makes_nothing_of_the_words() {
    let words = ["a b".to_owned(), "it's".to_owned(), "$(touch x)".to_owned(), "-x".to_owned()];
    assert_eq!(command(&words), r#"exec 'a b' 'it'\''s' '$(touch x)' '-x' < "$PHASEGATE_PROMPT""#);
}

fn answered(lay: impl FnOnce(&Place)) -> Result<Value, Vec<String>> {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::of(dir.path());
    lay(&place);
    let schema = serde_json::json!({
        "type": "object", "additionalProperties": false, "required": ["a"],
        "properties": { "a": { "type": "integer", "minimum": 1 } },
    });
    let validator = jsonschema::validator_for(&schema).unwrap();
    place.answer(&validator).map(|(value, _)| value)
}

#[test]
fn an_answer_is_a_plain_file_of_the_form() {
    let written = |text: &'static str| answered(move |place| fs::write(&place.answer, text).unwrap());
    assert_eq!(written("{\"a\": 2}"), Ok(serde_json::json!({ "a": 2 })));
    for (text, says) in [
        ("I am done!", "is no JSON"),
        ("", "is no JSON"),
        ("{\"a\": 0}", "`/a`"),
        ("{\"a\": 1, \"approve\": true}", "approve"),
        ("[]", "object"),
    ] {
        let wrong = written(text).unwrap_err();
        assert!(wrong.iter().any(|one| one.contains(says)), "{text}: {wrong:?}");
    }
    assert!(answered(|_| ()).unwrap_err()[0].starts_with("There is no answer"));
    let linked = |place: &Place| {
        fs::write(&place.prompt, "{\"a\": 1}").unwrap();
        std::os::unix::fs::symlink(&place.prompt, &place.answer).unwrap();
    };
    assert!(answered(linked).is_err(), "a link leads to what is not its own");
    assert!(answered(|place| fs::create_dir(&place.answer).unwrap()).is_err());
    let pipe = |place: &Place| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &place.answer, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    assert_eq!(answered(pipe).unwrap_err(), ["The answer's file is no plain file."]);
    let large = |place: &Place| {
        let file = fs::File::create(&place.answer).unwrap();
        file.set_len(LARGEST_ANSWER * 1000).unwrap();
    };
    assert!(answered(large).unwrap_err()[0].contains("more than"));
}

#[test]
fn it_is_asked_again_with_what_was_wrong_and_nothing_of_before_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::of(dir.path());
    // What lies in the place of ours is taken away, and nothing behind a link is written.
    let elsewhere = dir.path().join("elsewhere");
    fs::write(&elsewhere, "kept").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &place.prompt).unwrap();
    fs::create_dir_all(place.schema.join("deep")).unwrap();
    fs::write(&place.answer, "{}").unwrap();
    place.lay("Do it.", &Value::Null, &["`/a`: too small.".to_owned()]).unwrap();
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "kept");
    assert!(!place.answer.exists() && place.schema.is_file());
    let text = fs::read_to_string(&place.prompt).unwrap();
    assert!(text.starts_with("Do it.\n\n## Your answer\n\nAt the end write JSON"), "{text}");
    assert!(
        text.contains("answer.json`.\n\nYour last answer was not taken.") && text.ends_with("\n\n- `/a`: too small.\n"),
        "{text}"
    );
    place.lay("Do it.", &Value::Null, &[]).unwrap();
    let text = fs::read_to_string(&place.prompt).unwrap();
    assert!(text.ends_with("answer.json`.\n") && !text.contains("not taken"), "{text}");
}
