import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { withoutComments } from '../../_support/read-source.ts';

const statement = /^(?:import|export)\s(?!type\b)[^;'"`]*?\bfrom\s+['"](?<specifier>[^'"]+)['"]/gm;

/** What a file and its imports load at once, those on demand left out: files by their URL, and packages. */
function loadedBy(entry: URL): Set<string> {
  const found = new Set<string>();
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file.href)) continue;
    found.add(file.href);
    for (const { groups } of withoutComments(readFileSync(file, 'utf8')).matchAll(statement)) {
      const specifier = groups?.['specifier'] ?? '';
      if (!specifier.startsWith('.')) found.add(specifier);
      else if (specifier.endsWith('.ts')) waiting.push(new URL(specifier, file));
    }
  }
  return found;
}

it('a gateway that issues no token does not load the authorization server', () => {
  const loaded = loadedBy(new URL('../../../src/app/build-app.ts', import.meta.url));
  expect([loaded.has('fastify'), loaded.size > 300]).toEqual([true, true]);
  expect(loaded.has('oidc-provider')).toBe(false);
  expect(loadedBy(new URL('../../../src/http/authorization-server/create-provider.ts', import.meta.url)).has('oidc-provider')).toBe(true);
});
