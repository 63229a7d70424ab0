/** One instruction, its continued lines joined. */
export interface Instruction {
  name: string;
  /** Everything after the name, arguments of the file (`${NAME}`) replaced. */
  value: string;
}

/** From one `FROM` to the next. */
export interface Stage {
  image: string;
  name: string | undefined;
  instructions: Instruction[];
}

/** A Dockerfile's stages, as far as this project uses the language: no here-documents, no other escape character. */
export function readStages(dockerfile: string): Stage[] {
  const stages: Stage[] = [];
  const args = new Map<string, string>();
  for (const { name, value } of readInstructions(dockerfile)) {
    const expanded = value.replaceAll(/\$\{(\w+)\}/g, (match, key: string) => args.get(key) ?? match);
    const [first = '', ...rest] = expanded.split(/\s+/);
    if (name === 'FROM') stages.push({ image: first, name: rest[0]?.toUpperCase() === 'AS' ? rest[1] : undefined, instructions: [] });
    else if (name === 'ARG') args.set(first.split('=')[0] ?? '', first.split('=')[1] ?? '');
    else stages.at(-1)?.instructions.push({ name, value: expanded });
  }
  return stages;
}

function readInstructions(dockerfile: string): Instruction[] {
  const lines = dockerfile.split('\n').filter((line) => !/^\s*(?:#|$)/.test(line));
  const joined = lines.join('\n').replaceAll(/\\\n\s*/g, '');
  return joined.split('\n').map((line) => {
    const [, name = '', value = ''] = /^(\w+)\s+(.*)$/.exec(line.trim()) ?? [];
    return { name: name.toUpperCase(), value: value.trim() };
  });
}

/** The values of every instruction of that name. */
export function valuesOf(stage: Stage, name: string): string[] {
  return stage.instructions.filter((instruction) => instruction.name === name).map(({ value }) => value);
}

/** `ENV A=1 B="two words"` as an object. */
export function environmentOf(stage: Stage): Record<string, string> {
  const pairs = valuesOf(stage, 'ENV').flatMap((value) => [...value.matchAll(/(\w+)=("[^"]*"|\S+)/g)]);
  return Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, value.replaceAll('"', '')]));
}

/** `COPY [--from=stage] source… target`. */
export function copiesOf(value: string): { from: string | undefined; sources: string[]; target: string } {
  const words = value.split(/\s+/);
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined;
  const target = words.pop() ?? '';
  return { from, sources: words, target };
}

/** What an ignore file that begins with `*` lets through. */
export function allowedPaths(dockerignore: string): string[] {
  const lines = dockerignore.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  if (lines[0] !== '*') throw new Error('.dockerignore must begin with "*": what is not named must stay out');
  return lines.slice(1).map((line) => {
    if (!line.startsWith('!')) throw new Error(`.dockerignore: "${line}" does not let something through`);
    return line.slice(1);
  });
}
