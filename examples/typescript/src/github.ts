/** The tool. Everything about connecting is one call; the rest is what the tool is for. */
import type { Grant } from '@consentry/client';
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { type Connect, Unauthorized } from './connect.ts';
import { github } from './settings.ts';

export function registerGitHub(server: McpServer, connect: Connect): void {
  server.registerTool(
    'list_repositories',
    {
      title: 'List repositories',
      description: 'List the repositories in your GitHub account',
      annotations: { readOnlyHint: true },
    },
    (context) => {
      const need = { tool: 'list_repositories', provider: 'github', why: 'Connect GitHub to list your repositories.' };
      return connect.with(context, need, list);
    },
  );
}

async function list({ credential }: Grant): Promise<CallToolResult> {
  // What is done on a page of one's own gives no way into anything.
  if (credential.kind === 'redirect') throw new Error('GitHub is no page');
  const answer = await fetch(`${github}/user/repos?per_page=30&sort=pushed`, {
    headers: { accept: 'application/vnd.github+json', ...credential.use.headers },
    signal: AbortSignal.timeout(15_000),
  });
  if (answer.status === 401) throw new Unauthorized();
  if (!answer.ok) return { isError: true, content: [{ type: 'text', text: `GitHub answered with status ${answer.status}.` }] };
  const repositories = (await answer.json()) as { full_name: string }[];
  return { content: [{ type: 'text', text: repositories.map(({ full_name }) => `- ${full_name}`).join('\n') || 'There are none.' }] };
}
