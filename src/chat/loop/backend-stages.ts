import type { FoundModel, ModelBackend } from '../../core/models/model.ts';
import { withModelHooks } from '../hooks/hook-model.ts';
import { withFilesAtEachTurn } from '../messages/consume-files.ts';
import type { RunPictures } from '../messages/run-pictures.ts';
import type { ModeChoice } from '../modes/choose-mode.ts';
import { askOnceMore } from '../modes/ask-once-more.ts';
import { learnNoTools } from '../modes/learn-no-tools.ts';
import { answerFromResults } from '../modes/native/answer-from-results.ts';
import { recoverLeakedCalls } from '../modes/native/recover-leaked-calls.ts';
import { replayReasoning } from '../modes/native/replay-reasoning.ts';
import { showPictures } from '../modes/show-pictures.ts';
import { selectToolsByPrompt } from '../modes/prompt/select-tools-by-prompt.ts';
import { reasonAndAct } from '../modes/react/reason-and-act.ts';
import { uniqueCallIds } from '../turns/unique-call-ids.ts';
import { fallBack, fallbacksOf, type Candidate } from './fall-back.ts';
import type { PreparedChat } from './prepared-chat.ts';

export type Stage = (backend: ModelBackend) => ModelBackend;

interface StageOptions {
  /** Undefined for a request without tools. */
  choice: ModeChoice | undefined;
  /** The model that chooses tools by a prompt. */
  chooser: FoundModel;
  /** Whether a function may handle the files of the request, so that they are added anew to each model request. */
  mayConsumeFiles: boolean;
  /** Those that functions of the run return. */
  pictures: RunPictures;
  /** Reports requests to the log. Returns the same object for the same backend. */
  report: Stage;
}

/**
 * The backend of a run, as the loop sees it, and the model that answers now. The events of an answer pass the stages in the order of the list, and requests in the opposite order. A
 * run has only the stages that can act in it. Above them `requestTurn` collects the calls, and `createTurnSeparator` separates the texts of turns.
 */
export function stageBackend(
  { request, run, services, model, offer, variables, withFiles, resumed, hasShownText }: PreparedChat,
  { choice, chooser, mayConsumeFiles, pictures, report }: StageOptions,
): { backend: ModelBackend; answering: () => Candidate } {
  const { caller } = run;
  const { newCallId, settings, runtime } = services;
  const hooked = { hooks: runtime?.hooks, run };
  const path = choice?.path;
  const fallbacks = fallbacksOf(run, model);
  // The log has what is sent: all other stages change or repeat requests.
  const { backend: reported, answering } = fallBack({ model, fallbacks, models: services.models, caller, hasShownText, report });

  // The same object for the same backend, as `report`.
  const repeating = new Map<ModelBackend, ModelBackend>();
  const repeat: Stage = (backend) => {
    const known = repeating.get(backend) ?? askOnceMore(backend);
    repeating.set(backend, known);
    return known;
  };
  const recoverCalls: Stage = (backend) => recoverLeakedCalls({ backend, newCallId, caller });
  const answerWithoutTools: Stage = (backend) =>
    answerFromResults({
      backend,
      plain: repeat(reported),
      onRefusal: (refusal, refused) => learnNoTools(answering().found, refusal, refused),
    });
  const stepByStep: Stage = (backend) => reasonAndAct({ backend, newCallId, caller });
  const addPictures: Stage = (backend) => showPictures({ backend, model, pictures, isInlined: path !== 'native' });
  const selectTools: Stage = (backend) =>
    selectToolsByPrompt({
      backend,
      task: { backend: repeat(chooser === model ? reported : report(chooser.backend)), model: chooser.name },
      template: settings.selectionTemplate,
      variables,
      isSingleCall: choice?.isSingleCall === true,
      withFiles,
      addPictures,
      newCallId,
      isAfterHandoff: request.purpose === 'handoff' && resumed === undefined,
      caller,
      offer,
      hooked,
    });
  const addFiles: Stage = (backend) => withFilesAtEachTurn(backend, withFiles);
  const askHooks: Stage = (backend) => withModelHooks(backend, hooked, 'answer');

  const stages: readonly (Stage | false)[] = [
    // The other paths make all ids themselves, and a selection compares backends.
    (path === 'native' || path === undefined) && uniqueCallIds(newCallId),
    (path === 'native' || path === undefined) && replayReasoning,
    path === 'native' && recoverCalls,
    // Once what the backend could not read has been read here, as far as it can be.
    path !== undefined && repeat,
    path === 'native' && answerWithoutTools,
    (path === 'native' || path === 'react') && addPictures,
    path === 'react' && stepByStep,
    // A selection asks hooks itself, about the selection and about the answer, and adds files to the answer.
    path === 'prompt' && selectTools,
    path !== 'prompt' && mayConsumeFiles && addFiles,
    path !== 'prompt' && askHooks,
  ];
  const backend = stages.filter((stage) => stage !== false).reduce((staged, stage) => stage(staged), reported);
  return { backend, answering };
}
