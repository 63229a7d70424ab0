import { ownValue, type JsonObject } from '../../shared/json/json.ts';
import type { ResultStore } from '../../core/stores/result-store.ts';
import type { Tool, ToolOutcome } from '../../core/tools/tool.ts';
import { headWithin } from './truncate-result.ts';
import { trustSchema } from '../../validation/trusted-schemas.ts';

/** Bytes reserved for the line below a page. */
const footerBytes = 120;

/** The name under which it is offered. It yields to functions of servers and the caller. */
export function readerNameBeside(taken: ReadonlySet<string>): string {
  for (let count = 1; ; count++) {
    const name = count === 1 ? 'read_result' : `read_result_${count}`;
    if (!taken.has(name)) return name;
  }
}

/** A function that reads the rest of a truncated result; offered once there is one. */
export function createReadResultTool(name: string, results: ResultStore, pageBytes: number): Tool {
  return {
    spec: {
      name,
      description: 'Reads more of a result that was cut off. Use it only if the answer needs the missing part.',
      parameters: trustSchema({
        type: 'object',
        properties: {
          reference: { type: 'string', description: 'The name given where the result was cut off, for example "result_1"' },
          offset: { type: 'integer', minimum: 0, description: 'The first character to read' },
        },
        required: ['reference', 'offset'],
      }),
    },
    label: name,
    server: 'toolwharf',
    kind: 'function',
    isReadOnly: true,
    isHelper: true,
    maxResultBytes: pageBytes,
    run: async ({ args }) => readPage(args, results, pageBytes - footerBytes),
  };
}

function readPage(args: JsonObject, results: ResultStore, pageBytes: number): ToolOutcome {
  // Guaranteed by the schema.
  const reference = ownValue(args, 'reference') as string;
  const offset = ownValue(args, 'offset') as number;
  const text = results.find(reference);
  if (text === undefined) {
    const message = `There is no result '${reference.slice(0, 80)}' in this answer. Call the function that gave it again.`;
    return { type: 'error', code: 'tool_error', message };
  }
  if (offset >= text.length) {
    return {
      type: 'error',
      code: 'tool_error',
      message: `'${reference}' has ${text.length} characters; offset ${offset} is beyond its end.`,
    };
  }
  const page = headWithin(text.slice(offset), pageBytes);
  const end = offset + page.length;
  const next = end < text.length ? `read on at offset ${end}` : 'this is its end';
  return { type: 'result', value: `${page}\n[characters ${offset} to ${end} of ${text.length}; ${next}]` };
}
