import type { ChatMessage, ChatRequest, MessageContent } from '../../core/chat/chat.ts';
import type { GatewayError } from '../../core/errors.ts';
import { invalidField } from '../../core/errors.ts';
import type { PresetFinder, PresetRecord } from '../../core/models/preset.ts';
import { whenThere } from '../../shared/maybe-promise.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';

/** Nesting of presets that call each other as tools. */
export const presetDepth = 4;

/** A request after its presets have been applied. */
interface PresetRequest {
  request: ChatRequest;
  /** From the preset that the request names down to the one based on a model; empty for a plain model. */
  presets: PresetRecord[];
}

/**
 * Applies a request's preset, and the presets that it is based on. The request has precedence, then the upper preset. @throws GatewayError
 * `invalid_request` for presets that are based on each other in a circle
 */
export function applyPresets(request: ChatRequest, book: PresetFinder): MaybePromise<PresetRequest> {
  return whenThere(presetsOf(request.model, book), (presets) => ({
    request: withInstructions(presets.reduce(applyOne, request)),
    presets,
  }));
}

/** `upper`: those above, from the first one down. */
function presetsOf(model: string, book: PresetFinder, upper: PresetRecord[] = []): MaybePromise<PresetRecord[]> {
  return whenThere(book.find(model), (preset) => {
    if (preset === undefined) return upper;
    if (upper.includes(preset) || upper.length >= presetDepth) throw circular([...upper, preset]);
    return presetsOf(preset.baseModel, book, [...upper, preset]);
  });
}

function applyOne(request: ChatRequest, preset: PresetRecord): ChatRequest {
  return {
    ...request,
    model: preset.baseModel,
    messages:
      preset.system === undefined || request.instructions !== undefined ? request.messages : withSystem(request.messages, preset.system),
    toolIds: request.toolIds ?? toolIdsOf(preset),
    parameters: { ...preset.params, ...request.parameters },
    mode: request.mode ?? preset.mode,
    maxToolRounds: request.maxToolRounds ?? preset.maxToolRounds,
    toolTimeoutMs: request.toolTimeoutMs ?? preset.toolTimeoutMs,
  };
}

/** What a function has set stands where the system prompts of the presets would. */
function withInstructions(request: ChatRequest): ChatRequest {
  const { instructions = '' } = request;
  return instructions === '' ? request : { ...request, messages: withSystem(request.messages, instructions) };
}

function toolIdsOf({ tools }: PresetRecord): string[] | undefined {
  return tools === undefined ? undefined : [...tools];
}

/** Many chat templates accept only one system message, and only at the start. */
function withSystem(messages: readonly ChatMessage[], system: string): ChatMessage[] {
  const [first, ...others] = messages;
  if (first?.role !== 'system' && first?.role !== 'developer') return [{ role: 'system', content: system }, ...messages];
  return [{ ...first, content: joined(system, first.content) }, ...others];
}

function joined(system: string, content: MessageContent): MessageContent {
  return typeof content === 'string' ? `${system}\n\n${content}` : [{ type: 'text', text: system }, ...content];
}

function circular(presets: readonly PresetRecord[]): GatewayError {
  const path = presets.map(({ id }) => id).join(' -> ');
  return invalidField('model', `presets are based on each other too deeply or in a circle: ${path}. Change base_model of one of them.`);
}
