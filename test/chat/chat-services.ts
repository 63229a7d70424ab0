import { answerChat } from '../../src/chat/loop/answer-chat.ts';
import type { ChatServices } from '../../src/chat/loop/prepared-chat.ts';
import { memoryContinuations } from '../_support/continuations.ts';
import { memorySeals } from '../_support/memory-stores.ts';
import { memoryTranscripts } from '../_support/transcripts.ts';
import { defaultSelectionTemplate } from '../../src/chat/modes/prompt/selection-prompt.ts';
import type { Handoff } from '../../src/chat/loop/chat-run.ts';
import { pullFrom } from '../_support/emit-and-pull.ts';
import { defaultContextTemplate } from '../../src/chat/messages/inject-file-context.ts';
import type { ChatEvent, ChatRequest } from '../../src/core/chat/chat.ts';
import type { RunContext } from '../../src/core/runs/run.ts';

/** The events of one run, pulled. */
export function answerOf(request: ChatRequest, run: RunContext, services: ChatServices): AsyncGenerator<ChatEvent, Handoff | undefined> {
  return pullFrom((emit) => answerChat(request, { run, services }, emit));
}

/** The same with the settings' defaults. */
export function answerIn(
  request: ChatRequest,
  run: RunContext,
  { models, tools, newCallId }: Pick<ChatServices, 'models' | 'tools'> & Partial<Pick<ChatServices, 'newCallId'>>,
): AsyncGenerator<ChatEvent> {
  let id = 0;
  return answerOf(request, run, {
    models,
    tools,
    continuations: memoryContinuations(),
    thoughtSeals: memorySeals(),
    transcripts: memoryTranscripts(),
    newCallId: newCallId ?? (() => `call_${++id}`),
    now: () => 0,
    settings: {
      taskModel: undefined,
      taskModelExternal: undefined,
      selectionTemplate: defaultSelectionTemplate,
      contextTemplate: defaultContextTemplate,
      functionCalling: 'auto',
      maxToolRounds: 10,
      toolTimeoutMs: 1_000,
    },
  });
}
