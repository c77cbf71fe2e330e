# Consentry as an image: `docker build -t consentry .`
#
# The program alone on a slim Debian, as a user without rights. Settings come from a file and from variables
# (docs/configuration.md), secrets from files; docs/operations.md says how to run it.

FROM rust:1.95-slim-bookworm AS build
# A C compiler is all that is needed besides Rust; the image has one.
WORKDIR /src
COPY . .
# The caches are the builder's own, so that the next build takes up where this one ended; hence the copy.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --profile dist --locked --package consentry --bin consentry \
    && cp target/dist/consentry /usr/local/bin/consentry

FROM debian:bookworm-slim
# The certificates of the platform: who Consentry trusts when it calls authorization servers and third parties.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /var/lib/consentry --shell /usr/sbin/nologin consentry \
    && install --directory --owner=consentry --group=consentry --mode=0700 /var/lib/consentry
COPY --from=build /usr/local/bin/consentry /usr/local/bin/consentry
USER 10001:10001
# The SQLite file and the first key of a trial are made here.
WORKDIR /var/lib/consentry
VOLUME /var/lib/consentry
# In a container every address is the container's; what is published decides who reaches them. 8081 is the API: never
# publish it to the internet.
ENV CONSENTRY_LISTEN__PUBLIC=0.0.0.0:8080 \
    CONSENTRY_LISTEN__INTERNAL=0.0.0.0:8081 \
    CONSENTRY_LOG__FORMAT=json
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 CMD ["consentry", "health"]
ENTRYPOINT ["consentry"]
CMD ["serve"]
