/**
 * Who is calling: checks the access token that comes with every request, and says where to get one.
 *
 * What this must never do: pass a token on to a third party, or take one that was issued for somebody else.
 */
import {
  type AuthInfo,
  getOAuthProtectedResourceMetadataUrl,
  hostHeaderValidationResponse,
  localhostAllowedOrigins,
  OAuthError,
  OAuthErrorCode,
  type OAuthMetadata,
  oauthMetadataResponse,
  originValidationResponse,
  requireBearerAuth,
} from '@modelcontextprotocol/server';
import { createRemoteJWKSet, jwtVerify } from 'jose';

export class Door {
  readonly #resource: URL;
  readonly #metadata: Parameters<typeof oauthMetadataResponse>[1];
  readonly #bearer: ReturnType<typeof requireBearerAuth>;

  /** Asks the authorization server for its metadata (RFC 8414) and keys. */
  static async open({ issuer, resource, scope }: { issuer: string; resource: URL; scope: string }): Promise<Door> {
    const { origin, pathname } = new URL(issuer);
    const wellKnown = new URL(`/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`, origin);
    const answer = await fetch(wellKnown, { signal: AbortSignal.timeout(10_000) });
    const metadata = (await answer.json()) as OAuthMetadata & { jwks_uri: string };
    if (metadata.issuer !== issuer) throw new Error(`${wellKnown} is of another issuer`);
    return new Door(metadata, resource, scope);
  }

  private constructor(oauthMetadata: OAuthMetadata & { jwks_uri: string }, resource: URL, scope: string) {
    this.#resource = resource;
    this.#metadata = {
      oauthMetadata,
      resourceServerUrl: resource,
      resourceName: 'GitHub example',
      scopesSupported: [scope],
      // Loopback addresses other than `localhost` are for trying things out.
      dangerouslyAllowInsecureIssuerUrl: new URL(oauthMetadata.issuer).hostname.startsWith('127.'),
    };
    const keys = createRemoteJWKSet(new URL(oauthMetadata.jwks_uri));
    const verifyAccessToken = async (token: string): Promise<AuthInfo> => {
      // RFC 9068: signed by the authorization server, meant for this very server, an access token, alive.
      const rules = { issuer: oauthMetadata.issuer, audience: resource.href, typ: 'at+jwt', algorithms: ['RS256', 'ES256'] };
      const { payload } = await jwtVerify(token, keys, { ...rules, requiredClaims: ['sub', 'exp'] }).catch(() => {
        throw new OAuthError(OAuthErrorCode.InvalidToken, 'the access token is not valid here');
      });
      return {
        token,
        clientId: String(payload.client_id ?? payload.azp ?? ''),
        scopes: String(payload.scope ?? '').split(' '),
        expiresAt: payload.exp as number,
        resource,
        extra: { sub: payload.sub },
      };
    };
    const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resource);
    this.#bearer = requireBearerAuth({ verifier: { verifyAccessToken }, requiredScopes: [scope], resourceMetadataUrl, expectedResource: resource });
  }

  /** Who is calling, or the answer to give instead. */
  async enter(request: Request): Promise<AuthInfo | Response> {
    const refused =
      hostHeaderValidationResponse(request, [this.#resource.hostname]) ??
      originValidationResponse(request, [this.#resource.hostname, ...localhostAllowedOrigins()]) ??
      oauthMetadataResponse(request, this.#metadata);
    if (refused) return refused;
    if (new URL(request.url).pathname !== this.#resource.pathname) return new Response('not found', { status: 404 });
    return this.#bearer(request);
  }
}
