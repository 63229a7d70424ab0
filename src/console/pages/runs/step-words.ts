import { formatBytes, formatCount, formatDuration, formatNumber } from '../../parts/text/formats.ts';
import { textOf } from '../../parts/text/text-of.ts';
import { modeWords, statusWords } from './run-words.ts';
import { eventOf, type RunEvent, type Step } from './steps.ts';

/** How the steps of a run are described to people who do not know the names of its events. */

type Data = RunEvent['data'];

const purposes: Readonly<Record<string, { title: string; why: string }>> = {
  round: { title: 'Ask the model', why: 'It can call functions or answer.' },
  answer: { title: 'Ask for the answer', why: 'This request offers no functions.' },
  last_answer: { title: 'Ask for the answer', why: 'The last round is over, so the model must answer with what it knows.' },
  selection_names: {
    title: 'Ask which functions are relevant',
    why: 'There are many functions, so the model first selects the relevant ones.',
  },
  selection: { title: 'Ask what to call', why: 'A prompt asks the model which functions to call, and with which arguments.' },
  selection_repair: { title: 'Ask again what to call', why: 'The previous selection could not be used.' },
};

const reasons: Readonly<Record<string, string>> = {
  no_call_made: 'A call was required, but the model made none.',
  call_unreadable: 'The backend could not read a call that its model wrote.',
  functions_refused: 'The backend rejected functions, so the results are sent as text.',
  functions_missed: 'The backend requires the list of functions, so it is sent, but no calls are allowed.',
  stop_refused: 'The backend does not support stop sequences, so they are left out.',
  form_demanded: 'The answer must match a schema, so it is requested again in that form.',
  form_refused: 'The backend rejected the response schema, so it is left out.',
  request_refused: 'The backend rejected the form of the request, so it is sent in another one.',
  no_words: 'The model gave no answer text.',
  address_failed: 'One address of the backend could not answer, so another one is asked.',
  model_failed: 'The model could not answer, so another one is asked.',
};

const limitWords: Readonly<Record<string, string>> = {
  tool_rounds: 'rounds of calls per answer',
  lookups: 'function searches per answer',
  reasks: 'rounds in a row without a valid call',
  calls_per_round: 'calls per round',
  calls_per_run: 'calls per answer',
  tool_phase_ms: 'the time of all calls of an answer, in milliseconds,',
  said_characters: 'characters of messages from functions per answer',
  result_bytes: 'bytes per result',
  handoffs: 'handoffs per answer',
};

const stateWords: Readonly<Record<string, string>> = {
  not_started: 'The call was not started.',
  cancelled: 'The call was stopped before it finished.',
  outcome_unknown: 'The call may have succeeded. Check before you repeat it.',
};

const outcomeWords: Readonly<Record<string, string>> = {
  connected: 'signed in',
  cancelled: 'the sign-in was declined',
  expired: 'the sign-in expired',
  unavailable: 'sign-in was not possible',
};

export function titleOf({ events: [first] }: Step): string {
  if (first === undefined) return '';
  const { type, data } = first;
  const text = (name: string): string => textOf(data[name]);
  switch (type) {
    case 'run.start':
      return 'Start';
    case 'run.end':
      return `End: ${(statusWords as Record<string, { word: string }>)[text('status')]?.word ?? text('status')}`;
    case 'model.request':
    case 'model.response':
      return purposes[text('purpose')]?.title ?? 'Ask the model';
    case 'selection':
      return namesIn(data['found']).length === 0 ? 'Selected: no call' : `Selected: ${namesIn(data['found']).join(', ')}`;
    case 'config.update':
      return data['preset'] === undefined ? 'Tools changed' : `Handoff to ${text('preset')}`;
    case 'queue':
      return Number(data['place']) === 0 ? 'End of the queue' : `Place ${formatNumber(Number(data['place']))} in the queue`;
    case 'limit.reached':
      return 'Limit reached';
    case 'warning':
      return 'Warning';
    default:
      return text('tool') || type;
  }
}

/** Why this step happened. */
export function whyOf(step: Step): string {
  const [first] = step.events;
  if (first === undefined) return '';
  const { type, data } = first;
  const text = (name: string): string => textOf(data[name]);
  switch (type) {
    case 'run.start':
      return sentences(modeWords[text('mode')]?.about, offered(data));
    case 'model.request':
      return sentences(reasons[text('reason')], purposeOf(data), data['structured'] === true && 'The answer must match a schema.');
    case 'selection':
      return choiceOf(data);
    case 'config.update':
      return changeOf(data);
    case 'limit.reached':
      return `The limit for ${limitWords[text('limit')] ?? text('limit')} is ${formatNumber(Number(data['value']))}.`;
    case 'queue':
      return `The backend of ${text('model')} answers only some requests at a time.`;
    case 'warning':
      return text('message');
    case 'run.end':
      return errorOf(first)?.message ?? '';
    default:
      // The arguments that ran, if a person changed those of the model.
      return brief(eventOf(step, 'approval.response')?.data['args'] ?? data['args']);
  }
}

