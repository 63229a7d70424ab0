import { copyJson, isJsonObject, ownValue, type JsonObject } from '../../../shared/json/json.ts';
import { createSecretMask, type Secret, type SecretMask } from '../../../shared/secrets/secret-mask.ts';
import { checkDocument } from '../document/check-document.ts';
import type { ConversionBudget } from '../conversion-budget.ts';
import { packOperations, type Conversion } from '../convert/convert-operations.ts';
import { unpackConversion, type PackedConversion } from '../convert/schemas/packed-schemas.ts';
import { gatherFiles, type FetchFile } from '../document/gather-files.ts';
import { readSignIn } from '../document/read-sign-in.ts';
import type { DocumentSignIn } from '../../definitions/opened-server.ts';
import { checkDocumentKind, hidingSecrets, parseDocument, parseTree } from '../document/parse-document.ts';

/** A document, and how to open it. */
export interface DocumentJob {
  /** As it came: bytes or text in JSON or YAML, or an object, which is not changed and whose depth was limited when it was read. */
  source: Uint8Array | string | JsonObject;
  /** Where it lies, if it may refer to files beside it. */
  url?: string;
  budget: ConversionBudget;
  /** Whether a validator's notes are wanted, which take as long as everything else. */
  isChecked: boolean;
  /** Secrets that were sent to fetch it, because a server may repeat them in its document. */
  secrets?: readonly Secret[];
  /** This gateway's own id: what comes through it is left out. */
  gatewayId?: string;
}

/** An opened document. */
export interface OpenedDocument<Converted = Conversion> {
  conversion: Converted;
  /** The document without its schemas, and with only the names of its paths: `info`, `servers`, security. */
  head: JsonObject;
  /** How people sign in, where the document says so. */
  signIn?: DocumentSignIn;
  /** A validator's findings, if they were requested. */
  notes: string[];
  /** Whether it is one file, so that an unchanged file is an unchanged document. */
  isOneFile: boolean;
}

const headKeys = ['openapi', 'swagger', 'info', 'servers', 'host', 'basePath', 'schemes', 'security', 'securityDefinitions', 'tags'];

/** Everything in it can be posted from one thread to another. */
export type PackedDocument = OpenedDocument<PackedConversion>;

/**
 * Parses, gathers the files that the document refers to, and converts. What it costs is taken from the job's budget.
 * @throws Error whose message says what is wrong with the document; what `fetchFile` throws is a warning.
 */
export async function openDocument(job: DocumentJob, fetchFile: FetchFile): Promise<OpenedDocument> {
  return unpackDocument(await packDocument(job, fetchFile));
}

export function unpackDocument({ conversion, ...rest }: PackedDocument): OpenedDocument {
  return { ...rest, conversion: unpackConversion(conversion) };
}

/** The same, as it is posted from a thread. */
export async function packDocument(job: DocumentJob, fetchFile: FetchFile): Promise<PackedDocument> {
  const { source, url, budget, gatewayId } = job;
  const mask = createSecretMask(job.secrets ?? []);
  const document = readSource(job, mask);
  // Before the files are added, so that references to them are not taken for faults of the document.
  const notes = job.isChecked ? await checkDocument(document, sizeOf(source)) : [];
  const gathered =
    url === undefined
      ? { warnings: [], files: 0 }
      : await gatherFiles(document, url, { fetchFile, parse: hidingSecrets(parseTree, mask.text) });
  const conversion = packOperations(document, { budget, mask, ...(gatewayId !== undefined && { gatewayId }) });
  const { renamed, omitted } = conversion;
  const signIn = readSignIn(document);
  return {
    // Paths and the names of parameters stay: requests need them.
    conversion: {
      ...conversion,
      renamed: mask.value(renamed),
      omitted: mask.value(omitted),
      warnings: mask.value([...gathered.warnings, ...conversion.warnings]),
    },
    head: headOf(document, mask),
    ...(signIn && { signIn: mask.value(signIn) }),
    notes: mask.value(notes),
    isOneFile: gathered.files === 0,
  };
}

function readSource({ source, url }: DocumentJob, mask: SecretMask): JsonObject {
  const parse = hidingSecrets(parseDocument, mask.text);
  if (typeof source === 'string') return parse(source);
  if (source instanceof Uint8Array) return parse(new TextDecoder().decode(source));
  const document = checkDocumentKind(source);
  // Gathering files writes into the document.
  return url === undefined ? document : copyJson(document);
}

function sizeOf(source: DocumentJob['source']): number {
  if (source instanceof Uint8Array) return source.byteLength;
  return (typeof source === 'string' ? source : JSON.stringify(source)).length;
}

function headOf(document: JsonObject, mask: SecretMask): JsonObject {
  const paths = ownValue(document, 'paths');
  const head = Object.fromEntries(headKeys.flatMap((key) => (ownValue(document, key) === undefined ? [] : [[key, document[key]]])));
  for (const key of ['info', 'tags']) if (head[key] !== undefined) head[key] = mask.value(head[key]);
  if (isJsonObject(paths)) head['paths'] = Object.fromEntries(Object.keys(paths).map((path) => [path, {}]));
  return head;
}
