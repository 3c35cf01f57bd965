#[test]
fn ac_2_half_of_it() {
    assert_eq!(lamp::dimmed(4.0), 2.0);
}
