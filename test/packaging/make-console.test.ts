import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeConsole } from '../../src/packaging/make-console.ts';

interface List {
  shell: string;
  entry: string[];
  types: Record<string, string>;
}

const folder = mkdtempSync(join(tmpdir(), 'toolwharf-console-'));
let list: List;
let names: string[];

beforeAll(async () => {
  await makeConsole(folder);
  list = JSON.parse(readFileSync(join(folder, 'console-files.json'), 'utf8')) as List;
  names = Object.keys(list.types);
});
afterAll(() => rmSync(folder, { recursive: true }));

const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

/** These files and what they import, and what that imports: a browser asks for all of it. What is imported on demand is not among it. */
function loadedWith(files: readonly string[]): string[] {
  const loaded = new Set(files);
  for (const name of loaded)
    if (name.endsWith('.js')) for (const [, imported = ''] of read(name).matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) loaded.add(imported);
  return [...loaded];
}

describe('the console as it is made', () => {
  it('loads at most 100 kB for the first page, the chat', () => {
    const chat = names.filter((name) => name.startsWith('chat-page-'));
    const first = loadedWith([...list.entry, ...chat]);
    expect(chat).toHaveLength(1);
    expect(first).toEqual(expect.arrayContaining([expect.stringMatching(/^schema-form-/), expect.stringMatching(/^result-view-/)]));
    const bytes = ['shell.html', ...first].reduce((sum, name) => sum + statSync(join(folder, `${name}.br`)).size, 0);
    expect(bytes).toBeLessThanOrEqual(100_000);
    const [, told] =
      /the chat, loads about (\d+) kB/.exec(readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8')) ?? [];
    expect(Math.abs(Number(told) * 1_000 - bytes)).toBeLessThan(5_000);
  });

  it('has each file compressed, and its digest in its name', () => {
    const found = readdirSync(folder);
    for (const name of names) {
      expect(name).toMatch(/-[\w-]{8}\.(?:js|css|svg)$/);
      expect(found).toEqual(expect.arrayContaining([name, `${name}.br`, `${name}.gz`]));
    }
    expect(list.shell).toMatch(/^[\w-]{22}$/);
  });

  it('has nothing inline and nothing from elsewhere', () => {
    const shell = read('shell.html');
    expect(shell).not.toMatch(/<style|style=|<script(?![^>]* src="console\/assets\/)|\son\w+=|https?:/);
    const addresses = [...shell.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, address = '']) => address);
    expect(addresses.length).toBeGreaterThanOrEqual(3);
    expect(addresses.filter((address) => !names.includes(address.replace('console/assets/', '')))).toEqual([]);
  });

  it('never parses a text as HTML', () => {
    for (const name of names.filter((name) => name.endsWith('.js')))
      // Preact would take `dangerouslySetInnerHTML`; nothing here gives it.
      expect(read(name).replaceAll(/\w+\.innerHTML(?:=\w+\.__html|\|\||&&|!==|===)?/g, '')).not.toMatch(
        /insertAdjacentHTML|document\.write|\beval\(|new Function/,
      );
  });
});
