import type { FoundModel, ModelBackend, ModelRequest } from '../../core/models/model.ts';
import type { ModelEvent } from '../../core/chat/chat.ts';
import type { Emit } from '../../shared/async/emit.ts';
import { withModelHooks, type HookedRun } from '../hooks/hook-model.ts';
import { withFilesAtEachTurn } from '../messages/consume-files.ts';
import type { RunPictures } from '../messages/run-pictures.ts';
import type { ModeChoice } from '../modes/choose-mode.ts';
import { askOnceMore } from '../modes/ask-once-more.ts';
import { learnNoTools } from '../modes/learn-no-tools.ts';
import { answerFromResults, hasCalled } from '../modes/native/answer-from-results.ts';
import { recoverLeakedCalls } from '../modes/native/recover-leaked-calls.ts';
import { replayReasoning } from '../modes/native/replay-reasoning.ts';
import { showPictures } from '../modes/show-pictures.ts';
import { selectToolsByPrompt } from '../modes/prompt/select-tools-by-prompt.ts';
import { reasonAndAct } from '../modes/react/reason-and-act.ts';
import { keepThoughts } from '../thoughts/keep-thoughts.ts';
import { hasThoughts } from '../thoughts/thought-fields.ts';
import { uniqueCallIds } from '../turns/unique-call-ids.ts';
import { fallBack, fallbacksOf, type Candidate } from './fall-back.ts';
import { saverFor, type PreparedChat } from './prepared-chat.ts';

/** The parts of a run that its stages need. */
interface RunParts {
  chat: PreparedChat;
  /** Undefined for a request without tools of the gateway. */
  choice: ModeChoice | undefined;
  /** The model that chooses tools by a prompt. */
  chooser: FoundModel;
  /** Whether a function may handle the files of the request, so that they are added anew to each model request. */
  mayConsumeFiles: boolean;
  /** Those that functions of the run return. */
  pictures: RunPictures;
  /** Reports requests to the log. Returns the same object for the same backend. */
  report: (backend: ModelBackend) => ModelBackend;
}

/** The same, with the backend that the stages surround, and the model that answers now. */
interface StagedRun extends RunParts {
  reported: ModelBackend;
  answering: () => Candidate;
  hooked: HookedRun;
}

/** One stage that the requests and answers of a run pass. */
interface Stage {
  /** Whether it can do anything about this request or its answer; if not, both pass it by. Default: always. */
  acts?(request: ModelRequest, run: StagedRun): boolean;
  /** The stage around what is below it. Called once in a run, when it first acts. */
  around(below: ModelBackend, run: StagedRun): ModelBackend;
}

const uniqueIds: Stage = { around: (below, { chat }) => uniqueCallIds(below, chat.services.newCallId) };

const reasoning: Stage = { acts: ({ messages }) => messages.some(hasThoughts), around: replayReasoning };

const leakedCalls: Stage = {
  around: (backend, { chat: { services, run } }) => recoverLeakedCalls({ backend, newCallId: services.newCallId, caller: run.caller }),
};

/** Once what the backend could not read has been read here, as far as it can be. */
const unreadableCalls: Stage = { around: askOnceMore };

const lateRefusals: Stage = {
  acts: hasCalled,
  around: (backend, { reported, answering }) =>
    answerFromResults({
      backend,
      plain: askOnceMore(reported),
      onRefusal: (refusal, refused) => learnNoTools(answering().found, refusal, refused),
    }),
};

const pictures: Stage = { acts: (_request, run) => !run.pictures.isEmpty, around: addPictures };

function addPictures(backend: ModelBackend, run: StagedRun): ModelBackend {
  return showPictures({ backend, model: run.chat.model, pictures: run.pictures, isInlined: run.choice?.path !== 'native' });
}

const steps: Stage = {
  around: (backend, { chat: { services, run } }) => reasonAndAct({ backend, newCallId: services.newCallId, caller: run.caller }),
};

