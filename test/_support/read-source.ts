/** A file of the project as text. `path` is relative to its root, with `/`. */
export interface SourceFile {
  path: string;
  source: string;
}

/** One import, re-export or dynamic import. */
export interface Import {
  specifier: string;
  /** `import type` or `export type` as a whole statement: nothing of it is left when it runs. */
  isTypeOnly: boolean;
}

/**
 * All imports of a file with a literal specifier. Statements are found at the beginning of a line, where the formatter puts them.
 * Comments that take whole lines are left out, so that examples in them do not count.
 */
export function importsOf(source: string): Import[] {
  const code = withoutComments(source);
  const statements = [...code.matchAll(/^(?:import|export)\s(?<clause>[^;'"`]*?)\bfrom\s+['"](?<specifier>[^'"]+)['"]/gm)];
  const bare = [...code.matchAll(/^import\s+['"](?<specifier>[^'"]+)['"]/gm)];
  const dynamic = [...code.matchAll(/\b(?:import|require)\(\s*['"](?<specifier>[^'"]+)['"]/g)];
  return [
    ...statements.map(({ groups }) => ({ specifier: groups?.['specifier'] ?? '', isTypeOnly: /^type\s/.test(groups?.['clause'] ?? '') })),
    ...[...bare, ...dynamic].map(({ groups }) => ({ specifier: groups?.['specifier'] ?? '', isTypeOnly: false })),
  ];
}

/** The source without comments that begin a line. */
export function withoutComments(source: string): string {
  return source.replaceAll(/^[ \t]*\/\*[\s\S]*?\*\//gm, '').replaceAll(/^[ \t]*\/\/.*$/gm, '');
}

/** `@scope/name/deep` → `@scope/name`; undefined for relative paths and for Node's own modules. */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('/') || specifier.startsWith('node:')) return undefined;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
