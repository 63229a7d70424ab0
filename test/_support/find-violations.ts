import { posix } from 'node:path';
import { importsOf, packageOf, withoutComments } from './read-source.ts';
import type { Import, SourceFile } from './read-source.ts';

/** What each folder of `src/` may import besides itself. Files directly in `src/`, and those in the folders of the top layer, see everything. */
const mayImport: Record<string, string[]> = {
  shared: [],
  core: ['shared'],
  workers: ['core', 'shared'],
  validation: ['core', 'shared', 'workers'],
  chat: ['core', 'shared', 'workers', 'validation'],
  models: ['core', 'shared', 'workers'],
  tools: ['core', 'shared', 'workers', 'validation'],
  relay: ['core', 'shared', 'workers'],
  storage: ['core', 'shared'],
  policy: ['core', 'shared', 'workers'],
  observability: ['core', 'shared'],
  runs: ['core', 'shared', 'chat'],
  admin: ['core', 'shared'],
  http: ['core', 'shared', 'workers', 'chat', 'relay', 'runs', 'admin'],
};

/** The top layer: they compose the others and start them. */
const topFolders = ['app', 'cli', 'packaging'];

/** Programs that ship beside the gateway: they may use its types, and run without any of it. */
const companions = ['client', 'console', 'demo'];
/** The one module that another companion may run: both are sent to browsers. */
const sharedByCompanions = 'src/client/toolwharf-client.js';

/** Who may import a package. Packages that are not listed have no home of their own. */
const homes: { packages: RegExp; files: RegExp }[] = [
  {
    packages: /^(?:fastify|@fastify\/.+)$/,
    files: /^src\/(?:http\/.+|app\/(?:build-app|register-routes)|cli\/serve|demo\/time-server)\.ts$/,
  },
  { packages: /^undici$/, files: /^src\/policy\/outbound\/(?:create-agent|outbound-request)\.ts$/ },
  { packages: /^pino(?:-pretty)?$/, files: /^src\/observability\/(?:logger|pretty-lines)\.ts$/ },
  { packages: /^oidc-provider$/, files: /^src\/http\/authorization-server\/.+\.ts$/ },
  { packages: /^oauth4webapi$/, files: /^src\/tools\/credentials\/oauth\/.+\.ts$/ },
  { packages: /^@anthropic-ai\/sdk$/, files: /^src\/models\/anthropic\/.+\.ts$/ },
  { packages: /^ollama$/, files: /^src\/models\/ollama\/.+\.ts$/ },
  { packages: /^jose$/, files: /^src\/policy\/(?:session-tokens|verify-token)\.ts$/ },
  { packages: /^yaml$/, files: /^src\/(?:tools\/openapi\/document\/parse-document|app\/config\/.+)\.ts$/ },
  { packages: /^(?:ajv|re2js)$/, files: /^src\/validation\/(?:compile-schema|count-steps)\.ts$/ },
  { packages: /^@apidevtools\/swagger-parser$/, files: /^src\/tools\/openapi\/document\/check-document\.ts$/ },
  {
    packages: /^eventsource-parser$/,
    files: /^src\/(?:models\/.+|tools\/mcp\/incoming\/normalise-stream|console\/api\/chat-over-http)\.ts$/,
  },
  {
    packages: /^zod$/,
    files: /^src\/(?:http\/.+|relay\/.+|app\/config\/.+|storage\/.+|tools\/functions\/.+|shared\/parse-to-first-issue)\.ts$/,
  },
  { packages: /^@opentelemetry\/.+$/, files: /^src\/observability\/tracing\/.+\.ts$/ },
  { packages: /^ipaddr\.js$/, files: /^src\/(?:policy\/outbound\/classify-address|http\/auth\/(?:open-mode|address-owner))\.ts$/ },
  { packages: /^@modelcontextprotocol\/client$/, files: /^src\/tools\/mcp\/.+\.ts$/ },
  { packages: /^@modelcontextprotocol\/server$/, files: /^src\/http\/mcp\/.+\.ts$/ },
  { packages: /^(?:preact|@preact\/signals|wouter-preact|marked|@tanstack\/virtual-core)$/, files: /^src\/console\/.+\.tsx?$/ },
  { packages: /^(?:highlight\.js|temml)$/, files: /^src\/console\/parts\/render\/.+\.ts$/ },
  { packages: /^unpdf$/, files: /^src\/console\/pages\/chat\/pdf\/pdf-worker\.ts$/ },
  { packages: /^openai$/, files: /^src\/(?:http\/dialects\/responses|models\/openai-responses)\/.+\.ts$/ },
  { packages: /^rolldown$/, files: /^src\/packaging\/.+\.ts$/ },
  { packages: /^(?:luxon|chrono-node)$/, files: /^src\/(?:demo|models\/demo)\/.+\.ts$/ },
];

/** Sibling folders that still import each other. The list may only become shorter. */
const mutualSiblings: readonly string[] = ['src/console/api and src/console/parts', 'src/console/pages and src/console/shell'];

