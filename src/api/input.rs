//! Reading a request strictly: its body, its query and the ids in its path.
//!
//! What is unknown or given twice is refused, never passed over (R52). What it must never do: repeat more of a request
//! than the name of a field.

use std::{fmt, marker::PhantomData, str::FromStr, time::Duration};

use axum::{
    body::{Bytes, to_bytes},
    extract::{FromRequest, FromRequestParts, RawPathParams, Request},
    http::{HeaderMap, header, request::Parts},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::error::Category;

use crate::media_type;

use super::{
    Api,
    problem::{Code, Problem},
};

/// How long a body may take to arrive.
const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// A JSON body without unknown fields, and its bytes as they came.
pub(super) struct Body<T> {
    pub(super) value: T,
    pub(super) bytes: Bytes,
}

impl<T: DeserializeOwned> FromRequest<Api> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            let detail = "Send the body as application/json, in UTF-8.";
            return Err(Problem::new(Code::UnsupportedMediaType, detail));
        }
        let bytes = read(request, api).await?;
        Ok(Self { value: parse(&bytes)?, bytes })
    }
}

/// No body, or an empty JSON object.
pub(super) struct NoBody;

impl FromRequest<Api> for NoBody {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Empty {}

        let bytes = read(request, api).await?;
        if !bytes.is_empty() {
            let Empty {} = parse(&bytes)?;
        }
        Ok(Self)
    }
}

/// Whether the body is of the one type that is taken; a header that is given twice is of none.
fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else { return false };
    value.to_str().is_ok_and(media_type::is_json)
}

async fn read(request: Request, api: &Api) -> Result<Bytes, Problem> {
    let limit = api.app.settings.limits.body_bytes;
    let too_large = || Problem::new(Code::BodyTooLarge, "The body is longer than `limits.body` allows.");
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    tokio::select! {
        biased;
        read = to_bytes(request.into_body(), limit) => read.map_err(|error| {
            let error = error.into_inner();
            if error.is::<http_body_util::LengthLimitError>() {
                too_large()
            } else {
                Problem::new(Code::MalformedBody, "The body broke off.")
            }
        }),
        () = api.app.clock.sleep(BODY_PATIENCE) => {
            Err(Problem::new(Code::RequestTimeout, "The body did not arrive in time."))
        }
    }
}

/// A JSON object, and no list of its values, which serde would take for a struct as well.
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields)).map(Object)
            }
        }

        from.deserialize_map(Fields(PhantomData))
    }
}

/// Reads a whole JSON document, which is an object.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let Object(value) = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| refused(&error.path().to_string(), error.inner()))?;
    json.end().map_err(|error| refused("", &error))?;
    Ok(value)
}

/// Serde says which kind of error it is only in words; the words themselves stay here.
fn refused(path: &str, error: &serde_json::Error) -> Problem {
    match error.classify() {
        Category::Syntax | Category::Eof | Category::Io => {
            return Problem::new(Code::MalformedBody, "The body is not one JSON document in UTF-8.");
        }
        Category::Data => {}
    }
    if path == "." && !error.to_string().starts_with("missing field") {
        return Problem::new(Code::InvalidField, "The body is not an object.");
    }
    let words = error.to_string();
    let named = || words.split('`').nth(1).unwrap_or_default();
    if words.starts_with("unknown field") {
        return Problem::new(Code::UnknownField, "This call has no such field.").field(path);
    }
    if words.starts_with("missing field") {
        let field = if path == "." { named().to_owned() } else { format!("{path}.{}", named()) };
        return Problem::invalid_field(field, "The field is missing.");
    }
    if words.starts_with("duplicate field") {
        return Problem::invalid_field(path, "The field is given twice.");
    }
    Problem::invalid_field(path, "The field has another type or value than this call takes.")
}

/// The query of a call, read by the names that it has.
pub(super) struct Query(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let text = parts.uri.query().unwrap_or_default().as_bytes();
        let pairs = url::form_urlencoded::parse(text).into_owned().collect::<Vec<_>>();
        if pairs.iter().any(|(name, value)| [name, value].iter().any(|text| text.contains('\u{fffd}'))) {
            return Err(Problem::new(Code::InvalidParameter, "The query is not UTF-8."));
        }
        Ok(Self(pairs))
    }
}

impl Query {
    /// Refuses every parameter but these, and any that is given twice.
    pub(super) fn only(self, names: &[&str]) -> Result<Self, Problem> {
        for (index, (name, _)) in self.0.iter().enumerate() {
            if !names.contains(&name.as_str()) {
                return Err(
                    Problem::new(Code::UnknownParameter, "This call has no such parameter.").field(name)
                );
            }
            if self.0[..index].iter().any(|(before, _)| before == name) {
                return Err(
                    Problem::new(Code::DuplicateParameter, "The parameter is given twice.").field(name)
                );
            }
        }
        Ok(self)
    }

    /// A parameter's value.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A parameter that is a whole number from `least` to `most`.
    pub(super) fn number(&self, name: &'static str, least: i64, most: i64) -> Result<Option<i64>, Problem> {
        self.get(name).map(|text| number(name, text, least, most)).transpose()
    }
}

/// A whole number in decimal digits, without sign.
pub(super) fn number(name: &'static str, text: &str, least: i64, most: i64) -> Result<i64, Problem> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| digits && (least..=most).contains(number));
    number.ok_or_else(|| Problem::invalid_parameter(name, "The value is no number, or out of bounds."))
}

/// A call without query parameters.
pub(super) struct NoQuery;

impl<S: Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        if parts.uri.query().is_none_or(str::is_empty) {
            return Ok(Self);
        }
        Query::from_request_parts(parts, state).await?.only(&[]).map(|_| Self)
    }
}

/// The one id in a path. What is no id is not found, like one that nobody has (R54).
pub(super) struct Id<T>(pub(super) T);

impl<T: FromStr, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found =
            RawPathParams::from_request_parts(parts, state).await.map_err(|_| Problem::not_found())?;
        let id = found.iter().next().and_then(|(_, value)| value.parse().ok());
        id.map(Self).ok_or_else(Problem::not_found)
    }
}

/// The one value of a header; none when it is absent.
pub(super) fn one<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<Option<&'a str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Problem::new(Code::DuplicateParameter, "The header is given twice.").field(name));
    }
    let text =
        value.to_str().map_err(|_| Problem::invalid_parameter(name, "The header is not ASCII text."))?;
    Ok(Some(text))
}
