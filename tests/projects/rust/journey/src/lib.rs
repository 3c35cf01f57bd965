const FAINT: f64 = 0.1;

pub fn shines(level: f64) -> bool {
    level > FAINT
}

pub fn dimmed(level: f64) -> f64 {
    level / 2.0
}
