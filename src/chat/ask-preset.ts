import type { ChatEvent, Usage } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import { plainRequest } from '../core/plain-request.ts';
import type { PresetBook, PresetRecord } from '../core/preset.ts';
import type { RunContext } from '../core/run.ts';
import type { AskPreset, ToolContext, ToolOutcome } from '../core/tool.ts';
import { addUsage } from '../core/usage.ts';
import { answerAsPreset } from './answer-as-preset.ts';
import type { ChatServices } from './answer-chat.ts';
import { withRest } from './succession.ts';

/** A sign of life this often keeps the caller's idle limit away. */
const signMs = 1_000;

/**
 * Runs a preset as a tool: a run within the run, with its own limits, whose usage is added to the outer one's. A preset that is at work already
 * is not asked again: two that ask each other never answer.
 */
export function createAskPreset(servicesOf: () => ChatServices & { presets: PresetBook }): AskPreset {
  return async (preset, invocation, context) => {
    const { run, args, signal } = invocation;
    const path = [...(run.presetPath ?? []), ...(run.preset === undefined ? [] : [run.preset.id])];
    const refusal = refusalOf(preset, path);
    if (refusal !== undefined) return refusal;
    // A run within a run cannot be put away: a call that needs approval is asked over the session of the outer one.
    const inner: RunContext = { ...run, presetPath: path, preset, signal, wait: undefined };
    const services = servicesOf();
    try {
      const events = withRest(
        answerAsPreset(
          plainRequest({
            model: preset.id,
            messages: [{ role: 'user', content: typeof args['request'] === 'string' ? args['request'] : '' }],
            stream: true,
          }),
          inner,
          services,
        ),
      );
      return await collect(events, context, services.now);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof GatewayError) return { type: 'error', code: 'tool_error', message: error.message };
      throw error;
    }
  };
}

function refusalOf({ id }: PresetRecord, path: readonly string[]): ToolOutcome | undefined {
  if (!path.includes(id) && path.length < limits.presetDepth) return undefined;
  const reason = path.includes(id) ? 'is at work in this call already' : 'would be one too many within another';
  return {
    type: 'error',
    code: 'tool_error',
    message: `The assistant "${id}" ${reason} (${[...path, id].join(' -> ')}). Answer without it.`,
  };
}

async function collect(events: AsyncGenerator<ChatEvent>, context: ToolContext | undefined, now: () => number): Promise<ToolOutcome> {
  let text = '';
  let usage: Usage | undefined;
  let toldAt = now();
  for await (const event of events) {
    if (event.type === 'text') text += event.text;
    else if (event.type === 'usage') usage = addUsage(usage, event.usage);
    else if (event.type === 'run-event' && event.event.type === 'tool.call') {
      toldAt = now();
      const { tool } = event.event.data;
      await context?.status(typeof tool === 'string' ? `uses ${tool}` : 'uses a tool');
    }
    if (now() - toldAt < signMs) continue;
    toldAt = now();
    await context?.progress(text.length);
  }
  const spent = usage === undefined ? {} : { usage };
  if (text.trim() === '') return { type: 'error', code: 'tool_error', message: 'The assistant gave no answer.', ...spent };
  return { type: 'result', value: text, ...spent };
}
