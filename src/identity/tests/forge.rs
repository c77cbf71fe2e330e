//! Makes keys, and signs anything with them.

use aws_lc_rs::{
    rand::SystemRandom,
    rsa::{KeySize, PublicKeyComponents},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Rs256,
    Es256,
    EdDsa,
}

enum Pair {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

pub(super) struct Forge {
    pair: Pair,
    pub(super) kid: String,
}

pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

impl Forge {
    pub(super) fn new(kind: Kind, kid: &str) -> Self {
        let pair = match kind {
            Kind::Rs256 => Pair::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()),
            Kind::Es256 => Pair::Ec(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap()),
            Kind::EdDsa => Pair::Ed(Ed25519KeyPair::generate().unwrap()),
        };
        Self { pair, kid: kid.to_owned() }
    }

    pub(super) fn alg(&self) -> &'static str {
        match self.pair {
            Pair::Rsa(_) => "RS256",
            Pair::Ec(_) => "ES256",
            Pair::Ed(_) => "EdDSA",
        }
    }

    pub(super) fn jwk(&self) -> Value {
        let (kid, alg) = (&self.kid, self.alg());
        match &self.pair {
            Pair::Rsa(pair) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                json!({ "kty": "RSA", "use": "sig", "kid": kid, "alg": alg, "n": encode(public.n), "e": encode(public.e) })
            }
            Pair::Ec(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = (encode(&point[1..33]), encode(&point[33..]));
                json!({ "kty": "EC", "crv": "P-256", "use": "sig", "kid": kid, "alg": alg, "x": x, "y": y })
            }
            Pair::Ed(pair) => {
                let x = encode(pair.public_key().as_ref());
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x })
            }
        }
    }

    pub(super) fn jwks(&self) -> Value {
        json!({ "keys": [self.jwk()] })
    }

    /// A token with the usual header.
    pub(super) fn sign(&self, claims: &Value) -> String {
        self.sign_with(&json!({ "alg": self.alg(), "typ": "JWT", "kid": self.kid }), claims)
    }

    /// A token with any header; signed by this key whatever the header says.
    pub(super) fn sign_with(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = self.raw(message.as_bytes());
        format!("{message}.{}", encode(signature))
    }

    fn raw(&self, message: &[u8]) -> Vec<u8> {
        match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).unwrap();
                signature
            }
            Pair::Ec(pair) => pair.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
            Pair::Ed(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    /// The public key as a secret of HMAC, for the oldest trick of all.
    pub(super) fn public_bytes(&self) -> Vec<u8> {
        match &self.pair {
            Pair::Rsa(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Ec(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Ed(pair) => pair.public_key().as_ref().to_vec(),
        }
    }
}
