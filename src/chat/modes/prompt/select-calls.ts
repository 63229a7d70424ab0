import type { ChatMessage, ModelEvent } from '../../../core/chat.ts';
import { textOf } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Emit } from '../../../shared/emit.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { limits } from '../../../core/limits.ts';
import type { ModelBackend, ModelRequest } from '../../../core/model.ts';
import type { Asking } from '../../../core/model-request-log.ts';
import type { ToolSpec } from '../../../core/tool.ts';
import { collectText } from '../../loop/collect-text.ts';
import type { CollectedText } from '../../loop/collect-text.ts';
import { selectionForm } from './constrain-selection.ts';
import { readSelection } from './read-selection.ts';
import type { DroppedCall, ReadSelection, SelectedEntry } from './read-selection.ts';
import { canonicalJson } from '../../tool-calls/canonical-json.ts';
import { demandMessage, repairMessage, selectionMessages } from './selection-prompt.ts';

export interface SelectionQuestion {
  /** The conversation, results of earlier calls folded into it. */
  messages: readonly ChatMessage[];
  offered: readonly ToolSpec[];
  /** Who is asked. */
  task: { backend: ModelBackend; model: string };
  /** How the model is run; nothing that would cut or form its answer. */
  parameters: JsonObject;
  template: string;
  variables: ReadonlyMap<string, string>;
  /** At most so many calls; beyond them the selection is cut, and says so. */
  maxCalls: number;
  /** The request demands a call. */
  isForced: boolean;
  caller: { readonly id: string };
  signal: AbortSignal;
  /** Takes usage and the gateway's own events. */
  emit: Emit<ModelEvent>;
}

export interface ChosenCall {
  name: string;
  args: JsonObject;
}

export interface Selection {
  calls: ChosenCall[];
  /** Calls of offered functions that must not run: the answering model is told. */
  refused: DroppedCall[];
}

/** What the run's `selection` event will say. */
interface Account {
  questions: number;
  dropped: DroppedCall[];
  repaired: string[];
  more: JsonObject;
}

const nothing: Selection = { calls: [], refused: [] };

/**
 * Has a model choose calls, by one question; by two when many functions are offered (their names first); and by one more when arguments do not fit
 * or a demanded call is missing. What does not fit then is dropped. A selection that fails costs the tools, not the answer: the event says why.
 */
export async function selectCalls(question: SelectionQuestion): Promise<Selection> {
  const account: Account = { questions: 0, dropped: [], repaired: [], more: {} };
  let selection = nothing;
  try {
    selection = await choose(question, account);
  } catch (error) {
    question.signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    account.more = { ...account.more, error: { code: error.code, message: error.message } };
  }
  const query = textOf(question.messages.findLast((message) => message.role === 'user')?.content ?? null);
  const data = {
    model: question.task.model,
    asked: { query: query.slice(0, 500), functions: question.offered.length, questions: account.questions },
    found: selection.calls.map((call) => call.name),
    dropped: [...account.dropped, ...selection.refused],
    repaired: account.repaired,
    ...account.more,
  };
  await question.emit([{ type: 'run-event', event: { type: 'selection', data } }]);
  return selection;
}

async function choose(question: SelectionQuestion, account: Account): Promise<Selection> {
  const isMany = question.offered.length > limits.selectedAtOnce;
  const chosen = isMany ? await chooseNames(question, account) : question.offered;
  if (chosen.length === 0) return nothing;
  if (isMany && chosen.every((spec) => takesNothing(spec))) {
    const calls = chosen.slice(0, question.maxCalls).map(({ name }) => ({ name, args: {} }));
    return { calls, refused: [] };
  }
  const specs = [...new Set(chosen)];
  const messages = selectionMessages(question.messages, specs, question);
  if (messages === undefined) return nothing;
  const answer = await ask(question, { purpose: 'selection', messages, specs, account });
  const read = await readSelection(answer.text, specs, { isCut: answer.isCut, run: question, earlierTexts: earlierTextsOf(question) });
  note(account, read, answer);
  if (answer.isCut) return nothing;
  const entries = withinBounds(read.entries, question, account);
  const isMissing = question.isForced && entries.length === 0;
  const faulty = entries.flatMap((entry) => (entry.type === 'faulty' && !entry.isCut ? [entry] : []));
  if (faulty.length === 0 && !isMissing) return settled(entries);
  const repair = isMissing ? demandMessage(specs) : repairMessage(faulty.map(({ spec, problems }) => ({ name: spec.name, problems })));
  const said: ChatMessage[] = answer.text.trim() === '' ? [] : [{ role: 'assistant', content: answer.text, toolCalls: [] }];
  const wanted = isMissing ? specs : specs.filter((spec) => faulty.some((entry) => entry.spec === spec));
  const second = await askAgain(question, {
    purpose: 'selection_repair',
    messages: [...messages, ...said, repair],
    specs: wanted,
    account,
  });
  return settled(isMissing ? second.slice(0, question.maxCalls) : withRepairs(entries, second));
}

