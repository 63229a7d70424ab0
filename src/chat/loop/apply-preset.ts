import type { ChatMessage, ChatRequest, MessageContent } from '../../core/chat/chat.ts';
import { invalidField, type GatewayError } from '../../core/errors.ts';
import type { PresetFinder, PresetRecord } from '../../core/stores/preset.ts';
import { whenThere, type MaybePromise } from '../../shared/async/maybe-promise.ts';

/** Nesting of presets that call each other as tools. */
export const presetDepth = 4;

/** A request after its presets have been applied. */
export interface PresetRequest {
  request: ChatRequest;
  /** From the preset that the request names down to the one based on a model; empty for a plain model. */
  presets: PresetRecord[];
}

/**
 * Applies a request's preset, and the presets that it is based on. The request has precedence, then the upper preset.
 * @throws GatewayError `invalid_request` for presets that are based on each other in a circle
 */
export function applyPresets(request: ChatRequest, finder: PresetFinder): MaybePromise<PresetRequest> {
  return whenThere(presetsOf(request.model, finder), (presets) => ({
    request: withInstructions(presets.reduce(applyOne, request)),
    presets,
  }));
}

/** `upper`: the presets that are based on this one, first one first. */
function presetsOf(model: string, finder: PresetFinder, upper: PresetRecord[] = []): MaybePromise<PresetRecord[]> {
  return whenThere(finder.find(model), (preset) => {
    if (preset === undefined) return upper;
    if (upper.includes(preset) || upper.length >= presetDepth) throw tooDeep([...upper, preset]);
    return presetsOf(preset.baseModel, finder, [...upper, preset]);
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

/** Instructions that a function has set replace the system prompts of the presets. */
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
  return [{ ...first, content: prependTo(first.content, system) }, ...others];
}

function prependTo(content: MessageContent, system: string): MessageContent {
  return typeof content === 'string' ? `${system}\n\n${content}` : [{ type: 'text', text: system }, ...content];
}

function tooDeep(presets: readonly PresetRecord[]): GatewayError {
  const path = presets.map(({ id }) => id).join(' -> ');
  return invalidField('model', `presets are based on each other too deeply or in a circle: ${path}. Change base_model of one of them.`);
}
