#[test]
fn faint_is_dark() {
    assert!(lamp::shines(5.0));
}
