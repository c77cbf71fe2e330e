//! The register of every cell of the store that holds a sealed value. What stands here is sealed anew when the key
//! changes; a value sealed for another cell is stopped by the vault where debug assertions are on.

macro_rules! cells {
    ($($(#[$doc:meta])* $name:ident = $table:literal . $column:literal,)*) => {
        /// A column of the store that holds sealed values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Cell { $($(#[$doc])* $name,)* }

        impl Cell {
            /// Every cell.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its table.
            pub fn table(self) -> &'static str {
                match self { $(Self::$name => $table,)* }
            }

            /// Its column.
            pub fn column(self) -> &'static str {
                match self { $(Self::$name => $column,)* }
            }

            /// Both, as people read it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => concat!($table, ".", $column),)* }
            }
        }
    };
}

cells! {
    /// An access token and its type.
    ConnectionAccess = "connections"."access",
    /// A refresh token.
    ConnectionRefresh = "connections"."refresh",
    /// A PKCE verifier.
    AttemptVerifier = "attempts"."verifier",
    /// A response that waits for a sign-in.
    AttemptParked = "attempts"."parked",
    /// A credential that waits for the person's word.
    AttemptOffer = "attempts"."offer",
    /// A token that a provider has still to end.
    RevocationToken = "revocations"."token",
    /// The secret of a client that was registered here.
    RegistrationSecret = "client_registrations"."secret",
}

impl Cell {
    /// The cell of this table and column, if it is one.
    pub fn of(table: &str, column: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|cell| cell.table() == table && cell.column() == column)
    }
}
