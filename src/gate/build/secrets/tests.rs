use super::*;

/// Random letters that nobody chose: a test has no secret in it.
fn letters(count: usize, from: &str) -> String {
    let from: Vec<char> = from.chars().collect();
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        from[(seed % from.len() as u64) as usize]
    };
    (0..count).map(|_| next()).collect()
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

fn in_new(path: &str, text: &str) -> Vec<(u32, &'static str)> {
    let added = vec![true; text.split('\n').count()];
    leaks(path, text, &added).into_iter().map(|leak| (leak.line, leak.rule)).collect()
}

#[test]
fn every_pattern_is_one_here_too() {
    let rules = RULES.as_ref().unwrap();
    assert_eq!(rules.all.len(), 222);
    for rule in &rules.all {
        let own = rule.pattern.iter().chain(&rule.path);
        let allowed = rule.allowed.iter().flat_map(|one| one.paths.iter().chain(&one.regexes));
        for pattern in own.chain(allowed) {
            assert!(pattern.get().is_some(), "{}: {}", rule.id, pattern.text);
        }
    }
    let everywhere = rules.everywhere.paths.iter().chain(&rules.everywhere.regexes);
    assert!(everywhere.into_iter().all(|pattern| pattern.get().is_some()));
}

#[test]
fn a_secret_is_found_at_its_line() {
    let aws = format!("AKIA{}", letters(16, BASE32));
    let github = format!("ghp_{}", letters(36, ALNUM));
    let random = letters(40, ALNUM);
    let key =
        format!("-----BEGIN RSA PRIVATE {0}-----\n{1}\n-----END RSA PRIVATE {0}-----", "KEY", letters(400, ALNUM));
    let text =
        format!("import os\n\nid = \"{aws}\"\nx = 1\nt = \"{github}\"\nsecret_key = \"{random}\"\npem = '''{key}'''\n");
    let found = in_new("src/config.py", &text);
    let expected = [(3, "aws-access-token"), (5, "github-pat"), (6, "generic-api-key"), (7, "private-key")];
    assert_eq!(found, expected);
    // Nothing that was there before.
    let mut added = vec![false; text.split('\n').count()];
    assert!(leaks("src/config.py", &text, &added).is_empty());
    added[4] = true;
    let only = leaks("src/config.py", &text, &added);
    assert_eq!(only, [Leak { line: 5, rule: "github-pat" }]);
    // A key of many lines is found by any of them.
    added[4] = false;
    added[7] = true;
    assert_eq!(leaks("src/config.py", &text, &added).len(), 1);
    // What has a form of its own is a secret in a test too.
    assert_eq!(in_new("tests/test_config.py", &format!("t = \"{github}\"\n")), [(1, "github-pat")]);
    assert_eq!(is_key_store("certs/server.p12"), Some("pkcs12-file"));
    assert_eq!(is_key_store("certs/server.py"), None);
}

#[test]
fn what_only_looks_like_one_is_none() {
    let hex = letters(64, HEX);
    let short = letters(40, HEX);
    let picture = letters(4_000, &format!("{ALNUM}+/"));
    let uuid = format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[15..18], &hex[18..30]);
    let sum = format!("sha512-{}==", letters(86, ALNUM));
    let random = letters(24, ALNUM);
    for (path, text) in [
        ("src/a.py", format!("cache_key = \"{hex}\"\n")),
        ("src/a.py", format!("token_digest = \"{hex}\"\n")),
        ("src/a.py", format!("api_key_id = \"{uuid}\"\n")),
        ("src/a.py", "api_key = os.environ[\"API_KEY\"]\n".to_owned()),
        ("src/a.py", "password = getpass.getpass()\n".to_owned()),
        ("src/a.py", "SECRET = \"changeme\"\ntoken = \"<your token here>\"\n".to_owned()),
        ("src/a.ts", "const key: KeyboardEvent[\"key\"] = event.key;\nconst accessToken = response.data.access_token;\n".to_owned()),
        ("src/a.rs", "let token = cancellation_token.child_token();\nconst SECRET_KEY: &str = \"PHASEGATE_SECRET_KEY_2\";\n".to_owned()),
        ("src/a.css", format!("a {{ background: url(data:image/png;base64,{picture}); }}\n")),
        ("README.md", format!("![logo](data:image/png;base64,{picture})\n\nPinned at {short}.\n")),
        ("Cargo.lock", format!("[[package]]\nname = \"token\"\nchecksum = \"{hex}\"\n")),
        ("package-lock.json", format!("\"auth-token\": {{ \"integrity\": \"{sum}\" }}\n")),
        ("pnpm-lock.yaml", format!("  /key@1.0.0:\n    resolution: {{integrity: {sum}}}\n")),
        ("uv.lock", format!("{{ url = \"x\", hash = \"sha256:{hex}\" }}\n")),
        ("tests/fixtures/login.py", format!("fake_token = \"{random}\"\n")),
        (".github/workflows/ci.yml", "env:\n  API_TOKEN: ${{ secrets.API_TOKEN }}\n  uses: actions/checkout@9f86d081884c7d659a2feaa0c55ad015a3bf4f1b\n".to_owned()),
        ("tests/data/keys.json", format!("{{\"token\": \"{random}\"}}\n")),
        ("src/pem.rs", "let mut pem = String::from(\"-----BEGIN RSA PRIVATE KEY-----\\n\");\nfor part in parts {\n    pem.push_str(&part);\n}\npem.push_str(\"-----END RSA PRIVATE KEY-----\");\n".to_owned()),
        ("docs/a.md", "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\n".to_owned()),
        ("data/rows.json", format!("{{\"key\": \"{uuid}\", \"blob_key\": \"{short}\"}}\n")),
    ] {
        assert_eq!(in_new(path, &text), [], "{path}: {text}");
    }
}

