//! What stands around every page, and the small parts that several pages share.

use super::{
    action::{Away, Post},
    label::Label,
    mark::Mark,
};

/// The frame of a page.
#[derive(Clone)]
pub struct Frame {
    /// Who runs this: the operator's name, or the product's.
    pub operator: Label,
    /// Host of the public URL, as the address bar shows it.
    pub host: String,
    /// Who is signed in; only the sign-in that counts for this page.
    pub signed_in: Option<SignedIn>,
    /// Request id: what a person can give to the operator. Never a secret.
    pub reference: String,
    /// The operator's help page.
    pub help: Option<Away>,
    /// The operator's privacy page.
    pub privacy: Option<Away>,
}

/// The person at the browser.
#[derive(Clone)]
pub struct SignedIn {
    /// Name or address, as the authorization server gave it.
    pub label: Label,
    /// `POST /sign-out`.
    pub sign_out: Post,
}

/// Who asks for what.
#[derive(Clone)]
pub struct Asked {
    /// The MCP server's configured name.
    pub server: Label,
    /// The provider's name.
    pub provider: Label,
    /// The provider's mark.
    pub mark: Mark,
    /// Whether it is done on a page of the MCP server's own, and no account is used.
    pub page: bool,
    /// What the MCP server says the person was using. Unproven.
    pub client: Option<Label>,
}

/// Something that the MCP server will be able to do.
#[derive(Clone)]
pub struct Permission {
    /// In plain words; the technical name again where the catalogue has none.
    pub words: Label,
    /// What the provider calls it.
    pub technical: Label,
}

/// How a page's news is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It worked.
    Good,
    /// Nothing happened, and that is fine.
    Calm,
    /// Something is in the way.
    Caution,
    /// Stopped.
    Stop,
}

impl Tone {
    /// Its class in the stylesheet.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Calm => "calm",
            Self::Caution => "caution",
            Self::Stop => "stop",
        }
    }

    /// The ARIA role of the text that tells the news (WCAG 2.2, 4.1.3).
    #[must_use]
    pub fn role(self) -> &'static str {
        match self {
            Self::Good | Self::Calm => "status",
            Self::Caution | Self::Stop => "alert",
        }
    }
}

/// The picture above the heading; it says nothing that the words do not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Emblem {
    /// None.
    None,
    /// A sign for the tone.
    Tone(Tone),
    /// A provider's mark.
    Mark(Mark),
    /// The initial of the MCP server and the mark of the provider, tied together.
    Pair(String, Mark),
}

impl Asked {
    /// The two of them.
    #[must_use]
    pub fn emblem(&self) -> Emblem {
        Emblem::Pair(self.server.initial(), self.mark.clone())
    }
}
