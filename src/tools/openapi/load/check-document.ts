import type { OpenAPI } from 'openapi-types';
import type { JsonObject } from '../../../shared/json.ts';

const maxRemarks = 20;
const remarkCharacters = 300;
const heading = 'Swagger schema validation failed.';

/** Nothing outside the document is opened: by default this library reads local files and fetches addresses. */
const closed = { resolve: { external: false, file: false, http: false } } as const;

/**
 * What a validator of the specification says about a document, one short line a remark; empty when it is valid. For reports only: ten of the
 * fifty-seven real documents that were measured are invalid and perfectly usable. Never rejects.
 */
export async function checkDocument(document: JsonObject): Promise<string[]> {
  const { default: SwaggerParser } = await import('@apidevtools/swagger-parser');
  try {
    await SwaggerParser.validate(structuredClone(document) as unknown as OpenAPI.Document, closed);
    return [];
  } catch (error) {
    return remarksOf(error);
  }
}

function remarksOf(error: unknown): string[] {
  const message = error instanceof Error ? error.message : String(error);
  const lines = message.split('\n').map((line) => line.trim().slice(0, remarkCharacters));
  const remarks = lines.filter((line) => line !== '' && line !== heading);
  return [...new Set(remarks.length > 0 ? remarks : [heading])].slice(0, maxRemarks);
}
