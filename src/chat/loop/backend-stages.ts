import type { FoundModel, ModelBackend } from '../../core/models/model.ts';
import { withModelHooks } from '../hooks/hook-model.ts';
import { withFilesAtEachTurn } from '../messages/consume-files.ts';
import type { ModeChoice } from '../modes/choose-mode.ts';
import { askOnceMore } from '../modes/ask-once-more.ts';
import { learnNoTools } from '../modes/learn-no-tools.ts';
import { answerFromResults } from '../modes/native/answer-from-results.ts';
import { recoverLeakedCalls } from '../modes/native/recover-leaked-calls.ts';
import { replayReasoning } from '../modes/native/replay-reasoning.ts';
import { selectToolsByPrompt } from '../modes/prompt/select-tools-by-prompt.ts';
import { reasonAndAct } from '../modes/react/reason-and-act.ts';
import { uniqueCallIds } from '../turns/unique-call-ids.ts';
import type { PreparedChat } from './prepared-chat.ts';

export type Stage = (backend: ModelBackend) => ModelBackend;

interface StageOptions {
  /** Undefined for a request without tools. */
  choice: ModeChoice | undefined;
  /** The model that chooses tools by a prompt. */
  chooser: FoundModel;
  /** Whether a function may handle the files of the request, so that they are added anew to each model request. */
  mayConsumeFiles: boolean;
  /** Reports requests to the log. Returns the same object for the same backend. */
  report: Stage;
}

/**
 * The backend of a run, as the loop sees it. The events of an answer pass the stages in the order of the list, and requests in the opposite order. A
 * run has only the stages that can act in it. Above them `requestTurn` collects the calls, and `createTurnSeparator` separates the texts of turns.
 */
export function stageBackend(
  { request, run, services, model, offer, variables, withFiles, resumed }: PreparedChat,
  { choice, chooser, mayConsumeFiles, report }: StageOptions,
): ModelBackend {
  const { caller } = run;
  const { newCallId, settings, runtime } = services;
  const hooked = { hooks: runtime?.hooks, run };
  const path = choice?.path;

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
      plain: repeat(report(model.backend)),
      onRefusal: (refusal, refused) => learnNoTools(model, refusal, refused),
    });
  const stepByStep: Stage = (backend) => reasonAndAct({ backend, newCallId, caller });
  const selectTools: Stage = (backend) =>
    selectToolsByPrompt({
      backend,
      task: { backend: repeat(report(chooser.backend)), model: chooser.name },
      template: settings.selectionTemplate,
      variables,
      isSingleCall: choice?.isSingleCall === true,
      withFiles,
      newCallId,
      isAfterHandoff: request.purpose === 'handoff' && resumed === undefined,
      caller,
      offer,
      hooked,
    });
  const addFiles: Stage = (backend) => withFilesAtEachTurn(backend, withFiles);
  const askHooks: Stage = (backend) => withModelHooks(backend, hooked, 'answer');

  const stages: readonly (Stage | false)[] = [
    // First, so that the log has what is sent: all others change or repeat requests.
    report,
    // The other paths make all ids themselves, and a selection compares backends.
    (path === undefined || path === 'native') && uniqueCallIds(newCallId),
    path === 'native' && replayReasoning,
    path === 'native' && recoverCalls,
    // Once what the backend could not read has been read here, as far as it can be.
    path !== undefined && repeat,
    path === 'native' && answerWithoutTools,
    path === 'react' && stepByStep,
    // A selection asks hooks itself, about the selection and about the answer, and adds files to the answer.
    path === 'prompt' && selectTools,
    path !== 'prompt' && mayConsumeFiles && addFiles,
    path !== 'prompt' && askHooks,
  ];
  return stages.filter((stage) => stage !== false).reduce((backend, stage) => stage(backend), model.backend);
}
