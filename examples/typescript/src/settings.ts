/** What this server is told by its environment. */

const needed = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; README.md says what it is`);
  return value;
};

/** The address of the MCP endpoint as its clients know it: the audience of their tokens. */
export const resource = new URL(process.env.RESOURCE ?? 'http://127.0.0.1:4000/mcp');
/** The authorization server that issues those tokens. */
export const issuer = needed('ISSUER');
/** The scope that a token must have. */
export const scope = process.env.SCOPE ?? 'mcp';
/** Consentry's internal listener, and this server's key for it. */
export const consentry = { url: process.env.CONSENTRY_URL ?? 'http://127.0.0.1:8081', apiKey: needed('CONSENTRY_API_KEY') };
/** How a client of the legacy era is asked: within the call, or by an error. */
export const prefer = process.env.PREFER === 'error' ? 'error' : 'request';
/** GitHub's API. */
export const github = process.env.GITHUB_API ?? 'https://api.github.com';
/** How long a call waits for the user, in seconds. */
export const patience = Number(process.env.PATIENCE ?? 600);
