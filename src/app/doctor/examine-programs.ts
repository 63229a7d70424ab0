import type { Finding } from '../../core/finding.ts';
import { documentsAtRoot, mcpResource } from '../../http/authorization-server/addresses.ts';
import { isLoopbackName } from '../../http/auth/open-mode.ts';
import type { Config } from '../config/config.ts';
import { note, ok, warning } from './finding.ts';

/** Whether programs can sign in at `/mcp`, and what the proxy in front of the gateway has to do for it. */
export function examinePrograms({ publicUrl, mcpOauthIssuer: foreignIssuer }: Pick<Config, 'publicUrl' | 'mcpOauthIssuer'>): Finding[] {
  if (publicUrl === undefined) return [];
  const issuer = foreignIssuer ?? 'this gateway';
  const known = `Programs such as claude.ai, ChatGPT and VS Code can connect to ${mcpResource(publicUrl)}, with tokens of ${issuer}`;
  const lines = documentsAtRoot(publicUrl).filter(({ path }) => foreignIssuer === undefined || path.includes('protected-resource'));
  const { host, hostname, protocol } = new URL(publicUrl);
  const isReadable = protocol === 'http:' && !isLoopbackName(hostname);
  return [
    isReadable
      ? warning(`${known}; keys and tokens go there unencrypted, and most programs refuse that`, 'Set PUBLIC_URL to an https address.')
      : ok(known),
    ...lines.map(({ path, target }) =>
      note(
        `PUBLIC_URL has a path, and programs look for a document at the root of ${host}: ${path}`,
        `The proxy has to pass it on, in nginx: location = ${path} { proxy_pass http://<gateway>${target}; }`,
      ),
    ),
  ];
}
