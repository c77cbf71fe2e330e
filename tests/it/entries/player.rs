//! Every provider of the catalogue at once, each as strict as an honest one of its kind: it takes what its entry says,
//! and nothing that is written otherwise. Tokens, codes and clients bear the entry's id, by which a request is told.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use consentry::{provider::challenge, secret::Secret};
use reqwest::{Method, Url, header::HeaderMap};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{
    Plays,
    asked::{Asked, Refused, demand, demand_pairs, pair},
    fact::{Fact, Pair, Told},
};

/// What one provider knows.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The code that was given last, with its challenge and redirect URI; gone when it is exchanged.
    code: Option<(String, Option<String>, String)>,
    serial: u32,
    /// The step after the last exchange that is due.
    steps: Option<usize>,
    /// The access token that is good.
    pub(super) access: Option<String>,
    /// The refresh token that is good.
    pub(super) refresh: Option<String>,
    /// The same of each further token.
    pub(super) slots: BTreeMap<String, (String, Option<String>)>,
    /// Exchanges, refreshes (renewals too), probes.
    pub(super) exchanges: u32,
    pub(super) refreshes: u32,
    pub(super) probes: u32,
    /// Tokens that were revoked.
    pub(super) revoked: Vec<String>,
    /// The next request for tokens is refused as it is documented.
    pub(super) refuses: bool,
    /// Every request, by its method and address.
    pub(super) heard: Vec<String>,
    /// What was done wrong.
    pub(super) faults: Vec<String>,
}

/// All of them.
pub(super) struct Player {
    facts: BTreeMap<String, Fact>,
    states: Mutex<BTreeMap<String, State>>,
}

impl Player {
    pub(super) fn new(facts: Vec<Fact>) -> Self {
        let facts = facts.into_iter().map(|fact| (fact.id.clone(), fact)).collect();
        Self { facts, states: Mutex::default() }
    }

    /// What a provider knows.
    pub(super) fn with<T>(&self, id: &str, look: impl FnOnce(&mut State) -> T) -> T {
        look(self.states.lock().unwrap().entry(id.to_owned()).or_default())
    }

    /// The browser is here, and the person agrees: the way back.
    pub(super) fn agrees(&self, id: &str, url: &Url) -> Result<Url, Refused> {
        let fact = &self.facts[id];
        let pairs = authorize(fact, url)?;
        let get = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let redirect_uri = get("redirect_uri").unwrap_or_default();
        let code = self.with(id, |state| {
            state.serial += 1;
            let code = format!("COD.{id}.{}", state.serial);
            state.code = Some((code.clone(), get("code_challenge"), redirect_uri.clone()));
            code
        });
        let mut back =
            vec![("code".to_owned(), code), ("state".to_owned(), get("state").unwrap_or_default())];
        back.extend(issuer(fact));
        back.extend(fact.callback());
        let scope = fact.text("answer.scope_from_callback");
        if let Some(name) = scope.filter(|name| back.iter().all(|(known, _)| known != name)) {
            let granted: Vec<String> = fact.asked().into_iter().flat_map(|(_, scopes)| scopes).collect();
            back.push((name.to_owned(), granted.join(",")));
        }
        sign(fact, &mut back);
        let mut uri: Url = redirect_uri.parse().map_err(|_| "redirect_uri is no URL".to_owned())?;
        uri.query_pairs_mut().extend_pairs(back);
        Ok(uri)
    }

    /// The browser is here, and the person says no.
    pub(super) fn declines(&self, id: &str, url: &Url, code: &str) -> Result<Url, Refused> {
        let fact = &self.facts[id];
        let pairs = authorize(fact, url)?;
        let get = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let mut back = vec![
            ("error".to_owned(), code.to_owned()),
            ("state".to_owned(), get("state").unwrap_or_default()),
        ];
        back.extend(issuer(fact));
        sign(fact, &mut back);
        let uri: Result<Url, _> = get("redirect_uri").unwrap_or_default().parse();
        let mut uri = uri.map_err(|_| "redirect_uri is no URL".to_owned())?;
        uri.query_pairs_mut().extend_pairs(back);
        Ok(uri)
    }

