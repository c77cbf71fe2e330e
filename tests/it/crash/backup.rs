//! A copy of a scene's database, and its return in the place of what came after it.

use std::fs;

use super::scene::Scene;
use crate::{contract::raw::Raw, engine::Engine};

/// What the database was.
pub(super) enum Backup {
    /// A file beside the settings.
    Sqlite(String),
    /// Another database of the same server, by its name.
    Postgres(String),
}

impl Backup {
    /// Made now. On Postgres nobody may be connected.
    pub(super) async fn of(scene: &Scene) -> Self {
        match scene.engine {
            Engine::Sqlite => {
                let copy = scene.path("backup.db").display().to_string();
                scene.raw().await.run(&format!("VACUUM INTO '{copy}'")).await;
                Self::Sqlite(copy)
            }
            Engine::Postgres => {
                let (mut admin, name) = admin(scene).await;
                let copy = format!("{name}_backup");
                admin.run(&format!("CREATE DATABASE {copy} TEMPLATE {name}")).await;
                Self::Postgres(copy)
            }
        }
    }

    /// It is the database from now on, under the same name. On SQLite nobody may have it open.
    pub(super) async fn comes_back(self, scene: &Scene) {
        match self {
            Self::Sqlite(copy) => {
                for rest in ["-wal", "-shm"] {
                    // They are there only where nobody has closed it.
                    let _ = fs::remove_file(format!("{}{rest}", scene.file()));
                }
                fs::rename(copy, scene.file()).unwrap();
            }
            Self::Postgres(copy) => {
                let (mut admin, name) = admin(scene).await;
                admin.run(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
                admin.run(&format!("ALTER DATABASE {copy} RENAME TO {name}")).await;
            }
        }
    }
}

/// A connection beside the scene's database, and that one's name.
async fn admin(scene: &Scene) -> (Raw, String) {
    let (server, name) = scene.url().rsplit_once('/').unwrap();
    (Raw::open(Engine::Postgres, &format!("{server}/postgres")).await, name.to_owned())
}
