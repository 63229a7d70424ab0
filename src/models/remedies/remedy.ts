import type { GatewayError } from '../../core/errors.ts';
import type { Lesson, LessonKind, LessonRule } from '../../core/models/lesson.ts';
import type { EmptyAnswer } from '../constrain-output.ts';
import type { ModelRequest } from '../../core/models/model.ts';

/** A refusal, and how its request came to be. */
export interface Refused {
  refusal: GatewayError;
  /** As it was asked for, before any change. */
  request: ModelRequest;
  /** As it was sent. */
  sent: ModelRequest;
  /** The changes that were made to it. */
  made: readonly Lesson[];
  /** Those that were remembered from earlier requests. */
  recalled: readonly Lesson[];
  /** How often this remedy has repeated the request so far. */
  repeats: number;
}

export interface Recognised {
  lesson: Lesson;
  /** The words of the refusal that point at what the lesson changes; undefined if it may as well be about something else. */
  pointsAt: string | undefined;
  /** Default: `proven`. */
  rule?: LessonRule;
  /** What is learned if it helps. Default: the lesson. `keep`: what was learned about its subject before; `drop`: nothing about its subject. */
  memory?: 'keep' | 'drop';
  /** Default: that of the remedy. */
  reason?: RepeatReason;
  /** A further change of the same step. */
  also?: Omit<Recognised, 'also' | 'reason'>;
}

type RepeatReason = NonNullable<NonNullable<ModelRequest['purpose']>['reason']>;

/** One way to make a request acceptable to a backend that has refused it. */
export interface Remedy {
  /** The lessons that it learns and applies. */
  kinds: readonly LessonKind[];
  /** The next change; undefined: the refusal is about something else, or nothing is left to change. */
  recognise(refused: Refused): Recognised | undefined;
  /** The same for an answer in which the model has said nothing. */
  recogniseSilence?(silent: Omit<Refused, 'refusal'> & { silence: EmptyAnswer }): Recognised | undefined;
  /** The request with the change made. */
  change(request: ModelRequest, lesson: Lesson): ModelRequest;
  /** Whether a remembered lesson is about this request. */
  concerns(lesson: Lesson, request: ModelRequest): boolean;
  /** Why the request is repeated, for the log of the run. */
  reason: RepeatReason;
  /** Whether it changes more than once what the refusal does not point at. */
  mayGuess?: true;
  /** How often one request is repeated because of this remedy. */
  maxRepeats: number;
}