    fn metadata(&self, asked: &Asked) -> Option<Told> {
        if !asked.url.contains("/.well-known/") {
            return None;
        }
        let of = |fact: &&Fact| {
            let base = fact.discovered()?;
            (format!("{base}/.well-known/openid-configuration") == asked.url).then_some(base)
        };
        let found = self.facts.values().find_map(|fact| Some((fact, of(&fact)?)));
        let Some((fact, base)) = found else { return Some(Told::json(404, &json!({}))) };
        let at = |name: &str| format!("{base}/discovered/{name}");
        let way = fact.text("client_authentication").unwrap_or("client_secret_basic");
        Some(Told::json(
            200,
            &json!({
                "issuer": fact.after(fact.text("issuer").unwrap_or_default()),
                "authorization_endpoint": at("authorization"),
                "token_endpoint": at("token"),
                "userinfo_endpoint": at("userinfo"),
                "revocation_endpoint": at("revocation"),
                "jwks_uri": at("jwks"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": [way],
                "authorization_response_iss_parameter_supported": true,
            }),
        ))
    }
}

impl Plays for Player {
    fn hears(&self, asked: &Asked) -> Told {
        if let Some(told) = self.metadata(asked) {
            return told;
        }
        let Some(id) = asked.marked() else {
            self.with("", |state| state.faults.push(format!("{} {} is of nobody", asked.method, asked.url)));
            return Told::json(404, &json!({}));
        };
        let Some(fact) = self.facts.get(&id) else { return Told::json(404, &json!({})) };
        self.with(&id, |state| {
            state.heard.push(format!("{} {}", asked.method, asked.url));
            asked.tells_length().and_then(|()| answer(fact, state, asked)).unwrap_or_else(|fault| {
                state.faults.push(format!("{} {}: {fault}", asked.method, asked.url));
                Told::json(400, &json!({ "error": "invalid_request" }))
            })
        })
    }

    fn facts(&self) -> Vec<Fact> {
        self.facts.values().cloned().collect()
    }

    fn faults(&self, id: &str) -> Vec<String> {
        self.with(id, |state| std::mem::take(&mut state.faults))
    }