const maxReadmeLines = 20;
const vagueName = /(?:^|[-./])(?:utils?|helpers?|common|misc|managers?|services?)(?:[-./]|$)/;
const readsEnvironment = /\bprocess\s*\??\.\s*env\b|\bprocess\??\.?\[\s*['"]env['"]|^import\b[^;]*\benv\b[^;]*\bfrom 'node:process'/m;

/** A schema may answer with a promise, and whoever drops that promise ends the process when it fails. */
const runsForeignSchema = /['"]~standard['"]\s*\]|\.~standard/;
const foreignSchemas = 'src/tools/mcp/incoming/find-misfit.ts';

/**
 * A generator function within another function, or as a method of an object made there; methods of a class stand two spaces in. V8 gives each closure
 * of one a hidden class in the old generation, which keeps alive what the closure reaches, and through it what was made later, until the next full
 * collection: with one per stream, 40 % of young objects survived instead of 10 %.
 */
const nestedGenerator = /^ +(?:export )?(?:async )?function\s*\*|^ {4,}(?:async )?\*(?:#?\w+|\[)[^\n]*\{$/m;

/** The first lines of published fixes: older versions have known holes that this gateway would be exposed to. */
const safeVersions: Record<string, string> = { fastify: '5.12.6', undici: '8.12.4', ws: '8.21.0' };

/** Every breach of the rules of the architecture, a line each. `files` holds the sources, the READMEs in `src`, `package.json` and `package-lock.json`. */
export function findViolations(files: readonly SourceFile[]): string[] {
  const sources = files.filter((file) => /^src\/.+\.(?:tsx?|js)$/.test(file.path));
  const manifest = parseJson(files, 'package.json') as PackageManifest;
  const dependencies = new Set(Object.keys(manifest.dependencies ?? {}));
  const dependenciesOfBuild = new Set([...dependencies, ...Object.keys(manifest.devDependencies ?? {})]);
  return [
    ...sources.flatMap((file) => [
      ...importsOf(file.source).flatMap((entry) =>
        importViolations(file.path, entry, isBuilt(file.path) || entry.isTypeOnly ? dependenciesOfBuild : dependencies),
      ),
      ...fileViolations(file),
    ]),
    ...circles(sources),
    ...siblingViolations(sources),
    ...readmeViolations(files, sources),
    ...versionViolations(manifest),
    ...lockViolations(parseJson(files, 'package-lock.json') as Lock),
  ];
}

/** What is only run or read when the bundle is made may use packages for development. */
function isBuilt(path: string): boolean {
  return path.startsWith('src/packaging/') || path.startsWith('src/console/');
}

function importViolations(path: string, entry: Import, dependencies: ReadonlySet<string>): string[] {
  const { specifier } = entry;
  const layer = layerOf(path);
  const name = packageOf(specifier);
  if (name !== undefined) return packageViolations(path, name, dependencies);
  if (specifier.startsWith('node:')) return layer === 'core' ? [`${path}: core imports ${specifier}`] : [];
  if (layer === 'top') return [];

  const target = posix.join(posix.dirname(path), specifier);
  const targetLayer = layerOf(target);
  if (targetLayer === layer) return [];
  if (companions.includes(layer))
    return entry.isTypeOnly || target === sharedByCompanions ? [] : [`${path}: ${layer} imports more than types of ${target}`];
  const allowed = mayImport[layer];
  if (allowed === undefined) return [`${path}: ${layer} is in no layer`];
  return allowed.includes(targetLayer) ? [] : [`${path}: ${layer} may not import ${target}`];
}

/** Files that import each other, be it types alone and on whatever detour: none can be read, moved or tested without the others. */
function circles(sources: readonly SourceFile[]): string[] {
  const targets = new Map(
    sources.map(({ path, source }) => [path, importsOf(source).map(({ specifier }) => posix.join(posix.dirname(path), specifier))]),
  );
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path);
    if (start !== -1) found.push(`${path}: imports itself by way of ${way.slice(start + 1).join(', ')}`);
    if (start !== -1 || done.has(path)) return;
    for (const target of targets.get(path) ?? []) visit(target, [...way, path]);
    done.add(path);
  };
  for (const path of targets.keys()) visit(path, []);
  return found;
}

/** Folders with the same parent that import each other. Neither can be understood or moved without the other. */
function siblingViolations(sources: readonly SourceFile[]): string[] {
  const examples = new Map<string, string>();
  for (const { path, source } of sources) {
    for (const { specifier } of importsOf(source)) {
      const pair = siblingsOf(path, posix.join(posix.dirname(path), specifier));
      if (pair !== undefined) examples.set(pair.join(' -> '), path);
    }
  }
  const mutual = [...examples.keys()].filter((arrow) => examples.has(arrow.split(' -> ').toReversed().join(' -> ')));
  const pairs = new Set(mutual.map((arrow) => arrow.split(' -> ').toSorted().join(' and ')));
  const isThere = (pair: string): boolean =>
    pair.split(' and ').every((folder) => sources.some(({ path }) => path.startsWith(`${folder}/`)));
  return [
    ...[...pairs].filter((pair) => !mutualSiblings.includes(pair)).map((pair) => `${pair}: sibling folders that import each other`),
    ...mutualSiblings
      .filter((pair) => isThere(pair) && !pairs.has(pair))
      .map((pair) => `${pair}: no longer import each other, so the exception has to go`),
  ];
}

/** The sibling folders that contain the two files, below their common parent; undefined if one of the files is in the parent itself. */
function siblingsOf(path: string, target: string): [string, string] | undefined {
  const [one, other] = [path.split('/'), target.split('/')];
  const depth = one.findIndex((part, index) => part !== other[index]);
  if (depth < 1 || depth >= one.length - 1 || depth >= other.length - 1) return undefined;
  return [one.slice(0, depth + 1).join('/'), other.slice(0, depth + 1).join('/')];
}

function packageViolations(path: string, name: string, dependencies: ReadonlySet<string>): string[] {
  const found: string[] = [];
  if (!dependencies.has(name)) found.push(`${path}: ${name} is not among the dependencies`);
  if (layerOf(path) === 'core') found.push(`${path}: core imports ${name}`);
  const home = homes.find((entry) => entry.packages.test(name));
  if (home !== undefined && !home.files.test(path)) found.push(`${path}: ${name} has its home elsewhere`);
  return found;
}

/** The first folder below `src`; `top` for files directly in it and in the folders of the top layer; `outside` for what lies elsewhere. */
function layerOf(path: string): string {
  const [root, folder, rest] = path.split('/', 3);
  if (root !== 'src') return 'outside';
  if (rest === undefined || folder === undefined) return 'top';
  return topFolders.includes(folder) ? 'top' : folder;
}

function fileViolations({ path, source }: SourceFile): string[] {
  const code = withoutComments(source);
  const found: string[] = [];
  if (vagueName.test(path)) found.push(`${path}: a name that says nothing`);
  if (/^export default\b|^export \{[^}]*\bas default\b/m.test(code)) found.push(`${path}: has a default export`);
  const mayReadEnvironment = path === 'src/app/config/config.ts' || /^src\/(?:packaging\/)?[\w-]+\.js$/.test(path);
  if (readsEnvironment.test(code) && !mayReadEnvironment) found.push(`${path}: reads process.env`);
  if (runsForeignSchema.test(code) && path !== foreignSchemas) found.push(`${path}: runs a Standard Schema outside ${foreignSchemas}`);
  if (nestedGenerator.test(code) && !companions.includes(layerOf(path))) found.push(`${path}: has a generator function within a function`);
  return found;
}

function readmeViolations(files: readonly SourceFile[], sources: readonly SourceFile[]): string[] {
  const folders = new Set(sources.flatMap(({ path }) => /^(src\/[^/]+)\/.+\.ts$/.exec(path)?.[1] ?? []));
  return [...folders].flatMap((folder) => {
    const readme = files.find((file) => file.path === `${folder}/README.md`);
    if (readme === undefined) return [`${folder}: has no README.md`];
    const lines = linesOf(readme.source);
    return lines > maxReadmeLines ? [`${readme.path}: ${lines} lines, at most ${maxReadmeLines} are allowed`] : [];
  });
}

interface PackageManifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

function versionViolations(manifest: PackageManifest): string[] {
  const versions = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };
  return Object.entries(versions).flatMap(([name, version]) =>
    /^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version) ? [] : [`package.json: ${name} has the range "${version}" instead of one version`],
  );
}

