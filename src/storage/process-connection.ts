import { z } from 'zod';
import { isJsonObject } from '../shared/json.ts';
import type { Origin, ToolServerRecord } from '../core/registry.ts';

/** Stands where an address is expected until the record is made; nobody is ever asked there. */
const placeholderUrl = 'http://process.invalid';
/** How answers name a process, without its arguments and its environment. */
export const processScheme = 'stdio:';
const longestUrl = 4_000;
const line = z
  .string()
  .regex(/^[^\0]*$/, 'must not hold a null character')
  .max(10_000);

const processSchema = z.object({
  id: z.string('is required for a server that is started by a command').min(1, 'is required for a server that is started by a command'),
  command: line.min(1),
  args: z.array(line).max(1_000).default([]),
  env: z.record(z.string(), z.union([line, z.number(), z.boolean()]).transform(String)).default({}),
});

export type ProcessSettings = NonNullable<ToolServerRecord['process']>;

export type ProcessConnection =
  | { type: 'none' }
  | { type: 'process'; value: object; process: ProcessSettings }
  /** As answers show one, sent back: it names a process and starts none. */
  | { type: 'named'; value: object; url: string }
  | { type: 'wrong'; path: PropertyKey[]; problem: string };

/**
 * An MCP server that is started by a command. Whoever may name a command runs what he likes with the gateway's rights: only the configuration file
 * may, whatever key a request shows.
 */
export function readProcessConnection(value: unknown, origin: Origin): ProcessConnection {
  if (!isJsonObject(value) || value['type'] !== 'mcp') return { type: 'none' };
  const { url } = value;
  if (!('command' in value) && typeof url === 'string' && url.startsWith(processScheme) && URL.canParse(url))
    return { type: 'named', value: { ...value, url: placeholderUrl }, url: url.slice(0, longestUrl) };
  if (!('command' in value)) return { type: 'none' };
  if (origin !== 'file')
    return {
      type: 'wrong',
      path: ['command'],
      problem: 'starts a process, which only a server in toolwharf.yaml may do; elsewhere give the url of a server',
    };
  const { command: _command, args: _args, env: _env, ...rest } = value;
  const info = isJsonObject(value['info']) ? value['info'] : {};
  const parsed = processSchema.safeParse({ ...value, id: value['id'] ?? info['id'] });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { type: 'wrong', path: issue?.path ?? [], problem: issue?.message ?? 'is wrong' };
  }
  const { id, command, args, env } = parsed.data;
  return { type: 'process', value: { ...rest, id, url: placeholderUrl }, process: { command, args, environment: env } };
}
