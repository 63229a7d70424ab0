import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Manifest {
  name: string;
  version: string;
  license?: string;
}

/**
 * The licences of the packages that these files come from, as one text: most of them have to be passed on with the code.
 * @throws Error for a package that names no licence
 */
export function collectLicenses(files: readonly string[]): string {
  const folders = new Set(
    files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file.replaceAll('\\', '/'))?.[0] ?? []),
  );
  const sections = new Map([...folders].map((folder) => describe(folder)));
  const intro = 'The programs in this folder contain the packages below, under these licences.';
  const sorted = [...sections].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return [intro, ...sorted.map(([title, text]) => `${title}\n\n${text}`)].join(`\n\n${'='.repeat(80)}\n\n`).concat('\n');
}

function describe(folder: string): [title: string, text: string] {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  if (license === undefined) throw new Error(`${name} names no licence; look whether it may be passed on`);
  const texts = readdirSync(folder).filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file));
  const text = texts.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n');
  return [`${name} ${version} (${license})`, text === '' ? `Licence: ${license}` : text];
}