function purposeOf(data: Data): string {
  const { round, max_rounds: most, functions, tool_choice: choice } = data;
  const { why } = purposes[textOf(data['purpose'])] ?? { why: '' };
  if (data['purpose'] !== 'round') return Number(functions) > 0 || data['purpose'] !== 'answer' ? why : 'Without functions.';
  const position = round === undefined ? '' : `Round ${textOf(round)}${most === undefined ? '' : ` of at most ${textOf(most)}`}.`;
  const demand =
    choice === undefined || choice === 'auto'
      ? why
      : choice === 'none'
        ? 'Calls are not allowed.'
        : `It must call ${choice === 'required' ? 'a function' : textOf(choice)}.`;
  return sentences(position, `${formatCount(Number(functions ?? 0), 'function')} offered.`, demand);
}

function offered({ tools }: Data): string {
  return Number(tools ?? 0) === 0 ? '' : `${formatCount(Number(tools), 'function')} offered.`;
}

function choiceOf(data: Data): string {
  const asked = (data['asked'] ?? {}) as { functions?: number };
  const dropped = droppedIn(data);
  return sentences(
    `The model selected from ${formatCount(asked.functions ?? 0, 'function')}.`,
    dropped.length > 0 && `Dropped: ${dropped.map(({ name, reason }) => `${name} (${reason})`).join(', ')}.`,
    namesIn(data['repaired']).length > 0 && `Corrected: ${namesIn(data['repaired']).join(', ')}.`,
    data['unreadable'] === true && 'Its reply could not be read as a selection.',
    data['cut'] === true && 'Its reply was cut off.',
    (data['error'] as { message?: string } | undefined)?.message,
  );
}

function changeOf(data: Data): string {
  const [added, removed] = [namesIn(data['added']), namesIn(data['removed'])];
  return sentences(
    data['preset'] !== undefined && 'Another preset takes over from here.',
    added.length > 0 && `Added functions: ${added.join(', ')}.`,
    removed.length > 0 && `Removed functions: ${removed.join(', ')}.`,
    data['instructions'] !== undefined && 'The system prompt changed.',
  );
}

/** The outcome of a step in a few words. */
export function outcomeOf(step: Step): string {
  const { kind, end } = step;
  if (kind === 'model') return modelOutcome(step);
  if (kind !== 'call') return '';
  const error = errorOf(eventOf(step, 'tool.result'));
  if (error !== undefined) return error.message;
  const result = eventOf(step, 'tool.result');
  if (result !== undefined) return brief(result.data['response']);
  if (end === step.start) return sentences(decisionOf(step));
  const last = step.events.at(-1);
  if (last?.type === 'approval.request') return 'Waiting for approval.';
  if (last?.type === 'connect.request') return 'Waiting for sign-in.';
  if (last?.type === 'tool.progress') return progressOf(last.data);
  return end === undefined ? 'Running.' : 'Ended with the run.';
}

function modelOutcome(step: Step): string {
  const answer = eventOf(step, 'model.response');
  if (answer === undefined) return step.end === undefined ? 'Waiting for the model.' : 'Ended with the run.';
  const error = errorOf(answer);
  if (error !== undefined) return error.message;
  const { calls, characters, reasoning_characters: thought } = answer.data;
  const parts = [
    Number(calls ?? 0) > 0 && formatCount(Number(calls), 'call'),
    Number(characters ?? 0) > 0 && formatCount(Number(characters), 'character'),
    Number(thought ?? 0) > 0 && `${formatCount(Number(thought), 'character')} of reasoning`,
    answer.data['stopped'] === true && 'stopped early',
  ].filter((part) => part !== false);
  return parts.length === 0 ? 'Empty response.' : parts.join(', ');
}

export function progressOf({ status, progress, total }: Data): string {
  if (status !== undefined) return textOf(status);
  return `${textOf(progress)}${total === undefined ? '' : ` of ${textOf(total)}`}`;
}

