//! The whole program: made of settings, bound to its addresses, run until it is told to stop.

mod build;
#[cfg(test)]
mod tests;

use std::{net::SocketAddr, time::Duration};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use self::build::BuildError;
pub(crate) use self::build::{Purpose, assemble, barred, outbound};
use crate::{
    api,
    app::App,
    listen::{Listener, Stop, Tls, observed},
    mcp, recorder, web, workers,
};

/// A server whose addresses are bound and which does not serve yet.
pub struct Server {
    app: App,
    /// Names this process among those of its database.
    replica: Uuid,
    public: Listener,
    internal: Listener,
    tls: TlsFiles,
    drain: Duration,
}

/// The certificates of the listeners, to be read again.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles(Vec<(&'static str, Tls)>);

impl TlsFiles {
    /// Reads every certificate again. One that cannot be used is logged, and the old one stays.
    pub fn reload(&self) {
        for (listener, tls) in &self.0 {
            match tls.reload() {
                Ok(()) => tracing::info!(listener, "certificate read again"),
                Err(error) => tracing::error!(listener, %error, "the old certificate stays"),
            }
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything under way was finished.
    Drained,
    /// The time for it was over.
    CutOff,
}

impl Server {
    /// Where browsers come.
    pub fn public_addr(&self) -> SocketAddr {
        self.public.address()
    }

    /// Where MCP servers and the operator come.
    pub fn internal_addr(&self) -> SocketAddr {
        self.internal.address()
    }

    /// What handlers reach.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// To read the certificates again while the server runs.
    pub fn tls(&self) -> TlsFiles {
        self.tls.clone()
    }

    /// Serves until `shutdown`, and then drains: the public listener closes, waits and streams end, `/readyz` says no,
    /// and what is under way may finish within `listen.drain`.
    pub async fn run(self, shutdown: CancellationToken) -> Ended {
        let Self { app, replica, public, internal, drain, .. } = self;
        tracing::info!(public = %public.address(), internal = %internal.address(), "serving");
        let working = tokio::spawn(workers::run(app.clone()));
        let recording = tokio::spawn(recorder::keep(app.clone()));
        let beating = tokio::spawn(workers::beat(app.clone(), replica));
        let (browsers, callers) = (Stop::default(), Stop::default());
        let hard = browsers.hard.clone();
        let callers = Stop { hard: hard.clone(), ..callers };
        let mut serving_browsers = tokio::spawn(public.serve(
            observed(web::with(app.clone(), mcp::routes(&app)), &app.metrics, "public"),
            browsers.clone(),
        ));
        let serving_callers = tokio::spawn(
            internal.serve(observed(api::router(app.clone()), &app.metrics, "internal"), callers.clone()),
        );

        shutdown.cancelled().await;
        tracing::info!("stopping: no new work is taken");
        app.shutdown.cancel();
        browsers.gently.cancel();
        app.tasks.close();
        let finished = async {
            let _ = (&mut serving_browsers).await;
            app.tasks.wait().await;
            let _ = working.await;
            let _ = beating.await;
            // Until here `/readyz` could be asked.
            callers.gently.cancel();
            let _ = serving_callers.await;
            // What the last calls began: a refresh that was sent must not lose its answer.
            app.tasks.wait().await;
        };
        let ended = tokio::select! {
            () = finished => Ended::Drained,
            () = app.clock.sleep(drain) => Ended::CutOff,
        };
        hard.cancel();
        let _ = recording.await;
        recorder::finish(&app).await;
        if let Err(error) = app.store.leave(replica).await {
            tracing::debug!(%error, "this process is forgotten by the others in time");
        }
        app.store.shut_down().await;
        match ended {
            Ended::Drained => tracing::info!("stopped"),
            Ended::CutOff => tracing::warn!("stopped: something did not finish in time"),
        }
        ended
    }
}
