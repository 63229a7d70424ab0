import type { ChatEvent, ChatMessage, ChatRequest, MessageContent } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import { limits } from '../core/limits.ts';
import type { FoundModel, ModelBackend, ModelFinder } from '../core/model.ts';
import type { RunContext } from '../core/run.ts';
import type { ToolFinder, ToolOffer } from '../core/tool.ts';
import { chooseMode, parseMode } from './choose-mode.ts';
import type { ModeChoice } from './choose-mode.ts';
import { sourceOfFile } from './cite-sources.ts';
import type { Continuations } from './continue-run.ts';
import { expandTemplate, templateValues } from './expand-template.ts';
import { runChat } from './run-chat.ts';
import { selectToolsByPrompt } from './select-tools-by-prompt.ts';
import { useFiles } from './use-files.ts';

export interface ChatServices {
  models: ModelFinder;
  tools: ToolFinder;
  continuations: Continuations;
  settings: {
    taskModel: string | undefined;
    taskModelExternal: string | undefined;
    selectionTemplate: string;
    contextTemplate: string;
    functionCalling: string;
    maxToolRounds: number;
    toolTimeoutMs: number;
  };
  newCallId: () => string;
  now: () => number;
}

/**
 * One run, from a request to its events: finds the model and the tools, chooses the mode, and runs the loop.
 * @throws GatewayError before the first event for a request that cannot be answered, amid the events for a fault of the backend.
 */
export async function* answerChat(request: ChatRequest, run: RunContext, services: ChatServices): AsyncGenerator<ChatEvent> {
  const mode = parseMode(request.mode ?? services.settings.functionCalling);
  const model = await services.models.require(request.model, run.signal);
  const offer = await services.tools.offerFor(request, run);
  const choice = chooseMode(mode, model);
  if (offer.tools.size > 0 && Number(request.parameters['n'] ?? 1) > 1) {
    throw new GatewayError(
      'invalid_request',
      'n: more than one choice cannot be combined with tools of the gateway. Send n = 1, or "tool_ids": [] to do without them.',
      { param: 'n' },
    );
  }

  const effectiveMode = offer.tools.size === 0 ? 'none' : choice.path === 'prompt' ? 'default' : 'native';
  yield {
    type: 'run-event',
    event: { type: 'run.start', data: { run_id: run.runId, model: request.model, mode: effectiveMode, tools: offer.tools.size } },
  };
  for (const warning of offer.warnings) yield { type: 'run-event', event: { type: 'warning', data: { ...warning } } };
  for (const file of request.files) yield { type: 'source', source: sourceOfFile(file) };

  const variables = templateValues(request.variables);
  const prepared = { ...request, messages: preparedMessages(request, run, { services, variables }) };
  const context = { template: services.settings.contextTemplate, isOllama: model.record.owner === 'ollama', variables };
  const withFiles = (messages: readonly ChatMessage[]): ChatMessage[] => useFiles(messages, request.files, context);
  if (offer.tools.size === 0) yield* passThrough({ ...prepared, messages: withFiles(prepared.messages) }, run, model);
  else yield* withFallback({ request: prepared, run, services, model, offer, variables, withFiles }, choice);
  yield { type: 'run-event', event: { type: 'run.end', data: { run_id: run.runId, status: 'completed' } } };
}

/** System prompts with their variables, and what earlier runs of this conversation had executed put back. */
function preparedMessages(
  request: ChatRequest,
  run: RunContext,
  { services, variables }: Pick<Preparation, 'services' | 'variables'>,
): ChatMessage[] {
  const expanded = request.messages.map((message) =>
    message.role === 'system' || message.role === 'developer'
      ? { ...message, content: expandContent(message.content, variables) }
      : message,
  );
  return services.continuations.restore(run.caller, expanded);
}

function expandContent(content: MessageContent, variables: ReadonlyMap<string, string>): MessageContent {
  if (typeof content === 'string') return expandTemplate(content, variables);
  return content.map((part) =>
    part.type === 'text' && typeof part.text === 'string' ? { ...part, text: expandTemplate(part.text, variables) } : part,
  );
}