interface Lock {
  packages?: Record<string, { version?: string }>;
}

/** Every installed copy counts, also one that another package brought along. */
function lockViolations(lock: Lock): string[] {
  const installed = Object.entries(lock.packages ?? {});
  return Object.entries(safeVersions).flatMap(([name, oldest]) => {
    const copies = installed.filter(([path]) => path.endsWith(`node_modules/${name}`));
    if (copies.length === 0) return [`package-lock.json: ${name} is not installed, its safe version guards nothing`];
    return copies.flatMap(([path, { version = '' }]) =>
      isAtLeast(version, oldest) ? [] : [`package-lock.json: ${path} ${version} is older than ${oldest}`],
    );
  });
}

function isAtLeast(version: string, oldest: string): boolean {
  const [release = '', prerelease] = version.split('-', 2);
  const found = release.split('.').map(Number);
  const needed = oldest.split('.').map(Number);
  const index = needed.findIndex((part, position) => part !== found[position]);
  if (index === -1) return prerelease === undefined;
  return (found[index] ?? 0) > (needed[index] ?? 0);
}

function linesOf(source: string): number {
  return source.trimEnd().split('\n').length;
}

function parseJson(files: readonly SourceFile[], path: string): unknown {
  const file = files.find((entry) => entry.path === path);
  if (file === undefined) throw new Error(`${path} is missing`);
  return JSON.parse(file.source);
}
