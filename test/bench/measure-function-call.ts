import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { prepareToolCall } from '../../src/chat/tool-calls/prepare-tool-call.ts';
import { runToolCall } from '../../src/chat/tool-calls/run-tool-call.ts';
import type { Tool } from '../../src/core/tools/tool.ts';
import { createFunctionStates } from '../../src/tools/functions/run/function-state.ts';
import { defineTool } from '../../src/tools/functions/define/define-tool.ts';
import { buildFunctionRegistry } from '../../src/tools/functions/load/function-registry.ts';
import { createFunctionSource } from '../../src/tools/functions/run/function-source.ts';
import { chatRequest, runContext } from '../_support/tools.ts';
import { microsecondsOf } from './time-work.ts';

/**
 * What the runtime adds to a function of `tools_dir`: the call is found, its arguments are parsed, checked against JSON Schema and by zod, it runs in
 * its time with a context, an input and an output guardrail, keeps state, and its result is made fit. The function does next to nothing.
 */
export async function measureFunctionCall(): Promise<number> {
  const tool = await functionOnOffer();
  const tools = new Map([[tool.spec.name, tool]]);
  const run = { ...runContext(), chatId: 'chat' };
  const settings = { run, requestTimeoutMs: undefined, defaultTimeoutMs: 5_000, now: Date.now };
  let count = 0;
  const call = async (): Promise<void> => {
    count += 1;
    const asked = { id: `call-${count}`, name: 'add', arguments: `{"left":${count},"right":2}` };
    const { outcome } = await runToolCall(await prepareToolCall(asked, tools, run), settings);
    if (outcome.type !== 'result' || outcome.value !== count + 2) throw new Error(`the call gave ${JSON.stringify(outcome)}`);
  };
  return (await microsecondsOf(call, 2_000)) / 1_000;
}

async function functionOnOffer(): Promise<Tool> {
  const add = defineTool({
    name: 'add',
    description: 'Adds two numbers',
    parameters: z.object({ left: z.number(), right: z.number().default(2) }),
    inputGuardrails: [() => undefined],
    outputGuardrails: [() => undefined],
    execute({ left, right }, { state }) {
      state.set('last', left);
      return left + right;
    },
  });
  const module = { path: 'add.ts', exports: {}, sources: new Map<string, string>() };
  const loaded = { module, offer: { functions: [add], toolsets: [] } };
  const entry = { path: module.path, loaded, problem: undefined, isSlow: false, stamps: new Map<string, string>() };
  const registry = buildFunctionRegistry([entry], { versions: new Map(), settings: [], warn: () => undefined });
  const source = createFunctionSource({
    folder: { registry: async () => registry },
    path: '.',
    states: createFunctionStates(),
    onFault: () => undefined,
  });
  const { candidates } = await source.supplyFor(undefined, runContext(), chatRequest());
  const [first] = candidates;
  if (first === undefined) throw new Error('the function is not on offer');
  return first.toTool('add');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  process.stdout.write(`a function call through the runtime: ${(await measureFunctionCall()).toFixed(4)} ms\n`);
