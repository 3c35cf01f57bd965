#[test]
fn ac_1_faint_is_dark() {
    assert!(!lamp::shines(0.05));
}
