pub fn shines(_: f64) -> bool {
    true
}
