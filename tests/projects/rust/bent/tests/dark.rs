#[test]
fn is_dark() {
    assert!(lamp::shines(0.0));
}
