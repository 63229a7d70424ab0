import { toHttpUrl } from '../../../parts/forms/http-url.ts';
import { toId, toRemote } from './pasted-server.ts';
import type { CommandServer, RemoteServer } from './pasted-server.ts';

interface Started {
  command: string;
  args: readonly string[];
}

const launchers = new Set(
  'npx npm pnpm pnpx yarn bun bunx deno node tsx uvx uv pipx python python3 py docker podman nerdctl go java dotnet cargo ruby php bash sh cmd'.split(
    ' ',
  ),
);

/** A command line, as it is copied from a README. Undefined if it does not look like one. */
export function readCommand(text: string): CommandServer | RemoteServer | undefined {
  const words = splitWords(
    text
      .trim()
      .replace(/^[$>] /, '')
      .replaceAll(/\\\r?\n/g, ' '),
  );
  const start = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  const [command, ...args] = start < 0 ? [] : words.slice(start);
  if (command === undefined) return undefined;
  const isPath = /^(?:\.{0,2}\/|\$\{\w+\}\/|[A-Za-z]:[\\/])/.test(command);
  if (!isPath && !launchers.has(command.replace(/\.(?:exe|cmd)$/i, ''))) return undefined;
  const env = Object.fromEntries(
    words.slice(0, start).map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
  );
  return toCommandServer({ command, args }, env);
}

/** Words of a shell, with quotes and escaped characters. Its variables get the form that the configuration file has. */
function splitWords(line: string): string[] {
  const words = line
    .replaceAll(/(?<=^|[\s=])~(?=\/)/g, '${HOME}')
    .replaceAll(/\$(?=[A-Za-z_])(\w+)/g, '${$1}')
    .matchAll(/(?:[^\s"'\\]|\\[^]|"(?:\\[^]|[^"\\])*"|'[^']*')+/g);
  return Array.from(words, ([word]) => word.replaceAll(/\\[^]|"(?:\\[^]|[^"\\])*"|'[^']*'/g, unquote));
}

function unquote(part: string): string {
  if (part.startsWith('\\')) return part.slice(1);
  const inner = part.slice(1, -1);
  return part.startsWith('"') ? inner.replaceAll(/\\([^])/g, '$1') : inner;
}

/** `mcp-remote` only passes on what a server at a URL says, so the gateway connects to the URL itself. */
export function toCommandServer(started: Started, env: Readonly<Record<string, string>>): CommandServer | RemoteServer {
  return findRemote(started.args) ?? { kind: 'command', id: nameOf(started), ...withInput(started), env };
}

function findRemote(args: readonly string[]): RemoteServer | undefined {
  const at = args.findIndex((word) => /^(?:mcp-remote|supergateway)(?:@|$)/.test(word));
  const url = args.slice(at + 1).find((word) => /^https?:/.test(word));
  if (at < 0 || url === undefined || toHttpUrl(url) === undefined) return undefined;
  const headers = args.flatMap((word, index) => (args[index - 1] === '--header' ? [splitHeader(word)] : []));
  return toRemote('', url, Object.fromEntries(headers));
}

function splitHeader(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

/** A container's standard input is closed without `-i`, and the server with it. */
function withInput({ command, args }: Started): Started {
  const [verb, ...others] = args;
  const isContainer = /^(?:docker|podman|nerdctl)(?:\.exe)?$/.test(command) && verb === 'run';
  const hasInput = others.some((word) => /^-[a-z]*i[a-z]*$/.test(word) || word === '--interactive');
  return { command, args: isContainer && !hasInput ? ['run', '-i', ...others] : args };
}

/** Options of `docker run`, `npx` and `uvx` that are followed by a value. */
const withValue = new Set(
  '-e --env --env-file -v --volume --mount -p --publish --name --network --net -w --workdir -u --user --package --from --with --python --directory'.split(
    ' ',
  ),
);

/** `npx -y @modelcontextprotocol/server-filesystem /srv` is `filesystem`, and `docker run mcp/time:1` is `time`. */
function nameOf({ command, args }: Started): string {
  const words = args.filter((word, index) => !word.startsWith('-') && !withValue.has(args[index - 1] ?? ''));
  const isVerb = (word: string): boolean => /^(?:run|exec|dlx|x|tool|\/c|-c)$/.test(word);
  const subject = words.find((word) => !isVerb(word)) ?? command;
  const last =
    subject
      .replace(/(?<=.)@[^@/]*$/, '')
      .split(/[\\/]/)
      .at(-1) ?? '';
  const plain = last
    .replace(/:[^:]*$/, '')
    .replace(/\.(?:js|mjs|cjs|ts|py|exe|jar)$/i, '')
    .replace(/^(?:mcp-server-|server-|mcp-)/, '')
    .replace(/(?:-mcp-server|-mcp|-server)$/, '');
  return toId(plain) || 'mcp';
}