fn encoded(text: &str) -> String {
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text)
}

#[test]
fn a_password_inside_of_an_address_or_a_header_is_found() {
    let own = letters(20, ALNUM);
    let header = encoded(&format!("admin:{own}"));
    for (path, line, rule) in [
        ("src/a.py", format!("db = \"postgres://admin:{own}@db.lanterns.io/prod\""), "password-in-address"),
        ("src/a.py", format!("db = \"redis://:{own}@cache:6379/0\""), "password-in-address"),
        ("requirements.txt", format!("--index-url https://ci:{own}@pypi.lanterns.io/simple"), "password-in-address"),
        ("deploy/app.yml", format!("  url: amqp://app:{own}@10.0.3.4:5672/"), "password-in-address"),
        ("src/a.py", "db = 'mysql://app:Tr0ub4dor&3@db.lanterns.io/x'".to_owned(), "password-in-address"),
        ("src/a.py", format!("headers = {{\"Authorization\": \"Basic {header}\"}}"), "authorization-header"),
        ("src/a.ts", format!("request.set('Authorization', 'Bearer {own}');"), "authorization-header"),
        ("src/a.rs", format!("let header = \"Authorization: Basic {header}\";"), "authorization-header"),
    ] {
        assert_eq!(in_new(path, &format!("x\n{line}\n")), [(2, rule)], "{line}");
        assert!(leaks(path, &line, &[false]).is_empty(), "{line}");
    }
}

#[test]
fn an_address_of_development_is_no_secret() {
    let own = letters(20, ALNUM);
    for (path, line) in [
        ("src/a.py", format!("postgres://admin:{own}@localhost:5432/x")),
        ("src/a.py", format!("postgres://admin:{own}@127.0.0.1/x")),
        ("src/a.py", format!("postgres://admin:{own}@db.example.com/x")),
        ("src/a.py", "postgres://postgres:postgres@db:5432/app".to_owned()),
        ("src/a.py", "postgres://user:password123@db.lanterns.io/app".to_owned()),
        ("src/a.py", "https://user:pass@lanterns.io/ https://a:changeme1@lanterns.io".to_owned()),
        ("src/a.py", "f\"postgres://{user}:{password}@{host}/x\" 'mysql://%s:%s@%s/x'".to_owned()),
        ("src/a.sh", "https://x-access-token:${GITHUB_TOKEN}@github.com/a/b".to_owned()),
        (
            "src/a.sh",
            "https://user:$DB_PASS_1@lanterns.io https://u:<password1>@lanterns.io https://u:********@a.io".to_owned(),
        ),
        (
            "src/a.ts",
            "https://u:DB_PASSWORD_2@lanterns.io ssh://git@github.com:22/a/b http://lanterns.io:8080/@a".to_owned(),
        ),
        ("tests/test_a.py", format!("postgres://admin:{own}@db.lanterns.io/x")),
        ("docs/a.txt", format!("postgres://admin:{own}@db.lanterns.io/x")),
        ("README.md", format!("postgres://admin:{own}@db.lanterns.io/x")),
        (".env.example", format!("DB=postgres://admin:{own}@db.lanterns.io/x")),
        ("src/a.py", format!("headers = {{\"Authorization\": \"Basic {}\"}}", encoded("user:pass"))),
        ("src/a.py", format!("'Authorization: Basic {}'", encoded("Aladdin:open sesame"))),
        ("src/a.py", "headers = {\"Authorization\": f\"Bearer {token}\", 'X': 'Bearer'}".to_owned()),
        (
            "src/a.ts",
            "headers.set('Authorization', `Bearer ${session.accessToken}`); // Authorization: Bearer your-token-here-1"
                .to_owned(),
        ),
        (
            "src/a.rs",
            "req.header(\"Authorization\", format!(\"Bearer {token}\")) // authorization: basic understanding"
                .to_owned(),
        ),
    ] {
        assert_eq!(in_new(path, &format!("{line}\n")), [], "{line}");
    }
}

#[test]
fn a_large_change_is_looked_through_to_its_end() {
    let line = format!("let value = compute(\"{}\", token_count, access);\n", letters(60, ALNUM));
    let text = line.repeat(20_000);
    assert_eq!(in_new("src/large.rs", &text), []);
}
