import { formatBytes, formatCount, formatDuration, formatNumber } from '../../parts/text/formats.ts';
import { textOf } from '../../parts/text/text-of.ts';
import { modeWords, statusWords } from './run-words.ts';
import { eventOf } from './steps.ts';
import type { RunEvent, Step } from './steps.ts';

/** What is said of the steps of a run, for people who do not know the names of its events. */

type Data = RunEvent['data'];

const purposes: Readonly<Record<string, { title: string; why: string }>> = {
  round: { title: 'Ask the model', why: 'It may call functions, or answer.' },
  answer: { title: 'Ask for the answer', why: 'No functions are left to call in this request.' },
  last_answer: { title: 'Ask for the answer', why: 'The last round is over: the model has to answer with what is known.' },
  selection_names: { title: 'Ask which functions fit', why: 'There are many, so the model first names those that fit the question.' },
  selection: { title: 'Ask what to call', why: 'This model is asked in words which functions to call, and with which arguments.' },
  selection_repair: { title: 'Ask again what to call', why: 'The choice before could not be used as it was.' },
};

const reasons: Readonly<Record<string, string>> = {
  no_call_made: 'A call was demanded, and the model made none.',
  functions_refused: 'The backend refused to take functions, so the results are given to it as text.',
  functions_missed: 'The backend insists on the list of functions, so it has it, and may call none.',
  stop_refused: 'The backend takes no stop sequences, so it is asked without them.',
  form_demanded: 'The answer has to have a form, so it is asked for once more, in that form.',
  form_refused: 'The backend refused the form of the answer, so it is asked without it.',
  no_words: 'The model only thought, or said nothing.',
};

const limitWords: Readonly<Record<string, string>> = {
  tool_rounds: 'rounds of calls in one answer',
  lookups: 'searches for functions in one answer',
  reasks: 'rounds in a row in which no call could run',
  calls_per_round: 'calls in one round',
  calls_per_run: 'calls in one answer',
  tool_phase_ms: 'milliseconds for all calls of an answer',
  said_characters: 'characters that a function may say in an answer',
  result_bytes: 'bytes of a result that the model reads',
  handoffs: 'hand-overs in one answer',
};

const stateWords: Readonly<Record<string, string>> = {
  not_started: 'It was not begun, so nothing has happened.',
  cancelled: 'It was ended before it was done.',
  outcome_unknown: 'It may have taken effect all the same: see before you repeat it.',
};

const outcomeWords: Readonly<Record<string, string>> = {
  connected: 'signed in',
  cancelled: 'the sign-in was declined',
  expired: 'nobody signed in in time',
  unavailable: 'nobody could be asked to sign in',
};

export function titleOf({ events: [first] }: Step): string {
  if (first === undefined) return '';
  const { type, data } = first;
  const text = (name: string): string => textOf(data[name]);
  switch (type) {
    case 'run.start':
      return 'Begin';
    case 'run.end':
      return `End: ${(statusWords as Record<string, { word: string }>)[text('status')]?.word ?? text('status')}`;
    case 'model.request':
    case 'model.response':
      return purposes[text('purpose')]?.title ?? 'Ask the model';
    case 'selection':
      return namesIn(data['found']).length === 0 ? 'Chosen: no call' : `Chosen: ${namesIn(data['found']).join(', ')}`;
    case 'config.update':
      return data['preset'] === undefined ? 'The chat was changed' : `Hand over to ${text('preset')}`;
    case 'limit.reached':
      return 'Limit reached';
    case 'warning':
      return 'Warning';
    default:
      return text('tool') || type;
  }
}

/** Why this step is there. */
export function whyOf(step: Step): string {
  const [first] = step.events;
  if (first === undefined) return '';
  const { type, data } = first;
  const text = (name: string): string => textOf(data[name]);
  switch (type) {
    case 'run.start':
      return sentences(modeWords[text('mode')]?.about, offered(data));
    case 'model.request':
      return sentences(reasons[text('reason')], purposeOf(data), data['structured'] === true && 'The answer is held to a form.');
    case 'selection':
      return choiceOf(data);
    case 'config.update':
      return changeOf(data);
    case 'limit.reached':
      return `No more than ${formatNumber(Number(data['value']))} ${limitWords[text('limit')] ?? text('limit')}.`;
    case 'warning':
      return text('message');
    case 'run.end':
      return errorOf(first)?.message ?? '';
    default:
      // What ran, where a person has changed what the model wrote.
      return brief(eventOf(step, 'approval.response')?.data['args'] ?? data['args']);
  }
}

function purposeOf(data: Data): string {
  const { round, max_rounds: most, functions, tool_choice: choice } = data;
  const { why } = purposes[textOf(data['purpose'])] ?? { why: '' };
  if (data['purpose'] !== 'round') return Number(functions) > 0 || data['purpose'] !== 'answer' ? why : 'Without functions.';
  const place = round === undefined ? '' : `Round ${textOf(round)}${most === undefined ? '' : ` of at most ${textOf(most)}`}.`;
  const demand =
    choice === undefined || choice === 'auto'
      ? why
      : choice === 'none'
        ? 'It may call none.'
        : `It has to call ${choice === 'required' ? 'a function' : textOf(choice)}.`;
  return sentences(place, `${formatCount(Number(functions ?? 0), 'function')} on offer.`, demand);
}

function offered({ tools }: Data): string {
  return Number(tools ?? 0) === 0 ? '' : `${formatCount(Number(tools), 'function')} on offer.`;
}

