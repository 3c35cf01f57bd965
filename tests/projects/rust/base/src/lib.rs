pub fn shines(level: f64) -> bool {
    level > 0.0
}
