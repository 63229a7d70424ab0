import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ToolCallParserOptions } from '../../../src/chat/parse-tool-calls/tool-call-parser.ts';
import type { OutputCase } from './judge-output.ts';

/** The answer to a prompt, or the text of a native answer. */
export type Policy = 'prompt' | 'rescue';

export interface RecordedRun {
  id: string;
  policy: Policy;
  output: OutputCase;
}

/** The outputs in the file, or in the folder, that `MODEL_OUTPUTS` names; undefined without it. Those of both policies come twice. */
export function recordedRuns(place = process.env['MODEL_OUTPUTS']): RecordedRun[] | undefined {
  if (place === undefined) return undefined;
  const file = statSync(place).isDirectory() ? join(place, 'model-outputs.jsonl') : place;
  const lines = readFileSync(file, 'utf8').split('\n');
  const cases = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as OutputCase);
  return cases.flatMap((output) => {
    const policies: Policy[] = output.policy === 'both' ? ['prompt', 'rescue'] : [output.policy];
    return policies.map((policy) => ({ id: output.id, policy, output }));
  });
}

export function optionsOf({ tools, options }: OutputCase, policy: Policy): ToolCallParserOptions {
  return {
    tools,
    ...(policy === 'rescue' ? { isNative: true, quotes: { isQuoted: () => false } } : {}),
    ...(options?.think_open === true ? { isThinkingOpen: true } : {}),
    ...(options?.mode === 'react' ? { isReact: true } : {}),
  };
}

/**
 * The set says `both` for some answers that the gateway's own rules for native answers leave alone: a name that is not written as it is offered,
 * and bare JSON with text behind it. Nothing may run then.
 */
export function expectedOf(output: OutputCase, policy: Policy): OutputCase {
  if (policy === 'prompt') return output;
  const { expect: expected, text } = output;
  const isRenamed = expected.calls.some((call) => !hasName(text, call.name));
  const isBareWithText = expected.calls.length > 0 && /^\s*[{[]"/.test(text) && (expected.content ?? '') !== '';
  if (!isRenamed && !isBareWithText) return output;
  return { ...output, expect: { ...expected, calls: [], content: null, loose: ['content'] } };
}

function hasName(text: string, name: string): boolean {
  return text
    .split(name)
    .slice(1)
    .some((after) => !/^\w/.test(after));
}