    fn heard(&self, id: &str) -> String {
        self.with(id, |state| state.heard.join(", "))
    }
}

fn issuer(fact: &Fact) -> Option<Pair> {
    Some(pair("iss", fact.after(fact.text("issuer")?)))
}

/// HMAC-SHA256 over the other parameters in their order, where callbacks are signed.
fn sign(fact: &Fact, back: &mut Vec<Pair>) {
    use aws_lc_rs::hmac;
    let Some(name) = fact.text("callback_signature.param") else { return };
    back.sort();
    let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(&*back).finish();
    let key = hmac::Key::new(hmac::HMAC_SHA256, fact.client_secret().as_bytes());
    let signed = hmac::sign(&key, text.as_bytes());
    back.push(pair(name, signed.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>()));
}

/// Its own name of a standard parameter.
fn named<'a>(fact: &'a Fact, standard: &'a str) -> &'a str {
    let own = fact.table("param_names").and_then(|names| names.get(standard)).and_then(toml::Value::as_str);
    own.unwrap_or(standard)
}

/// Looks at an authorize URL as the provider does.
fn authorize(fact: &Fact, url: &Url) -> Result<Vec<Pair>, Refused> {
    let endpoint = match fact.text("authorization_endpoint") {
        Some(template) => fact.before(template),
        None => fact.endpoint("authorization_endpoint").ok_or("no authorize endpoint")?,
    };
    let asked =
        Asked { method: Method::GET, url: url.to_string(), headers: HeaderMap::new(), body: Vec::new() };
    demand(asked.is_to(&endpoint), || format!("authorize URL is {url}, expected {endpoint}"))?;
    let pairs = asked.query_beyond(&endpoint);
    let get = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let mut expected = vec![pair("response_type", "code"), pair(named(fact, "client_id"), fact.client_id())];
    let separator = fact.text("scope_separator").unwrap_or(" ");
    for (name, scopes) in fact.asked() {
        let found = get(&name).unwrap_or_default();
        let set: BTreeSet<String> = found.split(separator).map(str::to_owned).collect();
        demand(set == scopes, || format!("{name} is `{found}`, expected {scopes:?} by `{separator}`"))?;
        expected.push(pair(&name, found));
    }
    for key in ["authorize_params", "account_chooser_params"] {
        expected.extend(fact.texts(key));
    }
    expected.extend(fact.list("resource").into_iter().map(|one| pair("resource", one)));
    if fact.is_true("form_post") == Some(true) {
        expected.push(pair("response_mode", "form_post"));
    }
    let state = get("state").unwrap_or_default();
    demand(state.len() >= 32, || "there is no state".to_owned())?;
    expected.push(pair("state", state));
    let redirect = get("redirect_uri").unwrap_or_default();
    let place = format!("/callback/files/{}", fact.id);
    demand(redirect.ends_with(&place), || format!("redirect_uri is {redirect}"))?;
    expected.push(pair("redirect_uri", redirect));
    if fact.is_true("pkce") != Some(false) {
        let challenge = get("code_challenge").unwrap_or_default();
        demand(challenge.len() == 43, || "there is no code_challenge".to_owned())?;
        expected.extend([pair("code_challenge", challenge), pair("code_challenge_method", "S256")]);
    }
    // Who was connected before is named, where a label can be taken for what the parameter wants.
    let hint = fact.text("account_hint_param").unwrap_or("login_hint");
    let label = fact.account("label").unwrap_or_default();
    let known = |hinted: &String| if label.is_empty() { hinted.contains('@') } else { hinted == label };
    let fits = |hinted: &String| known(hinted) && (hint != "login_hint" || hinted.contains('@'));
    expected.extend(get(hint).filter(fits).map(|hinted| pair(hint, hinted)));
    demand_pairs(pairs.clone(), expected)?;
    Ok(pairs)
}

/// What a client proves itself by stands there, and nothing else does: the rest.
fn proven(fact: &Fact, way: &str, asked: &Asked, mut pairs: Vec<Pair>) -> Result<Vec<Pair>, Refused> {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let (id, secret) = (fact.client_id(), fact.client_secret());
    let basic = |text: String| Some(format!("Basic {}", BASE64_STANDARD.encode(text)));
    let (header, fields) = match way {
        "client_secret_basic" => (basic(format!("{}:{}", encoded(&id), encoded(&secret))), vec![]),
        "secret_as_basic_user" => (basic(format!("{secret}:")), vec![]),
        "client_secret_post" => {
            (None, vec![pair(named(fact, "client_id"), &*id), pair(named(fact, "client_secret"), &*secret)])
        }
        "none" => (None, vec![pair(named(fact, "client_id"), &*id)]),
        other => return Err(format!("nobody here knows the way `{other}`")),
    };
    let found = asked.header("authorization").map(str::to_owned);
    demand(found == header, || format!("Authorization is {found:?}, expected {header:?}"))?;
    for field in fields {
        let at = pairs.iter().position(|pair| *pair == field);
        pairs.remove(at.ok_or_else(|| format!("{field:?} is missing in {pairs:?}"))?);
    }
    Ok(pairs)
}

/// A way of authenticating, by its key.
fn way(fact: &Fact) -> &str {
    fact.text("client_authentication").unwrap_or("client_secret_basic")
}

/// The parameters of one of the tables with placeholders.
fn filled(texts: BTreeMap<String, String>, fact: &Fact, token: &str) -> Vec<Pair> {
    let fill = |text: String| {
        let text = fact.after(&text).replace("{access_token}", token).replace("{token}", token);
        text.replace("{client_id}", &fact.client_id()).replace("{client_secret}", &fact.client_secret())
    };
    texts.into_iter().map(|(name, text)| (name, fill(text))).collect()
}

fn answer(fact: &Fact, state: &mut State, asked: &Asked) -> Result<Told, Refused> {
    if let Some(told) = step(fact, state, asked)? {
        return Ok(told);
    }
    let token = fact.endpoint("token_endpoint").ok_or("no token endpoint")?;
    let refresh = fact.endpoint("refresh_endpoint").unwrap_or_else(|| token.clone());
    if asked.is_to(&token) || asked.is_to(&refresh) {
        return tokens(fact, state, asked, [&token, &refresh]);
    }
    if let Some(told) = revocation(fact, state, asked)? {
        return Ok(told);
    }
    account(fact, state, asked)
}

fn table_texts(table: &toml::Table, key: &str) -> BTreeMap<String, String> {
    let table = table.get(key).and_then(toml::Value::as_table);
    let text = |value: &toml::Value| value.as_str().unwrap_or_default().to_owned();
    table.into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
}

/// A step after the code, or a renewal. Steps are due after each exchange, once and in their order.
fn step(fact: &Fact, state: &mut State, asked: &Asked) -> Result<Option<Told>, Refused> {
    let Some(current) = state.access.clone() else { return Ok(None) };
    let steps = fact.tables("token_steps");
    let due = state.steps.filter(|at| *at < steps.len());
    let Some(table) = due.map(|at| steps[at]).or_else(|| fact.table("renewal")) else { return Ok(None) };
    let text = |key: &str| table.get(key).and_then(toml::Value::as_str);
    let address = fact.after(text("url").unwrap_or_default());
    let method = text("method").unwrap_or("POST");
    if asked.method.as_str() != method || !asked.is_to(&address) {
        return Ok(None);
    }
    let found = asked.parameters(if method == "GET" { "query" } else { "form" }, &address)?;
    demand_pairs(found, filled(table_texts(table, "params"), fact, &current))?;
    let plain = json!({ "access_token": "", "token_type": "bearer", "expires_in": 5_184_000 });
    let told = match due {
        Some(at) => {
            state.steps = Some(at + 1);
            fact.recorded_step(at)
        }
        None => {
            state.refreshes += 1;
            if std::mem::take(&mut state.refuses) {
                return Ok(Some(refusal(fact)));
            }
            fact.recorded("renewal")
        }
    };
    Ok(Some(give(fact, state, told.unwrap_or_else(|| Told::json(200, &plain)), false)))
}

/// The documented refusal.
fn refusal(fact: &Fact) -> Told {
    fact.recorded("error").unwrap_or_else(|| Told::json(400, &json!({ "error": "invalid_grant" })))
}

/// Puts fresh tokens into an answer.
fn give(fact: &Fact, state: &mut State, told: Told, first: bool) -> Told {
    state.serial += 1;
    let (id, serial) = (&fact.id, state.serial);
    let (access, refresh) = (format!("TOK.{id}.{serial}"), format!("REF.{id}.{serial}"));
    let (told, there) = told.with(fact.text("answer.access_token").unwrap_or("access_token"), &access);
    assert!(there, "{id}: a recorded answer has no access token");
    state.access = Some(access);
    let (mut told, there) = told.with(fact.text("answer.refresh_token").unwrap_or("refresh_token"), &refresh);
    if there {
        state.refresh = Some(refresh);
    }
    if first {
        state.slots.clear();
        for (name, slot) in fact.table("slots").into_iter().flatten() {
            let path = |key: &str| slot.get(key).and_then(toml::Value::as_str).unwrap_or("-");
            let (access, refresh) =
                (format!("TOK.{id}.{name}-{serial}"), format!("REF.{id}.{name}-{serial}"));
            let (next, there) = told.with(path("access_token"), &access);
            let (next, refreshable) = next.with(path("refresh_token"), &refresh);
            told = next;
            if there {
                state.slots.insert(name.clone(), (access, refreshable.then_some(refresh)));
            }
        }
    }
    told
}

/// Adds an ID token where the account is read of its claims. It came over TLS from its issuer, and needs no signature
/// (OpenID Connect Core, section 3.1.3.7).
fn with_id_token(fact: &Fact, told: Told) -> Told {
    if fact.text("probe.of") != Some("id_token") {
        return told;
    }
    let mut claims = json!({ "aud": fact.client_id(), "exp": 4_102_444_800_u64, "sub": "user-1" });
    claims["iss"] = fact.after(fact.text("issuer").unwrap_or_default()).into();
    for key in ["probe.id", "probe.label"] {
        let name = fact.text(key).and_then(|path| path.split('|').next()).unwrap_or_default();
        claims[name] = format!("{name}-1").into();
    }
    let part = |value: Value| base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let token = format!("{}.{}.c2ln", part(json!({ "alg": "RS256" })), part(claims));
    let mut body: Value = serde_json::from_str(&told.body).expect("JSON");
    body["id_token"] = token.into();
    Told { body: body.to_string(), ..told }
}

/// A code or a refresh token for tokens.
fn tokens(fact: &Fact, state: &mut State, asked: &Asked, at: [&str; 2]) -> Result<Told, Refused> {
    demand(asked.method == Method::POST, || format!("the method is {}", asked.method))?;
    for (name, value) in fact.texts("token_headers") {
        let found = asked.header(&name.to_ascii_lowercase());
        demand(found == Some(&*value), || format!("{name} is {found:?}"))?;
    }
    let address = if asked.is_to(at[0]) { at[0] } else { at[1] };
    let pairs = asked.parameters(fact.text("token_body").unwrap_or("form"), address)?;
    let pairs = proven(fact, way(fact), asked, pairs)?;
    let get = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let resources = fact.list("resource").into_iter().map(|one| pair("resource", one));
    let grant = get("grant_type").unwrap_or_default();
    if get(named(fact, "code")).is_some() {
        demand(address == at[0], || format!("a code is sent to {address}"))?;
        let (code, challenge_of, redirect_uri) =
            state.code.take().ok_or("there is no code to be exchanged")?;
        let mut expected = vec![pair(named(fact, "code"), code), pair("redirect_uri", redirect_uri)];
        expected.push(pair("grant_type", "authorization_code"));
        if let Some(expected_challenge) = challenge_of {
            let verifier = get("code_verifier").unwrap_or_default();
            let made = challenge(&Secret::new(verifier.clone()));
            demand(made == expected_challenge, || "the verifier does not fit the challenge".to_owned())?;
            expected.push(pair("code_verifier", verifier));
        }
        expected.extend(fact.texts("token_params"));
        expected.extend(resources);
        let expected = once(expected, &fact.texts("token_params"));
        demand_pairs(pairs, expected)?;
        state.exchanges += 1;
        state.steps = Some(0);
        if std::mem::take(&mut state.refuses) {
            return Ok(refusal(fact));
        }
        let told = fact.recorded("token").unwrap_or_else(|| plain(fact, true));
        return Ok(with_id_token(fact, give(fact, state, told, true)));
    }
    demand(asked.is_to(at[1]), || format!("a refresh is sent to {address}"))?;
    let sent = get(named(fact, "refresh_token")).unwrap_or_default();
    let mut expected =
        vec![pair("grant_type", "refresh_token"), pair(named(fact, "refresh_token"), sent.clone())];
    expected.extend(fact.texts("refresh_params"));
    expected.extend(resources);
    demand_pairs(pairs, once(expected, &fact.texts("refresh_params")))?;
    demand(!grant.is_empty() || fact.says("refresh_params"), || "there is no grant_type".to_owned())?;
    let of_slot = state.slots.iter().find(|(_, (_, refresh))| refresh.as_deref() == Some(&*sent));
    if let Some((name, _)) = of_slot {
        let name = name.clone();
        let told = fact.recorded(&format!("slots.{name}")).unwrap_or_else(|| plain(fact, true));
        state.serial += 1;
        let (id, serial) = (&fact.id, state.serial);
        let (access, refresh) = (format!("TOK.{id}.{name}-{serial}"), format!("REF.{id}.{name}-{serial}"));
        let (told, _) = told.with("access_token", &access);
        let (told, rotates) = told.with("refresh_token", &refresh);
        let refresh = if rotates { refresh } else { sent };
        state.slots.insert(name, (access, Some(refresh)));
        return Ok(told);
    }
    demand(state.refresh.as_deref() == Some(&*sent), || {
        format!("{sent} is not the refresh token that is good")
    })?;
    state.refreshes += 1;
    if std::mem::take(&mut state.refuses) {
        state.refresh = None;
        return Ok(refusal(fact));
    }
    let told = fact.recorded("refresh").unwrap_or_else(|| plain(fact, false));
    Ok(give(fact, state, told, false))
}

/// Parameters of the entry stand in place of standard ones of the same name.
fn once(expected: Vec<Pair>, own: &BTreeMap<String, String>) -> Vec<Pair> {
    let mut kept: BTreeMap<String, String> = BTreeMap::new();
    let mut whole = Vec::new();
    for (name, value) in expected {
        match own.get(&name) {
            Some(value) => {
                kept.insert(name, value.clone());
            }
            None => whole.push((name, value)),
        }
    }
    whole.extend(kept);
    whole
}

/// RFC 6749's shape.
fn plain(fact: &Fact, first: bool) -> Told {
    let scopes: Vec<String> = fact.asked().into_iter().flat_map(|(_, scopes)| scopes).collect();
    let mut body = json!({ "access_token": "", "token_type": "Bearer", "expires_in": 3600 });
    if !scopes.is_empty() {
        body["scope"] = scopes.join(" ").into();
    }
    if first && fact.text("refresh_token") == Some("always") {
        body["refresh_token"] = "".into();
    }
    Told::json(200, &body)
}

fn revocation(fact: &Fact, state: &mut State, asked: &Asked) -> Result<Option<Told>, Refused> {
    let own = fact.table("revocation");
    let text = |key: &str| own.and_then(|own| own.get(key)).and_then(toml::Value::as_str);
    let by_access = text("token") == Some("access_token");
    let (access, refresh) = (state.access.clone().unwrap_or_default(), state.refresh.clone());
    // Each token of a grant is revoked for itself.
    let of_slot = state.slots.values().map(|(access, _)| access).find(|access| asked.bears(access)).cloned();
    let main = refresh.clone().filter(|_| !by_access).unwrap_or_else(|| access.clone());
    let token = of_slot.unwrap_or(main);
    let address = match text("url") {
        Some(url) => fact.after(url).replace("{token}", &token),
        None => match fact.endpoint("revocation_endpoint") {
            Some(address) => address,
            None => return Ok(None),
        },
    };
    if !asked.is_to(&address) || asked.method.as_str() != text("method").unwrap_or("POST") {
        return Ok(None);
    }
    let body = text("body").unwrap_or("form");
    let pairs = asked.parameters(body, &address)?;
    if own.is_none() {
        let pairs = proven(fact, way(fact), asked, pairs)?;
        let hint = if refresh.is_some() { "refresh_token" } else { "access_token" };
        demand_pairs(pairs, vec![pair("token", &*token), pair("token_type_hint", hint)])?;
        state.revoked.push(token);
        return Ok(Some(Told::json(200, &json!({}))));
    }
    let bearer = fact.is_true("revocation.bearer") == Some(true);
    let mut params = filled(fact.texts("revocation.params"), fact, &token);
    let in_address = text("url").is_some_and(|url| url.contains("{token}"));
    let said = !params.is_empty() || bearer || in_address || body == "none";
    if let Some(field) = text("field").or_else(|| (!said).then_some("token")) {
        params.push(pair(field, &*token));
    }
    let holds = bearer || in_address || params.iter().any(|(_, value)| *value == token);
    let holds = holds || fact.texts("revocation.headers").values().any(|value| value.contains("{token}"));
    // Some are told whose grant it is instead.
    let holds = holds || params.iter().any(|(_, value)| fact.kept().values().any(|kept| kept == value));
    demand(holds, || "the entry's revocation says of nothing that it shall end".to_owned())?;
    let pairs = match (bearer, text("client_authentication")) {
        (true, _) => {
            let found = asked.header("authorization").map(str::to_owned);
            demand(found == Some(format!("Bearer {token}")), || format!("Authorization is {found:?}"))?;
            pairs
        }
        (false, Some(way)) => proven(fact, way, asked, pairs)?,
        (false, None) if body == "none" || fact.says("revocation.headers.Authorization") => pairs,
        (false, None) => proven(fact, way(fact), asked, pairs)?,
    };
    demand_pairs(pairs, params)?;
    headers(fact, asked, "revocation.headers", &token)?;
    state.revoked.push(token);
    Ok(Some(Told::json(200, &json!({ "ok": true }))))
}

/// Further headers of a call stand in it.
fn headers(fact: &Fact, asked: &Asked, key: &str, token: &str) -> Result<(), Refused> {
    for (name, value) in fact.texts(key) {
        let value = fact.after(&value).replace("{access_token}", token).replace("{token}", token);
        let value = value.replace("{client_secret}", &fact.client_secret());
        let found = asked.header(&name.to_ascii_lowercase());
        demand(found == Some(&*value), || format!("{name} is {found:?}, expected {value}"))?;
    }
    Ok(())
}

/// A call with the access token: who is this, or which tenants are there.
fn account(fact: &Fact, state: &mut State, asked: &Asked) -> Result<Told, Refused> {
    let access = state.access.clone().unwrap_or_default();
    let placed = fact.texts("probe.headers").values().any(|value| value.contains("{access_token}"));
    let scheme = fact.text("probe.scheme").unwrap_or("Bearer");
    let expected = (!placed).then(|| format!("{scheme} {access}").trim_start().to_owned());
    let found = asked.header("authorization").map(str::to_owned);
    demand(found == expected, || format!("Authorization is {found:?}, expected {expected:?}"))?;
    headers(fact, asked, "probe.headers", &access)?;
    let is_to = |template: &str| asked.is_to(&fact.after(template));
    if fact.text("choice.url").is_some_and(is_to) {
        return fact.recorded("choice").ok_or_else(|| "no list of tenants is recorded".to_owned());
    }
    if fact.text("granted.url").is_some_and(is_to) && asked.method == Method::GET {
        return fact.recorded("granted").ok_or_else(|| "no list of permissions is recorded".to_owned());
    }
    if fact.text("probe.url").is_some_and(is_to) {
        demand(asked.method.as_str() == fact.text("probe.method").unwrap_or("GET"), || {
            format!("the probe's method is {}", asked.method)
        })?;
        let body = String::from_utf8_lossy(&asked.body).into_owned();
        demand(body == fact.text("probe.body").unwrap_or_default(), || {
            format!("the probe's body is {body}")
        })?;
        state.probes += 1;
        return fact.recorded("probe").ok_or_else(|| "no answer to the probe is recorded".to_owned());
    }
    if fact.endpoint("userinfo_endpoint").is_some_and(|address| asked.is_to(&address)) {
        state.probes += 1;
        return Ok(fact.recorded("probe").unwrap_or_else(|| Told::json(200, &json!({ "sub": "user-1" }))));
    }
    Err("nobody answers here".to_owned())
}
