import { z } from 'zod';
import { backendKinds, schemaDialects, type BackendConfig, type BackendOrigin } from '../core/models/backend-config.ts';
import { withoutSlashesAtEnd } from '../shared/text/document-url.ts';
import { headerName } from '../shared/text/header-name.ts';
import { findUrlFault } from '../shared/text/http-url.ts';
import { filledFields, invalidAt, parseRecord } from './parse-record.ts';

/** Ollama allocates memory for the whole requested context: about 4 GB with a model of 8 billion parameters. */
export const defaultMaxContext = 32_768;

/** Servers of one backend. */
const maxUrls = 16;
/** The largest public list has about a thousand. */
const maxModels = 1_000;
/** A request makes three attempts at most, so later ones are never reached by it; they serve others where the first are forbidden. */
const maxFallbacks = 16;
const maxHeaders = 100;
const longestLine = 10_000;
const longestModelId = 256;
const maxRequests = 100_000;

const idPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const idProblem = 'must consist of at most 64 letters, digits and . _ -, and begin with a letter or digit';

const url = z
  .string()
  .trim()
  .max(4_000)
  .superRefine((value, context) => {
    const fault = findUrlFault(value);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: `${fault.problem}; ${fault.cure}` });
  });
const line = z
  .string()
  .max(longestLine)
  .regex(/^[^\r\n\0]+$/, 'must be one line of text');
/** A form sends an empty text for "none". */
const emptyOrLine = z.union([z.literal(''), line]).nullish();
const modelId = z.string().trim().min(1).max(longestModelId);

/** An entry of `backends` in the file, or of `POST /api/backends`. */
export const backendShape = z.strictObject({
  id: z.string().regex(idPattern, idProblem).nullish(),
  name: line.nullish(),
  type: z.enum(backendKinds),
  url: url.nullish(),
  urls: z.array(url).min(1).max(maxUrls).nullish(),
  key: emptyOrLine,
  headers: z
    .record(z.string().regex(headerName, 'is not a header name'), line)
    .refine((headers) => Object.keys(headers).length <= maxHeaders, `must have at most ${maxHeaders} entries`)
    .nullish(),
  prefix: emptyOrLine,
  models: z.array(modelId).min(1).max(maxModels).nullish(),
  max_concurrent: z.int().min(1).max(maxRequests).nullish(),
  queue: z.int().min(0).max(maxRequests).nullish(),
  fallbacks: z.array(modelId).max(maxFallbacks).nullish(),
  tool_images: z.enum(['auto', 'never']).nullish(),
  schemas: z.enum(schemaDialects).nullish(),
  max_context: z.int().min(512).max(16_777_216).nullish(),
});

/** A backend whose name may still have to be derived. */
export type UnnamedBackend = Omit<BackendConfig, 'name'> & { name?: string | undefined };

/** Checks an entry, and converts it to a backend. */
export function backendSchema(origin: BackendOrigin): z.ZodType<UnnamedBackend> {
  return backendShape
    .superRefine((entry, context) => {
      const fault = findContradiction(entry);
      if (fault !== undefined) context.addIssue({ code: 'custom', ...fault });
    })
    .transform((entry) => toBackend(entry, origin));
}

/** `taken`: names from which a derived one differs. @throws GatewayError `invalid_request`, which names the field */
export function parseBackend(value: unknown, origin: BackendOrigin, taken: ReadonlySet<string>): BackendConfig {
  const backend = nameBackend(parseRecord(backendSchema(origin), value), new Set(taken));
  // Names in the file were free before they became ids.
  if (!idPattern.test(backend.name)) throw invalidAt(['name'], idProblem);
  return backend;
}

type Entry = z.infer<typeof backendShape>;

function findContradiction({ id, name, url: one, urls, max_concurrent: maxConcurrent, queue }: Entry): Fault | undefined {
  if (id && name && id !== name) return { path: ['name'], message: 'is the older word for `id`; leave it out' };
  if (!one && !urls) return { path: ['url'], message: 'is missing; set the address of the server, or several as `urls`' };
  if (one && urls) return { path: ['urls'], message: 'replaces `url`; leave one of them out' };
  const addresses = (urls ?? []).map(withoutSlashesAtEnd);
  const twice = addresses.findIndex((address, index) => addresses.indexOf(address) < index);
  if (twice !== -1) return { path: ['urls', twice], message: 'is there twice; leave one of them out' };
  if (queue && !maxConcurrent) return { path: ['queue'], message: 'has no effect without `max_concurrent`; set that too, or leave it out' };
  return undefined;
}

interface Fault {
  path: PropertyKey[];
  message: string;
}

function toBackend(entry: Entry, origin: BackendOrigin): UnnamedBackend {
  const urls = (entry.urls ?? [entry.url ?? '']).map(withoutSlashesAtEnd);
  return {
    kind: entry.type,
    url: urls[0] ?? '',
    urls,
    name: entry.id ?? entry.name ?? undefined,
    origin,
    headers: entry.headers ?? {},
    maxContext: entry.max_context ?? defaultMaxContext,
    isExplicit: true,
    ...filledFields({
      key: entry.key,
      prefix: entry.prefix && withoutSlashesAtEnd(entry.prefix),
      models: entry.models && [...new Set(entry.models)],
      maxConcurrent: entry.max_concurrent,
      queue: entry.queue,
      fallbacks: entry.fallbacks,
      toolImages: entry.tool_images,
      schemas: entry.schemas,
    }),
  };
}

/** Names an unnamed backend after its kind, with a number from the second one on. `taken`: names that are in use; a new one is added. */
export function nameBackend(backend: UnnamedBackend, taken: Set<string>): BackendConfig {
  return { ...backend, name: backend.name ?? takeFreeName(backend.kind, taken) };
}

function takeFreeName(kind: string, taken: Set<string>): string {
  let name = kind;
  for (let number = 2; taken.has(name); number += 1) name = `${kind}-${number}`;
  taken.add(name);
  return name;
}