/** The functions that are to be called, as often and in the order that the model names them. */
async function chooseNames(question: SelectionQuestion, account: Account): Promise<ToolSpec[]> {
  const bare = question.offered.map((spec) => ({ ...spec, parameters: { type: 'object', properties: {} } }));
  const messages = selectionMessages(question.messages, bare, question);
  if (messages === undefined) return [];
  const answer = await ask(question, { purpose: 'selection_names', messages, specs: bare, account });
  const read = await readSelection(answer.text, bare, { isCut: answer.isCut, run: question, earlierTexts: earlierTextsOf(question) });
  // What it wrote as arguments was written without their schemas.
  note(account, { ...read, repaired: read.repaired.filter((repair) => repair.startsWith('name:')) }, answer);
  if (answer.isCut) return [];
  const isMissing = question.isForced && read.entries.length === 0;
  const entries = isMissing
    ? await askAgain(question, { purpose: 'selection_names', messages: [...messages, demandMessage(bare)], specs: bare, account })
    : read.entries;
  return entries.flatMap(({ spec }) => question.offered.find(({ name }) => name === spec.name) ?? []);
}

interface SelectionAsking extends Pick<Asking, 'purpose'> {
  messages: ChatMessage[];
  specs: readonly ToolSpec[];
  account: Account;
}

async function ask(question: SelectionQuestion, { purpose, messages, specs, account }: SelectionAsking): Promise<CollectedText> {
  account.questions += 1;
  const request: ModelRequest = {
    model: question.task.model,
    messages,
    tools: [],
    callerTools: [],
    toolChoice: undefined,
    parallelToolCalls: undefined,
    parameters: question.parameters,
    stream: false,
    signal: question.signal,
    output: selectionForm(specs, { minCalls: question.isForced ? 1 : 0, maxCalls: Math.min(question.maxCalls, limits.selectedCalls) }),
    askedAgain: () => {
      account.questions += 1;
    },
    asking: { purpose, functions: specs.map(({ name }) => name), toolChoice: question.isForced ? 'required' : undefined },
  };
  return collectText(question.task.backend, request, question.emit);
}

/** A repair that cannot be had leaves what was there before. */
async function askAgain(question: SelectionQuestion, asking: SelectionAsking): Promise<SelectedEntry[]> {
  try {
    const answer = await ask(question, asking);
    const read = await readSelection(answer.text, asking.specs, {
      isCut: answer.isCut,
      run: question,
      earlierTexts: earlierTextsOf(question),
    });
    asking.account.repaired.push(...read.repaired.filter((repair) => !asking.account.repaired.includes(repair)));
    return answer.isCut ? [] : read.entries;
  } catch (error) {
    question.signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    return [];
  }
}

/** What users, pages and results say does not act through a model that repeats it. */
function earlierTextsOf({ messages }: SelectionQuestion): string[] {
  return messages.map((message) => textOf(message.content));
}

function note(account: Account, read: ReadSelection, answer: CollectedText): void {
  account.dropped.push(...read.dropped);
  account.repaired.push(...read.repaired);
  if (answer.isCut || !read.isReadable) account.more = { unreadable: answer.text.slice(0, 500), ...(answer.isCut ? { cut: true } : {}) };
}

function withinBounds(entries: readonly SelectedEntry[], { maxCalls }: SelectionQuestion, account: Account): SelectedEntry[] {
  const reason = `only ${maxCalls === 1 ? 'one call' : `${maxCalls} calls`} may be made`;
  for (const { spec } of entries.slice(maxCalls)) account.dropped.push({ name: spec.name, reason });
  return entries.slice(0, maxCalls);
}

/** Each faulty call is replaced by a call of the same function that fits and is not there yet; nothing else of a repair runs. */
function withRepairs(entries: readonly SelectedEntry[], repairs: readonly SelectedEntry[]): SelectedEntry[] {
  const taken = new Set(entries.flatMap((entry) => (entry.type === 'fits' ? [keyOf(entry)] : [])));
  return entries.map((entry) => {
    if (entry.type === 'fits') return entry;
    const repair = repairs.find((other) => other.type === 'fits' && other.spec === entry.spec && !taken.has(keyOf(other)));
    if (repair === undefined || repair.type === 'faulty') return entry;
    taken.add(keyOf(repair));
    return repair;
  });
}

function keyOf(entry: Extract<SelectedEntry, { type: 'fits' }>): string {
  return `${entry.spec.name} ${canonicalJson(entry.args)}`;
}

function settled(entries: readonly SelectedEntry[]): Selection {
  return {
    calls: entries.flatMap((entry) => (entry.type === 'fits' ? [{ name: entry.spec.name, args: entry.args }] : [])),
    refused: entries.flatMap((entry) => {
      if (entry.type === 'fits') return [];
      return [{ name: entry.spec.name, reason: `Invalid arguments for '${entry.spec.name}': ${entry.problems.join('; ')}.` }];
    }),
  };
}

/** Where arguments may stand beside `properties`. */
const otherPlaces = ['oneOf', 'anyOf', 'allOf', 'patternProperties', '$ref'];

function takesNothing({ parameters }: ToolSpec): boolean {
  const { properties, additionalProperties: more } = parameters;
  if (otherPlaces.some((keyword) => Object.hasOwn(parameters, keyword))) return false;
  return more !== true && Object.keys(typeof properties === 'object' ? (properties ?? {}) : {}).length === 0;
}
