import type { ChatMessage, ChatRequest, MessageContent } from '../../core/chat/chat.ts';
import type { RunContext } from '../../core/runs/run.ts';
import { whenThere, type MaybePromise } from '../../shared/async/maybe-promise.ts';
import { weigh } from '../../shared/json/weigh.ts';
import { createTemplateBudget, expandTemplate } from '../messages/expand-template.ts';
import { inlineToolResults } from '../messages/inline-tool-results.ts';
import { openReturned } from '../thoughts/open-returned.ts';
import { fallbacksOf } from './fall-back.ts';
import type { PreparedChat } from './prepared-chat.ts';

/** Expands variables in system prompts, and restores what earlier runs of this conversation have done. @throws GatewayError `overloaded` */
export function prepareMessages(
  request: ChatRequest,
  run: RunContext,
  { services, variables, model: found, hasTools }: Pick<PreparedChat, 'services' | 'variables' | 'model'> & { hasTools: boolean },
): MaybePromise<ChatMessage[]> {
  const { model = request.model } = run;
  const isInline = request.hasExecutedCalls === true && !hasTools && request.callerFunctions.length === 0;
  const withTranscripts = services.transcripts.restore(run.caller, expandVariables(request.messages, variables), {
    model,
    hasTools,
    isTask: request.purpose === 'task',
  });
  const fallbacks = fallbacksOf(run, found);
  const opening = { callerId: run.caller.id, model: found.record, fallbacks, seals: services.thoughtSeals };
  const restoring = whenThere(withTranscripts, (messages) =>
    services.continuations.restore(run.caller, openReturned(messages, opening), { model: found.record.id, fallbacks }),
  );
  const counted = restoring instanceof Promise ? restoring.then((messages) => holdRestored(messages, request, run)) : restoring;
  return isInline ? whenThere(counted, inlineToolResults) : counted;
}

/** What is restored may be a thousand times larger than the request. @throws GatewayError `overloaded` */
function holdRestored(messages: ChatMessage[], request: ChatRequest, { hold }: RunContext): ChatMessage[] {
  const sent = new Set(request.messages);
  hold?.(weigh(messages.filter((message) => !sent.has(message))));
  return messages;
}

/** The same messages where they have no instructions. */
export function expandVariables(messages: ChatMessage[], variables: ReadonlyMap<string, string>): ChatMessage[] {
  if (!messages.some(isInstruction)) return messages;
  const budget = createTemplateBudget();
  const expand = (template: string): string => expandTemplate(template, variables, budget);
  return messages.map((message) => (isInstruction(message) ? { ...message, content: expandContent(message.content, expand) } : message));
}

function isInstruction(message: ChatMessage): message is Extract<ChatMessage, { role: 'system' | 'developer' }> {
  return message.role === 'system' || message.role === 'developer';
}

function expandContent(content: MessageContent, expand: (template: string) => string): MessageContent {
  if (typeof content === 'string') return expand(content);
  return content.map((part) => (part.type === 'text' && typeof part.text === 'string' ? { ...part, text: expand(part.text) } : part));
}
