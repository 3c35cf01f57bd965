#[test]
fn is_dimmed() {
    assert_eq!(lamp::dimmed(4.0), 2.0);
}