/** How the person decided. */
export function decisionOf(step: Step): string {
  const approval = eventOf(step, 'approval.response')?.data;
  const sign = eventOf(step, 'connect.response')?.data;
  const decision = textOf(approval?.['decision']);
  const how = decision === 'approve' ? 'approved' : decision === 'reject' ? 'rejected' : decision;
  return [
    approval &&
      `${how}${approval['edited'] === true ? ' with changes' : ''}${approval['remembered'] === true ? ', remembered for this chat' : ''}`,
    sign && (outcomeWords[textOf(sign['outcome'])] ?? textOf(sign['outcome'])),
  ]
    .filter(Boolean)
    .join(', ');
}

/** Whether the person approved the call or signed in. */
function wasAccepted(step: Step): boolean {
  const approval = eventOf(step, 'approval.response');
  const signIn = eventOf(step, 'connect.response');
  return (
    (approval === undefined || approval.data['decision'] === 'approve') && (signIn === undefined || signIn.data['outcome'] === 'connected')
  );
}

export interface Mark {
  words: string;
  tone?: 'good' | 'bad' | 'warn';
}

/** What is unusual about a step. */
export function marksOf(step: Step): Mark[] {
  const { kind, waits } = step;
  const marks: Mark[] = [];
  const data = eventOf(step, 'tool.result')?.data;
  const error = errorOf(step.events.at(-1));
  if (error?.code !== undefined && error.code !== '') marks.push({ words: error.code, tone: 'bad' });
  if (kind === 'model') {
    const usage = eventOf(step, 'model.response')?.data['usage'] as { prompt_tokens?: number; completion_tokens?: number } | undefined;
    if (usage !== undefined) marks.push({ words: `${formatNumber(usage.prompt_tokens)} in, ${formatNumber(usage.completion_tokens)} out` });
  }
  const decision = decisionOf(step);
  if (decision !== '') marks.push({ words: decision, tone: wasAccepted(step) ? 'good' : 'bad' });
  else if (eventOf(step, 'approval.request') !== undefined && step.end === undefined) marks.push({ words: 'needs approval', tone: 'warn' });
  if (step.innerCount > 0) marks.push({ words: `preset, ${formatCount(step.innerCount, 'step')}` });
  if (waits.some(({ kind }) => kind === 'turn')) marks.push({ words: 'queued' });
  if (data?.['cached'] === true) marks.push({ words: 'cached' });
  if (data?.['hook'] === true) marks.push({ words: 'answered by a hook' });
  if (Number(data?.['attempts'] ?? 1) > 1) marks.push({ words: `${textOf(data?.['attempts'])} attempts`, tone: 'warn' });
  if (data?.['truncated'] === true) marks.push({ words: 'result truncated', tone: 'warn' });
  if (Array.isArray(eventOf(step, 'tool.call')?.data['repairs'])) marks.push({ words: 'arguments corrected', tone: 'warn' });
  return marks;
}

/** Whether a failed call may have had an effect. */
export function stateOf(step: Step): string | undefined {
  return stateWords[errorOf(eventOf(step, 'tool.result'))?.state ?? ''];
}

export function errorOf(event: RunEvent | undefined): { code: string; message: string; state: string } | undefined {
  const error = event?.data['error'];
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, message, state } = error as { code?: unknown; message?: unknown; state?: unknown };
  return { code: textOf(code), message: textOf(message) || textOf(code), state: textOf(state) };
}

export function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map((name) => textOf(name)).filter((name) => name !== '') : [];
}

export function droppedIn(data: Data): { name: string; reason: string }[] {
  const { dropped } = data;
  if (!Array.isArray(dropped)) return [];
  return (dropped as { name?: unknown; reason?: unknown }[]).map(({ name, reason }) => ({ name: textOf(name), reason: textOf(reason) }));
}

const waitWords = { person: 'approval', turn: 'queue', 'first-token': 'first token' } as const;

/** `approval 3.2 s`: what the step waited for, and how long. */
export function waitIn({ waits: [wait] }: Step): string | undefined {
  return wait === undefined || !Number.isFinite(wait.end) ? undefined : `${waitWords[wait.kind]} ${formatDuration(wait.end - wait.start)}`;
}

/** The size of a result in the log, whose long texts end with the number of omitted characters. */
export function sizeOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const omitted = [...text.matchAll(/… \[(\d{1,12}) more characters\]/g)].reduce((sum, [, count]) => sum + Number(count), 0);
  return `${omitted > 0 ? 'about ' : ''}${formatBytes(text.length + omitted)}`;
}

const maxBrief = 160;

function brief(value: unknown): string {
  const text = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > maxBrief ? `${text.slice(0, maxBrief)}…` : text === '{}' ? '' : text;
}

function sentences(...parts: (string | false | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== false && part !== '').join(' ');
}
