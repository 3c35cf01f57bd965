const FAINT: f64 = 0.1;

pub fn shines(level: f64) -> bool {
    level > FAINT
}
