//! Reading the members of an object, one by one, so that each error names its place and nothing is passed over unseen.

use serde_json::{Map, Value};

use crate::form::{FormFault, InvalidForm, escaped};
use crate::node::{self, Node};

/// The members of an object, from which the known ones are taken; what is left at the end is not known.
pub(crate) struct Members(Vec<(String, Node)>);

impl Members {
    pub(crate) fn of(node: Node) -> Result<Self, InvalidForm> {
        match node {
            Node::Object(members) => Ok(Self(members)),
            _ => Err(InvalidForm::new("", FormFault::WrongType)),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    pub(crate) fn take<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Node) -> Result<T, InvalidForm>,
    ) -> Result<Option<T>, InvalidForm> {
        let Some(place) = self.0.iter().position(|(known, _)| known == name) else { return Ok(None) };
        let (_, node) = self.0.remove(place);
        if self.has(name) {
            return Err(InvalidForm::new(format!("/{name}"), FormFault::Twice));
        }
        read(node).map(Some).map_err(|fault| fault.below(&format!("/{name}")))
    }

    pub(crate) fn need<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Node) -> Result<T, InvalidForm>,
    ) -> Result<T, InvalidForm> {
        self.take(name, read)?.ok_or_else(|| InvalidForm::new(format!("/{name}"), FormFault::Missing))
    }

    pub(crate) fn constant(&mut self, name: &str, wanted: &str) -> Result<(), InvalidForm> {
        let found = self.need(name, text)?;
        if found == wanted { Ok(()) } else { Err(InvalidForm::new(format!("/{name}"), FormFault::Value)) }
    }

    pub(crate) fn end(self) -> Result<(), InvalidForm> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(InvalidForm::new(format!("/{}", escaped(name)), FormFault::Keyword)),
        }
    }
}

pub(crate) fn each<T>(
    node: Node,
    read: impl Fn(Node) -> Result<T, InvalidForm>,
) -> Result<Vec<T>, InvalidForm> {
    let Node::List(list) = node else { return Err(InvalidForm::new("", FormFault::WrongType)) };
    let item = |(place, node)| read(node).map_err(|fault: InvalidForm| fault.below(&format!("/{place}")));
    list.into_iter().enumerate().map(item).collect()
}

pub(crate) fn text(node: Node) -> Result<String, InvalidForm> {
    match node {
        Node::Text(text) => Ok(text),
        _ => Err(InvalidForm::new("", FormFault::WrongType)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "called like the others, which take what they read")]
pub(crate) fn boolean(node: Node) -> Result<bool, InvalidForm> {
    match node {
        Node::Bool(value) => Ok(value),
        _ => Err(InvalidForm::new("", FormFault::WrongType)),
    }
}

pub(crate) fn members(node: Node) -> Result<Map<String, Value>, InvalidForm> {
    match node {
        Node::Object(members) => Ok(node::object(members)),
        _ => Err(InvalidForm::new("", FormFault::WrongType)),
    }
}
