import type { ToolServerRecord } from '../../core/stores/registry.ts';
import { isJsonObject } from '../../shared/json/json.ts';
import { nearestWord } from '../../shared/text/nearest-word.ts';
import type { CredentialLocation, CredentialSet, Operation } from '../definitions/operation.ts';
import { configValue } from '../definitions/server-rules.ts';

const configKeys = [
  'enable',
  'default',
  'function_name_filter_list',
  'tags',
  'methods',
  'read_only',
  'needs_approval',
  'parallel',
  'repeats',
  'timeout_ms',
  'max_result_bytes',
  'execution',
  'public_headers',
];
/** A longer key is not a typo but a frontend's own. */
const maxKeyLength = 40;
const maxEdits = 2;

/** Unknown keys in `config` are kept, because frontends store some. But a misspelt one silently disables a protection, so it is reported. */
export function lintConfig({ extra }: Pick<ToolServerRecord, 'extra'>): string[] {
  const { config } = extra;
  if (!isJsonObject(config)) return [];
  const bare = (word: string): string => word.replaceAll(/[_-]/g, '');
  return Object.keys(config).flatMap((key) => {
    if (configKeys.includes(key) || key.length > maxKeyLength) return [];
    const { word, changes } = nearestWord(bare(key), configKeys.map(bare));
    const meant = configKeys.find((name) => bare(name) === word);
    return changes > maxEdits || meant === undefined
      ? []
      : [`config has the unknown key "${key}", which is ignored. Did you mean "${meant}"?`];
  });
}

/** A misspelt name protects nothing, and nothing reports that when the function is called. `renamed`: the document's own names. */
export function lintApprovals(
  functions: readonly { name: string }[],
  renamed: readonly { from: string }[],
  record: ToolServerRecord,
): string[] {
  const wanted = configValue(record, 'needs_approval');
  if (!Array.isArray(wanted)) return [];
  const names = functions.flatMap(({ name }) => [name, `${record.id}/${name}`, `server:${record.id}/${name}`]);
  const known = new Set([...names, ...renamed.map(({ from }) => from)]);
  const unknown = wanted.filter((name) => typeof name !== 'string' || !known.has(name)).map((name) => JSON.stringify(name));
  if (unknown.length === 0) return [];
  return [
    `needs_approval names ${unknown.join(', ')}, but this server offers no such function, so the entry has no effect. Correct the name.`,
  ];
}

/** An entry that blocks nothing protects nothing. Filters of MCP servers also name prompts and resources, which are not listed here. */
export function lintBlocks(operations: readonly Operation[], { functionFilter, tags, type }: ToolServerRecord): string[] {
  if (type === 'mcp') return [];
  const lists = {
    function_name_filter_list: { entries: functionFilter, known: operations.flatMap(({ operationId, spec }) => [operationId, spec.name]) },
    tags: { entries: tags, known: operations.flatMap((operation) => operation.tags ?? []) },
  };
  return Object.entries(lists).flatMap(([list, { entries, known }]) => {
    const names = new Set(known);
    const idle = entries.filter((entry) => entry.startsWith('!') && !names.has(entry.slice(1))).map((entry) => JSON.stringify(entry));
    return idle.length === 0 ? [] : [`${list} has ${idle.join(', ')}, which blocks nothing on this server. Correct the name.`];
  });
}

const maxNamedSchemes = 4;

/**
 * Without its key a connection offers functions, but the server refuses each call. This is only a warning, because documents also declare credentials
 * that nothing requires. The connection's own headers are assumed to be credentials.
 */
export function lintCredential(functions: readonly { security?: CredentialSet[] }[], record: ToolServerRecord): string[] {
  const { authType, key = '', headers, isPerUser } = record;
  if (
    isPerUser === true ||
    authType === 'session' ||
    authType === 'oauth' ||
    (authType !== 'none' && key !== '') ||
    Object.keys(headers).length > 0
  )
    return [];
  const schemes = [...new Set(functions.flatMap(({ security = [] }) => security.flat().map(nameOf)))].slice(0, maxNamedSchemes);
  if (!functions.some(({ security = [] }) => security.length > 0)) return [];
  return [
    `The document declares credentials (${schemes.join(', ')}), but this connection sends none: calls that need one will be rejected. ` +
      'Set "auth_type" and "key".',
  ];
}

function nameOf(location: CredentialLocation): string {
  if (location.kind === 'bearer') return 'a bearer key';
  return location.kind === 'basic' ? 'user and password' : `${location.kind} ${location.name}`;
}

/** The form in which `describeOperation` describes an operation without a description. */
const onlyMethodAndPath = /^[A-Z]+ \/\S*(?: \([^)]*\))?(?:$|\. )/;
const maxNamedFunctions = 5;

/** A model calls a function without a description at the wrong time, or never. */
export function lintDescriptions(functions: readonly Operation[]): string[] {
  const bare = functions.filter(({ spec }) => spec.description.trim() === '' || onlyMethodAndPath.test(spec.description));
  if (bare.length === 0) return [];
  const names = bare.slice(0, maxNamedFunctions).map(({ spec }) => spec.name);
  const rest = bare.length > names.length ? ` and ${bare.length - names.length} more` : '';
  return [
    `These functions have no description, so a model knows only their method and path: ${names.join(', ')}${rest}. Add a description or a summary to each in the document.`,
  ];
}