function choiceOf(data: Data): string {
  const asked = (data['asked'] ?? {}) as { functions?: number };
  const dropped = droppedIn(data);
  return sentences(
    `The model chose among ${formatCount(asked.functions ?? 0, 'function')}.`,
    dropped.length > 0 && `Left out: ${dropped.map(({ name, reason }) => `${name} (${reason})`).join(', ')}.`,
    namesIn(data['repaired']).length > 0 && `Mended: ${namesIn(data['repaired']).join(', ')}.`,
    data['unreadable'] === true && 'What it wrote could not be read as a choice.',
    data['cut'] === true && 'What it wrote was cut off.',
    (data['error'] as { message?: string } | undefined)?.message,
  );
}

function changeOf(data: Data): string {
  const [added, removed] = [namesIn(data['added']), namesIn(data['removed'])];
  return sentences(
    data['preset'] !== undefined && 'Another preset answers from here on.',
    added.length > 0 && `New on offer: ${added.join(', ')}.`,
    removed.length > 0 && `No longer on offer: ${removed.join(', ')}.`,
    data['instructions'] !== undefined && 'The model has other instructions.',
  );
}

/** What came of it, in a few words. */
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
  if (last?.type === 'approval.request') return 'Waits for the approval of a person.';
  if (last?.type === 'connect.request') return 'Waits until the person has signed in.';
  if (last?.type === 'tool.progress') return progressOf(last.data);
  return end === undefined ? 'Runs.' : 'Ended with the run.';
}

function modelOutcome(step: Step): string {
  const answer = eventOf(step, 'model.response');
  if (answer === undefined) return step.end === undefined ? 'Not answered yet.' : 'Ended with the run.';
  const error = errorOf(answer);
  if (error !== undefined) return error.message;
  const { calls, characters, reasoning_characters: thought } = answer.data;
  const parts = [
    Number(calls ?? 0) > 0 && formatCount(Number(calls), 'call'),
    Number(characters ?? 0) > 0 && formatCount(Number(characters), 'character'),
    Number(thought ?? 0) > 0 && `${formatCount(Number(thought), 'character')} of thought`,
    answer.data['stopped'] === true && 'read no further',
  ].filter((part) => part !== false);
  return parts.length === 0 ? 'It said nothing.' : parts.join(', ');
}

export function progressOf({ status, progress, total }: Data): string {
  if (status !== undefined) return textOf(status);
  return `${textOf(progress)}${total === undefined ? '' : ` of ${textOf(total)}`}`;
}

/** How a person has answered. */
export function decisionOf(step: Step): string {
  const approval = eventOf(step, 'approval.response')?.data;
  const sign = eventOf(step, 'connect.response')?.data;
  const decision = textOf(approval?.['decision']);
  const how = decision === 'approve' ? 'approved' : decision === 'reject' ? 'rejected' : decision;
  return [
    approval &&
      `${how}${approval['edited'] === true ? ' with other arguments' : ''}${approval['remembered'] === true ? ', as remembered for this chat' : ''}`,
    sign && (outcomeWords[textOf(sign['outcome'])] ?? textOf(sign['outcome'])),
  ]
    .filter(Boolean)
    .join(', ');
}

export interface Mark {
  words: string;
  tone?: 'good' | 'bad' | 'warn';
}

/** What is particular about a step. */
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
  if (decision !== '') marks.push({ words: decision, tone: /reject|nobody|declined|expired/.test(decision) ? 'bad' : 'good' });
  else if (eventOf(step, 'approval.request') !== undefined && step.end === undefined) marks.push({ words: 'needs approval', tone: 'warn' });
  if (step.innerCount > 0) marks.push({ words: `assistant, ${formatCount(step.innerCount, 'step')} within` });
  if (waits.some(({ kind }) => kind === 'turn')) marks.push({ words: 'waited for its turn' });
  if (data?.['cached'] === true) marks.push({ words: 'from the cache' });
  if (data?.['hook'] === true) marks.push({ words: 'answered by a hook' });
  if (Number(data?.['attempts'] ?? 1) > 1) marks.push({ words: `${textOf(data?.['attempts'])} tries`, tone: 'warn' });
  if (data?.['truncated'] === true) marks.push({ words: 'result truncated', tone: 'warn' });
  if (Array.isArray(eventOf(step, 'tool.call')?.data['repairs'])) marks.push({ words: 'arguments mended', tone: 'warn' });
  return marks;
}

/** What is known of a failed call beside its message. */
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

const waitWords = { person: 'person', turn: 'other calls', 'first-token': 'first word' } as const;

/** `person 3.2 s`: what the step has waited for, and how long. */
export function waitIn({ waits: [wait] }: Step): string | undefined {
  return wait === undefined || !Number.isFinite(wait.end) ? undefined : `${waitWords[wait.kind]} ${formatDuration(wait.end - wait.start)}`;
}

/** Of a result as the log has it: it says of each long text how much it leaves out. */
export function sizeOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const left = [...text.matchAll(/… \[(\d{1,12}) more characters\]/g)].reduce((sum, [, count]) => sum + Number(count), 0);
  return `${left > 0 ? 'about ' : ''}${formatBytes(text.length + left)}`;
}

const maxBrief = 160;

function brief(value: unknown): string {
  const text = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > maxBrief ? `${text.slice(0, maxBrief)}…` : text === '{}' ? '' : text;
}

function sentences(...parts: (string | false | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== false && part !== '').join(' ');
}