/** A selection asks hooks itself, about the selection and about the answer, and adds files and pictures to the answer. It compares backends. */
const selection: Stage = {
  around(_below, run) {
    const { chat, choice, chooser, reported, report, hooked } = run;
    const { request, services, model, offer, variables, withFiles, resumed } = chat;
    const backend = askOnceMore(reported);
    const asked = chooser === model ? reported : report(chooser.backend);
    return selectToolsByPrompt({
      backend,
      task: { backend: asked === reported ? backend : askOnceMore(asked), model: chooser.name },
      template: services.settings.selectionTemplate,
      variables,
      isSingleCall: choice?.isSingleCall === true,
      withFiles,
      addPictures: (answering) => addPictures(answering, run),
      newCallId: services.newCallId,
      isAfterHandoff: request.purpose === 'handoff' && resumed === undefined,
      caller: chat.run.caller,
      offer,
      hooked,
    });
  },
};

const files: Stage = {
  acts: (_request, run) => run.mayConsumeFiles,
  around: (below, { chat }) => withFilesAtEachTurn(below, chat.withFiles),
};

const hooks: Stage = {
  acts: (_request, { hooked }) => hooked.hooks !== undefined,
  around: (below, { hooked }) => withModelHooks(below, hooked, 'answer'),
};

const thoughts: Stage = {
  acts: ({ callerTools }) => callerTools.length > 0,
  around: (below, { chat, answering }) => keepThoughts(below, saverFor(chat, answering)),
};

/**
 * The stages of each kind of run. The events of an answer pass them in this order, requests in the opposite one. Above them `requestTurn` collects the
 * calls, and `TurnSeparator` separates the texts of turns.
 */
const stagesOf: Readonly<Record<ModeChoice['path'] | 'none', readonly Stage[]>> = {
  none: [uniqueIds, reasoning, hooks, thoughts],
  native: [uniqueIds, reasoning, leakedCalls, unreadableCalls, lateRefusals, pictures, files, hooks],
  react: [unreadableCalls, pictures, steps, files, hooks],
  prompt: [selection],
};

/** The backend of a run, as the loop sees it, and the model that answers now. */
export function stageBackend(parts: RunParts): { backend: ModelBackend; answering: () => Candidate } {
  const { chat, choice, report } = parts;
  const { model, run, services, hasShownText } = chat;
  // The log has what is sent: all other stages change or repeat requests.
  const { backend: reported, answering } = fallBack({
    model,
    fallbacks: fallbacksOf(run, model),
    models: services.models,
    caller: run.caller,
    hasShownText,
    report,
  });
  const staged: StagedRun = { ...parts, reported, answering, hooked: { hooks: services.runtime?.hooks, run } };
  return { backend: new StagedBackend(stagesOf[choice?.path ?? 'none'], staged), answering };
}

class StagedBackend implements ModelBackend {
  readonly #stages: readonly Stage[];
  readonly #run: StagedRun;
  /** Those that have acted, at their positions. */
  readonly #made: (ModelBackend | undefined)[] = [];

  constructor(stages: readonly Stage[], run: StagedRun) {
    this.#stages = stages;
    this.#run = run;
  }

  answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    return this.answerBelow(this.#stages.length, request, emit);
  }

  /** Asks the next stage below this position that can act. */
  answerBelow(position: number, request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    for (let index = position - 1; index >= 0; index -= 1) {
      const stage = this.#stages[index];
      if (stage === undefined || stage.acts?.(request, this.#run) === false) continue;
      const made = (this.#made[index] ??= stage.around(index === 0 ? this.#run.reported : new BackendBelow(this, index), this.#run));
      return made.answer(request, emit);
    }
    return this.#run.reported.answer(request, emit);
  }
}

/** What is below one stage. */
class BackendBelow implements ModelBackend {
  readonly #staged: StagedBackend;
  readonly #position: number;

  constructor(staged: StagedBackend, position: number) {
    this.#staged = staged;
    this.#position = position;
  }

  answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    return this.#staged.answerBelow(this.#position, request, emit);
  }
}
