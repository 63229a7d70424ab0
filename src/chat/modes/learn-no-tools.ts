import type { CallerWarning } from '../../core/chat/caller-warning.ts';
import type { GatewayError } from '../../core/errors.ts';
import type { Lesson } from '../../core/models/lesson.ts';
import type { FoundModel, ModelRequest } from '../../core/models/model.ts';
import { isConditional } from '../../shared/refusals/conditional-refusal.ts';
import { findToolsRefusal } from '../../shared/refusals/tools-refusal.ts';

/** What is known of a model that has no native tool calls, as far as it concerns this request. */
export function recallNoTools({ lessons }: FoundModel, request: ModelRequest): Lesson | undefined {
  return lessons.recall('tools', request)[0];
}

export function noToolsWarning(model: string): CallerWarning {
  const message = `The backend has no native tool calls for ${model}; tools are chosen by a selection prompt.`;
  return { code: 'tools_unsupported', message };
}

/** Remembers that a model has no native tool calls. Called once the request was answered without them. */
export function learnNoTools({ name, lessons }: FoundModel, refusal: GatewayError, request: ModelRequest): void {
  lessons.learn(
    { kind: 'tools', subject: '', change: 'left out', content: '', warning: noToolsWarning(name) },
    { request, pointsAt: isConditional(refusal.message) ? undefined : findToolsRefusal(refusal.message), words: refusal.message },
  );
}
