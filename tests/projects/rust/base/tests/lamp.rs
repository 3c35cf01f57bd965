#[test]
fn shines() {
    assert!(lamp::shines(1.0));
}
