import type { Tool, ToolOutcome } from '../../../core/tools/tool.ts';
import { nearestWord } from '../../../shared/text/nearest-word.ts';
import { cutSchema } from './cut-schema.ts';
import { findPart } from './find-part.ts';
import { charactersPerToken } from '../../definitions/lazy-spec.ts';
import { trustSchema } from '../../../validation/trusted-schemas.ts';
import { functionTokens } from './cut-spec.ts';

/** One description: half of what a function may take, because several of them stay in the conversation. */
const partCharacters = (functionTokens / 2) * charactersPerToken;

/** Characters of a model's text that an error repeats. */
const shownCharacters = 200;
/** Names in an error. */
const shownNames = 40;
/** Characters of the function's own description, if no part is requested. */
const describedCharacters = 4_000;

/** A function by which a model reads any part of the parameters of `tools`, all of them by their offered names. `name` must be free. */
export function createDescribeFunction(name: string, tools: ReadonlyMap<string, Tool>): Tool {
  return {
    spec: {
      name,
      description:
        'Describes parameters of a function that are shortened in its definition. Use it before a call that needs a part of them, ' +
        'then call the function itself with all of its arguments.',
      parameters: trustSchema({
        type: 'object',
        properties: {
          name: { type: 'string', description: 'The name of the function' },
          pointer: { type: 'string', description: 'The pointer after "More:", such as "/spec/template"; omit it for the top level' },
        },
        required: ['name'],
      }),
    },
    label: name,
    server: 'toolwharf',
    kind: 'function',
    isReadOnly: true,
    isHelper: true,
    // Texts by the schema.
    run: async ({ args }) => describe(tools, args['name'] as string, (args['pointer'] ?? '') as string),
  };
}

function describe(tools: ReadonlyMap<string, Tool>, name: string, pointer: string): ToolOutcome {
  const tool = tools.get(name.trim());
  if (tool === undefined) return refusal(unknownFunction(tools, name));
  const { name: offered, description, parameters } = tool.whole ?? tool.spec;
  const found = findPart(parameters, pointer);
  if (found.type === 'unknown') return refusal(unknownPointer(offered, found));
  const { part } = found;
  const { schema } = cutSchema(parameters, partCharacters, part);
  const head =
    part.pointer === ''
      ? { name: offered, description: description.slice(0, describedCharacters) }
      : { name: offered, pointer: part.pointer };
  // Every described function can be called.
  return { type: 'result', value: { ...head, schema }, offers: [offered] };
}

function refusal(message: string): ToolOutcome {
  return { type: 'error', code: 'tool_error', message };
}

function unknownFunction(tools: ReadonlyMap<string, Tool>, name: string): string {
  const shown = name.slice(0, shownCharacters);
  const names = [...tools.keys()];
  const nearest = names.length === 0 ? '' : ` The nearest is "${nearestWord(shown, names).word}".`;
  return `There is no function "${shown}".${nearest}`;
}

function unknownPointer(name: string, { pointer, token, members }: { pointer: string; token: string; members: readonly string[] }): string {
  const location = pointer === '' ? `the parameters of ${name}` : `"${pointer}"`;
  const missing = token.slice(0, shownCharacters);
  if (members.length === 0) return `There is no "${missing}" in ${location}, which has no named members.`;
  const nearest = nearestWord(missing, members).word;
  const shown = [nearest, ...members.filter((member) => member !== nearest)].slice(0, shownNames);
  const rest = members.length > shown.length ? ` and ${members.length - shown.length} others` : '';
  return `There is no "${missing}" in ${location}. It has, nearest first: ${shown.join(', ')}${rest}.`;
}
