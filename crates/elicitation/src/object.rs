//! An object is read from a JSON object alone. What serde derives would take a list as well, with the members in the order
//! in which they happen to be declared here, and that is no message of the protocol.

use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Reads a structure as a map.
pub(crate) struct Object<D>(pub(crate) D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Object<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// For a type with `#[serde(remote = "Self")]`: the derived functions, but reading objects alone.
macro_rules! object {
    ($type:ty) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                <$type>::serialize(self, to)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                <$type>::deserialize($crate::object::Object(from))
            }
        }
    };
}
pub(crate) use object;
