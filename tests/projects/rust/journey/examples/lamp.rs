fn main() {
    let level: f64 = std::env::args().nth(1).and_then(|level| level.parse().ok()).unwrap_or(0.0);
    println!("{} {}", lamp::shines(level), lamp::dimmed(level));
}
