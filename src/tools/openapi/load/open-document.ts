import { isJsonObject, ownValue } from '../../../shared/json.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { createSecretMask, type Secret, type SecretMask } from '../../../shared/secrets/secret-mask.ts';
import { checkDocument } from './check-document.ts';
import type { ConversionBudget } from '../convert/conversion-budget.ts';
import { convertOperations, type Conversion } from '../convert/convert-operations.ts';
import { gatherFiles, type FetchFile } from './gather-files.ts';
import { checkDocumentKind, checkDocumentShape, hidingFaults, parseDocument } from './parse-document.ts';
import { unfoldedValues } from './unfolded-values.ts';

/** What is to be made of a document. */
export interface DocumentJob {
  /** As it came: bytes or text in JSON or YAML, or an object. An object is not changed. */
  source: Uint8Array | string | JsonObject;
  /** Where it lies, if it may refer to files beside it. */
  url?: string;
  budget: ConversionBudget;
  /** Functions that are made; the operations after that are omitted. */
  maxOperations?: number;
  /** Whether a validator's remarks are wanted: they take as long as everything else. */
  isChecked: boolean;
  /** What was sent to fetch it: a server may write that into its document. */
  secrets?: readonly Secret[];
  /** Whether the depth of an object was measured already. */
  isShallow?: boolean;
}

/** What became of it. Everything in it can be posted from one thread to another. */
export interface OpenedDocument {
  conversion: Conversion;
  /** The document without its schemas, and of its paths their names alone: `info`, `servers`, what it says about security. */
  head: JsonObject;
  /** What a validator says about it, where that was asked for. */
  remarks: string[];
  /** Whether all of it lay in one file, so that an unchanged file is an unchanged document. */
  isOneFile: boolean;
}

const headKeys = ['openapi', 'swagger', 'info', 'servers', 'host', 'basePath', 'schemes', 'security', 'securityDefinitions', 'tags'];
/** Larger documents take a validator a second and more than a hundred megabytes, and who wrote them has checked them. */
const checkedCharacters = 5_000_000;
/**
 * A validator looks at what is referred to wherever that happens, and cannot be interrupted. Real documents have at most two values a character, and
 * the largest of them 2.2 million; that many take it a few seconds.
 */
const checkedValuesPerCharacter = 10;
const checkedValues = 2_500_000;

/**
 * Parses, gathers the files that the document refers to, and converts. What it costs is taken from the job's budget.
 * @throws Error whose message says what is wrong with the document; what `fetchFile` throws is a warning.
 */
export async function openDocument(job: DocumentJob, fetchFile: FetchFile): Promise<OpenedDocument> {
  const mask = createSecretMask(job.secrets ?? []);
  const document = readSource(job, mask);
  // Before the files: references to them are no fault of the document.
  const remarks = job.isChecked ? await remarksOn(document, job.source) : [];
  const gathered =
    job.url === undefined ? { warnings: [], files: 0 } : await gatherFiles(document, job.url, { fetchFile, hide: mask.text });
  const { budget, maxOperations } = job;
  const conversion = convertOperations(document, {
    budget,
    ...(maxOperations !== undefined && { maxOperations }),
    ...(!mask.isEmpty && { hide: mask.text }),
  });
  return {
    conversion: withoutSecrets({ ...conversion, warnings: [...gathered.warnings, ...conversion.warnings] }, mask),
    head: headOf(document, mask),
    remarks: mask.value(remarks),
    isOneFile: gathered.files === 0,
  };
}

/** Paths, and the names of parameters, stay as the server has to be asked. */
function withoutSecrets(conversion: Conversion, mask: SecretMask): Conversion {
  if (mask.isEmpty) return conversion;
  const { operations, renamed, omitted, warnings } = conversion;
  // All at once, because they share what their schemas refer to.
  const specs = mask.value(operations.map(({ spec }) => ({ description: spec.description, parameters: spec.parameters })));
  return {
    ...conversion,
    operations: operations.map((operation, index) => ({ ...operation, spec: { ...operation.spec, ...specs[index] } })),
    renamed: mask.value(renamed),
    omitted: mask.value(omitted),
    warnings: mask.value(warnings),
  };
}

function readSource({ source, isShallow, url }: DocumentJob, mask: SecretMask): JsonObject {
  const parse = hidingFaults(parseDocument, mask.text);
  if (typeof source === 'string') return parse(source);
  if (source instanceof Uint8Array) return parse(new TextDecoder().decode(source));
  const document = isShallow === true ? checkDocumentKind(source) : checkDocumentShape(source);
  // Gathering files writes into the document.
  return url === undefined ? document : structuredClone(document);
}

async function remarksOn(document: JsonObject, source: DocumentJob['source']): Promise<string[]> {
  const characters =
    source instanceof Uint8Array ? source.byteLength : (typeof source === 'string' ? source : JSON.stringify(source)).length;
  if (characters > checkedCharacters)
    return [`The document has more than ${checkedCharacters} characters, so it was not checked against the specification.`];
  if (unfoldedValues(document) > Math.min(checkedValues, characters * checkedValuesPerCharacter))
    return ['The references of the document lead to so much that it was not checked against the specification.'];
  return checkDocument(document);
}

function headOf(document: JsonObject, mask: SecretMask): JsonObject {
  const paths = ownValue(document, 'paths');
  const head = Object.fromEntries(headKeys.flatMap((key) => (ownValue(document, key) === undefined ? [] : [[key, document[key]]])));
  for (const key of ['info', 'tags']) if (head[key] !== undefined) head[key] = mask.value(head[key]);
  if (isJsonObject(paths)) head['paths'] = Object.fromEntries(Object.keys(paths).map((path) => [path, {}]));
  return head;
}
