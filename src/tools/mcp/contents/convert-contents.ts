import type { ContentBlock, ReadResourceResult } from '@modelcontextprotocol/client';
import type { ContentsKind } from '../../../core/tools/server-contents.ts';
import { limits } from '../../../core/limits.ts';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import type { SecretMask } from '../../../shared/secrets/secret-mask.ts';
import { withoutUndefined } from '../../../shared/json/without-undefined.ts';
import { withoutUnseen } from '../../definitions/plain-text.ts';
import { toName, toUri } from './contents-names.ts';
import { isWithheld } from './contents-rules.ts';
import { truncateText } from '../convert-tools.ts';
import { passedMeta } from '../passed-meta.ts';

/** How the entries of a list are distinguished, and which of their fields are passed on unchanged. */
const kinds = {
  resources: {
    id: 'uri',
    toId: toUri,
    fields: ['mimeType', 'size', 'annotations'],
  },
  resourceTemplates: {
    id: 'uriTemplate',
    toId: toUri,
    fields: ['mimeType', 'annotations'],
  },
  prompts: { id: 'name', toId: toName, fields: [] },
} as const satisfies Record<ContentsKind, unknown>;

/** Arguments of one prompt; the largest known ones have a handful. */
const maxArguments = 100;
/** A name is sent back as it is, so one with characters that nobody sees cannot be offered. */
// eslint-disable-next-line no-control-regex -- they are what is looked for
const unspeakable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

export type ResourceContents = ReadResourceResult['contents'][number];

interface ContentsServer {
  record: ToolServerRecord;
  mask: SecretMask;
}

/** The entries of a server's list that clients of the gateway may see, under the gateway's names. The others affect none of these. */
export function convertContents(kind: ContentsKind, entries: readonly JsonObject[], { record, mask }: ContentsServer): JsonObject[] {
  const seen = new Set<string>();
  return entries.flatMap((entry) => {
    const { id, toId, fields } = kinds[kind];
    const own = ownValue(entry, id);
    if (typeof own !== 'string' || !isSpeakable(own, kind) || seen.has(own) || isWithheld(kind, own, record)) return [];
    seen.add(own);
    const passed = Object.fromEntries(fields.flatMap((field) => (ownValue(entry, field) === undefined ? [] : [[field, entry[field]]])));
    const shown = withoutUndefined({
      name: kind === 'prompts' ? undefined : textOf(entry['name'], limits.mcpNameCharacters),
      title: textOf(entry['title'], limits.mcpNameCharacters),
      description: textOf(entry['description'], limits.mcpDescriptionCharacters),
      arguments: kind === 'prompts' ? argumentsOf(entry['arguments']) : undefined,
    });
    const meta = passedMeta(entry['_meta'], mask);
    return [{ ...mask.value({ ...shown, ...passed }), ...(meta && { _meta: meta }), [id]: toId({ server: record.id, own }) }];
  });
}

function isSpeakable(own: string, kind: ContentsKind): boolean {
  const maxCharacters = kind === 'prompts' ? limits.mcpNameCharacters : limits.mcpUriCharacters;
  return own !== '' && own.length <= maxCharacters && !unspeakable.test(own);
}

function textOf(value: JsonValue | undefined, maxCharacters: number): string | undefined {
  return typeof value === 'string' ? withoutUnseen(truncateText(value, maxCharacters)) : undefined;
}

function argumentsOf(value: JsonValue | undefined): JsonObject[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value
    .slice(0, maxArguments)
    .filter(isJsonObject)
    .map((argument) =>
      withoutUndefined({
        name: argument['name'],
        title: textOf(argument['title'], limits.mcpNameCharacters),
        description: textOf(argument['description'], limits.mcpDescriptionCharacters),
        required: argument['required'],
      }),
    );
}

/** What a server gave for a resource or prompt, as clients of the gateway get it: URIs are those by which they know it, and no credential is in it. */
export function convertContent(content: ContentBlock, server: ContentsServer): ContentBlock {
  if (content.type === 'resource') return { ...content, resource: convertResource(content.resource, server) };
  if (content.type === 'resource_link') return { ...masked(content, server), uri: uriAt(server, content.uri) };
  return masked(content, server);
}

export function convertResource(contents: ResourceContents, server: ContentsServer): ResourceContents {
  const uri = uriAt(server, contents.uri);
  if (!('blob' in contents)) return { ...masked(contents, server), uri };
  const { blob, ...rest } = contents;
  const asData = server.mask.isEmpty ? blob : server.mask.dataUrl(`${base64Start}${blob}`).slice(base64Start.length);
  return { ...masked(rest, server), uri, blob: asData };
}

const base64Start = 'data:application/octet-stream;base64,';

function uriAt({ record }: ContentsServer, own: string): string {
  return toUri({ server: record.id, own });
}

function masked<Value extends object>(value: Value, { mask }: ContentsServer): Value {
  return mask.value(value as JsonObject) as Value;
}
