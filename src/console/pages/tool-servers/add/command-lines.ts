import type { CommandServer } from './pasted-server.ts';

/** The lines of `toolwharf.yaml` that start these servers. */
export function toConfigLines(servers: readonly CommandServer[]): string {
  return ['tool_servers:', ...servers.flatMap(entryLines)].join('\n');
}

function entryLines({ id, command, args, env, cwd }: CommandServer): string[] {
  const variables = Object.entries(env);
  return [
    `  - id: ${quoted(id)}`,
    '    type: mcp',
    `    command: ${quoted(command)}`,
    ...(args.length > 0 ? [`    args: [${args.map(quoted).join(', ')}]`] : []),
    ...(variables.length > 0 ? ['    env:', ...variables.map(([name, value]) => `      ${quoted(name)}: ${quoted(value)}`)] : []),
    ...(cwd === undefined ? [] : [`    cwd: ${quoted(cwd)}`]),
  ];
}

/** The variables of the environment that the lines refer to. */
export function variablesIn(servers: readonly CommandServer[]): string[] {
  const texts = servers.flatMap(({ command, args, env, cwd = '' }) => [command, ...args, ...Object.values(env), cwd]);
  const names = texts.flatMap((text) => Array.from(text.matchAll(placeholder), ([match]) => variableName(match)));
  return [...new Set(names)];
}

/** Of VS Code (`${input:api-key}`, `${env:API_KEY}`), and of the shell. */
const placeholder = /\$\{(?:input:|env:)?[\w.-]+\}/g;

function variableName(match: string): string {
  const name = match.replaceAll(/^\$\{(?:input:|env:)?|\}$/g, '').replaceAll(/\W+/g, '_');
  return match.startsWith('${input:') ? name.toUpperCase() : name;
}

/** JSON's strings are YAML's. `${` would begin a variable, so it is doubled where it is none. */
function quoted(text: string): string {
  const expanded = text.replaceAll(/\$\{(?:(?:input:|env:)?[\w.-]+\})?/g, (match) =>
    match.endsWith('}') ? `\${${variableName(match)}}` : '$${',
  );
  const isPlain = /^[A-Za-z][\w./-]*$/.test(expanded) && !/^(?:true|false|yes|no|on|off|null|y|n)$/i.test(expanded);
  return isPlain ? expanded : JSON.stringify(expanded);
}
