//! Saying a form to a client of an older or newer revision. What the revision has no words for is left out where the
//! server can see to it alone, which is everything that only helps the client: the answer is judged by the whole form.

use super::choice::Spelling;
use super::{Field, Form, FormFault, InvalidForm, escaped};
use crate::ProtocolVersion;

impl Form {
    /// The form as a client of this revision may be sent it.
    ///
    /// - Before `2025-11-25` there are no choices of several, titles are written as `enumNames`, and only a boolean has
    ///   a default.
    /// - From `2025-11-25` on titles are written as `oneOf`, and `pattern` is there in that revision alone.
    ///
    /// # Errors
    ///
    /// [`FormFault::Revision`] when a field cannot be said at all.
    ///
    /// ```
    /// use consentry_elicitation::ProtocolVersion;
    /// use consentry_elicitation::form::{Choice, Choices, Form};
    ///
    /// let form = Form::builder().required("shade", Choice::titled([("#00f", "Blue")]).default("#00f")).build()?;
    /// assert_eq!(
    ///     serde_json::to_value(form.for_version(ProtocolVersion::V2025_06_18)?)?["properties"]["shade"],
    ///     serde_json::json!({ "type": "string", "enum": ["#00f"], "enumNames": ["Blue"] }),
    /// );
    ///
    /// let several = Form::builder().required("days", Choices::plain(["Mo"])).build()?;
    /// assert!(several.for_version(ProtocolVersion::V2025_06_18).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_version(&self, version: ProtocolVersion) -> Result<Self, InvalidForm> {
        let mut form = self.clone();
        let old = version < ProtocolVersion::V2025_11_25;
        for entry in &mut form.fields {
            match &mut entry.field {
                Field::Text(field) => {
                    if old || version >= ProtocolVersion::V2026_07_28 {
                        field.pattern = None;
                    }
                    field.default.take_if(|_| old);
                }
                Field::Number(field) => _ = field.default.take_if(|_| old),
                Field::Integer(field) => _ = field.default.take_if(|_| old),
                Field::Boolean(_) => {}
                Field::Choice(field) => {
                    field.spelling = match field.spelling {
                        Spelling::Plain => Spelling::Plain,
                        Spelling::Titled | Spelling::Names if old => Spelling::Names,
                        Spelling::Titled | Spelling::Names => Spelling::Titled,
                    };
                    field.default.take_if(|_| old);
                }
                Field::Choices(_) if old => {
                    let at = format!("/properties/{}", escaped(&entry.name));
                    return Err(InvalidForm::new(at, FormFault::Revision));
                }
                Field::Choices(_) => {}
            }
        }
        Ok(form)
    }
}
