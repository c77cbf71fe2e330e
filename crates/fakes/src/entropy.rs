//! Codes, tokens, handles: random text from the operating system's generator.

use aws_lc_rs::rand;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// `prefix` and 256 random bits in base64url. The prefix makes a leaked value easy to name in a test's output.
pub(crate) fn secret(prefix: &str) -> String {
    let mut bytes = [0_u8; 32];
    fill(&mut bytes);
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// Sixteen random hexadecimal digits: a label, not a secret.
pub(crate) fn label() -> String {
    let mut bytes = [0_u8; 8];
    fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[expect(clippy::expect_used, reason = "without a random generator no fake may go on")]
fn fill(bytes: &mut [u8]) {
    rand::fill(bytes).expect("the operating system gives random bytes");
}
