import type { JsonObject } from '../core/json.ts';
import type { Tool } from '../core/tool.ts';
import { prepareToolCall } from './prepare-tool-call.ts';

export interface ShownFunction {
  /** The offered name. */
  name: string;
  parameters: JsonObject;
}

/** Why arguments that a human has changed do not fit the function, in words for that human; undefined where they do. */
export function objectionTo(args: JsonObject, { name, parameters }: ShownFunction): string | undefined {
  const shown: Tool = {
    spec: { name, description: '', parameters },
    label: name,
    server: '',
    kind: 'function',
    run: () => Promise.reject(new Error('only its schema is asked for')),
  };
  const prepared = prepareToolCall({ id: '', name, arguments: JSON.stringify(args) }, new Map([[name, shown]]));
  return prepared.type === 'refused' ? prepared.message : undefined;
}