/** Without tools of the gateway a request goes through as it is, with all its choices. */
function passThrough(request: ChatRequest, run: RunContext, model: FoundModel): AsyncGenerator<ChatEvent> {
  return model.backend.chat({
    model: model.name,
    messages: request.messages,
    tools: [],
    callerTools: [...request.callerFunctions.map((entry) => entry.wire), ...request.hostedTools],
    toolChoice: request.toolChoice,
    parallelToolCalls: request.parallelToolCalls,
    parameters: request.parameters,
    stream: request.stream,
    signal: run.signal,
  });
}

interface Preparation {
  request: ChatRequest;
  run: RunContext;
  services: ChatServices;
  model: FoundModel;
  offer: ToolOffer;
  variables: ReadonlyMap<string, string>;
  withFiles: (messages: readonly ChatMessage[]) => ChatMessage[];
}

/** In `auto`, a backend's refusal of tools is remembered, and the same request is answered by the selection pass. */
async function* withFallback(preparation: Preparation, choice: ModeChoice): AsyncGenerator<ChatEvent> {
  try {
    yield* runInMode(preparation, choice);
  } catch (error) {
    const isRefusal = error instanceof GatewayError && error.code === 'tools_unsupported';
    if (!isRefusal || !choice.mayFallBack) throw error;
    preparation.services.models.rememberNoTools(preparation.model.record.id);
    const message = `The backend has no native tool calls for ${preparation.request.model}; tools are chosen by a selection prompt.`;
    yield { type: 'run-event', event: { type: 'warning', data: { code: 'tools_unsupported', message } } };
    yield* runInMode(preparation, { ...choice, path: 'prompt', mayFallBack: false });
  }
}

async function* runInMode(preparation: Preparation, choice: ModeChoice): AsyncGenerator<ChatEvent> {
  const { request, run, services, model, offer } = preparation;
  const backend = choice.path === 'native' ? model.backend : yield* promptBackend(preparation);
  // The selection pass is one round by definition; its answer follows without another question.
  const maxRounds =
    choice.isSingleCall || choice.path === 'prompt'
      ? 1
      : Math.min(request.maxToolRounds ?? services.settings.maxToolRounds, limits.maxToolRounds);
  yield* runChat({
    backend,
    model: model.name,
    // A selection is made for the question alone; files join its answer.
    messages: choice.path === 'native' ? preparation.withFiles(request.messages) : request.messages,
    tools: offer.tools,
    callerTools: [...request.callerFunctions.map((entry) => entry.wire), ...request.hostedTools],
    callerNames: new Set(request.callerFunctions.map((entry) => entry.name)),
    toolChoice: request.toolChoice,
    parallelToolCalls: request.parallelToolCalls,
    parameters: request.parameters,
    stream: request.stream,
    maxRounds,
    announcesLimit: choice.path === 'native' && !choice.isSingleCall,
    isSingleCall: choice.isSingleCall,
    settings: { run, requestTimeoutMs: request.toolTimeoutMs, defaultTimeoutMs: services.settings.toolTimeoutMs, now: services.now },
    keepForCaller: (calls, messages) => services.continuations.keep(run.caller, calls, messages),
  });
}

/** The selection's own model where one is set and known: a small one is enough to choose, and saves the large one's time. */
async function* promptBackend({ run, services, model, variables, withFiles }: Preparation): AsyncGenerator<ChatEvent, ModelBackend> {
  const { settings } = services;
  const wanted = model.record.isLocal ? settings.taskModel : settings.taskModelExternal;
  let task = { backend: model.backend, model: model.name };
  if (wanted !== undefined) {
    try {
      const found = await services.models.require(wanted, run.signal);
      task = { backend: found.backend, model: found.name };
    } catch (error) {
      run.signal.throwIfAborted();
      if (!(error instanceof GatewayError)) throw error;
      const message = `The task model ${wanted} is not available; ${model.record.id} chooses its tools itself.`;
      yield { type: 'run-event', event: { type: 'warning', data: { code: 'task_model_unavailable', message } } };
    }
  }
  return selectToolsByPrompt({
    backend: model.backend,
    task,
    template: settings.selectionTemplate,
    variables,
    withFiles,
    newCallId: services.newCallId,
  });
}
