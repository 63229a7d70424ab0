import type { JsonObject } from '../../shared/json.ts';
import type { Tool } from '../../core/tool.ts';
import { prepareToolCall, type CallingRun } from './prepare-tool-call.ts';

export interface ShownFunction {
  /** The offered name. */
  name: string;
  parameters: JsonObject;
}

/** Why arguments that a human has changed do not fit the function, in words for that human; undefined where they do. */
export async function objectionTo(args: JsonObject, { name, parameters }: ShownFunction, run: CallingRun): Promise<string | undefined> {
  const shown: Tool = {
    spec: { name, description: '', parameters },
    label: name,
    server: '',
    kind: 'function',
    run: () => Promise.reject(new Error('only its schema is asked for')),
  };
  const prepared = await prepareToolCall({ id: '', name, arguments: JSON.stringify(args) }, new Map([[name, shown]]), run);
  return prepared.type === 'refused' ? prepared.message : undefined;
}
