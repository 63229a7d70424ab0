import type { ToolServerRecord } from '../../core/registry.ts';
import { isJsonObject } from '../../shared/json.ts';
import { nearestWord } from '../../shared/nearest-word.ts';
import type { CredentialPlace, CredentialSet, Operation } from '../openapi/operation.ts';
import { configValue } from './server-rules.ts';

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
];
/** Longer keys are not misspelt ones; frontends have keys of their own here. */
const longestKey = 40;
const mostChanges = 2;

/** Unknown keys in `config` are kept, because frontends have some. One that only looks like a known one lifts a protection unseen. */
export function lintConfig({ extra }: Pick<ToolServerRecord, 'extra'>): string[] {
  const { config } = extra;
  if (!isJsonObject(config)) return [];
  const bare = (word: string): string => word.replaceAll(/[_-]/g, '');
  return Object.keys(config).flatMap((key) => {
    if (configKeys.includes(key) || key.length > longestKey) return [];
    const { word, changes } = nearestWord(bare(key), configKeys.map(bare));
    const meant = configKeys.find((name) => bare(name) === word);
    return changes > mostChanges || meant === undefined
      ? []
      : [`config holds "${key}", which means nothing here. Did you mean "${meant}"?`];
  });
}

/** A name that is misspelt protects nothing, and nothing says so at the call. `renamed`: the document's own names. */
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
  return [`needs_approval names ${unknown.join(', ')}, which is no function on offer here: nothing waits for it. Correct the name.`];
}

const namedPlaces = 4;

/**
 * Without the key of a connection functions are offered, and each call is refused. A document may also declare credentials that nothing asks for,
 * so this is a warning and no error. The connection's own headers may be credentials, and are taken for such.
 */
export function lintCredential(functions: readonly { security?: CredentialSet[] }[], record: ToolServerRecord): string[] {
  const { authType, key = '', headers } = record;
  if (authType === 'session' || (authType !== 'none' && key !== '') || Object.keys(headers).length > 0) return [];
  const places = [...new Set(functions.flatMap(({ security = [] }) => security.flat().map(nameOf)))].slice(0, namedPlaces);
  if (!functions.some(({ security = [] }) => security.length > 0)) return [];
  return [
    `The document speaks of credentials (${places.join(', ')}), and this connection sends none: calls that need one are refused. ` +
      'Set "auth_type" and "key".',
  ];
}

function nameOf(place: CredentialPlace): string {
  if (place.kind === 'bearer') return 'a bearer key';
  return place.kind === 'basic' ? 'user and password' : `${place.kind} ${place.name}`;
}

/** As `describeOperation` writes them where a document says nothing. */
const onlyMethodAndPath = /^[A-Z]+ \/\S*(?: \([^)]*\))?(?:$|\. )/;
const namedFunctions = 5;

/** What a model has little to go by will be called at the wrong time or never. */
export function lintDescriptions(functions: readonly Operation[]): string[] {
  const bare = functions.filter(({ spec }) => spec.description.trim() === '' || onlyMethodAndPath.test(spec.description));
  if (bare.length === 0) return [];
  const names = bare.slice(0, namedFunctions).map(({ spec }) => spec.name);
  const rest = bare.length > names.length ? ` and ${bare.length - names.length} more` : '';
  return [
    `A model has only method and path to go by for ${names.join(', ')}${rest}. Give each a description or a summary in the document.`,
  ];
}
