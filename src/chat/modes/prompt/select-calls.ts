import { textOf, type ChatMessage, type ModelEvent } from '../../../core/chat/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Emit } from '../../../shared/async/emit.ts';
import type { JsonObject } from '../../../shared/json/json.ts';
import type { ModelBackend, ModelRequest } from '../../../core/models/model.ts';
import type { RequestPurpose } from '../../../core/models/model-request-log.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import { collectText } from './collect-text.ts';
import { selectionForm } from './constrain-selection.ts';
import { readSelection, type DroppedCall, type ReadSelection, type SelectedEntry } from './read-selection.ts';
import { canonicalJson } from '../../fit-calls/canonical-json.ts';
import type { FittingRules } from '../../fit-calls/fit-arguments.ts';
import { shownTexts } from '../shown-texts.ts';
import { confirmMessage, demandMessage, repairMessage, selectionMessages } from './selection-prompt.ts';

/**
 * Up to this many functions of this size, one request selects functions and arguments. With more, a first request selects names: they take a sixth
 * of the tokens, and most chats need no function at all. 4,000 tokens take a small model without a graphics card half a minute to read.
 */
export const selectedAtOnce = 20;
export const selectedAtOnceCharacters = 16_000;
/** Calls that the schema of a selection allows: a small model that is constrained to a schema may otherwise never end its list. */
const selectedCalls = 16;

export interface SelectionRequest {
  /** The conversation, with tool results inlined into its texts. */
  messages: readonly ChatMessage[];
  offered: readonly ToolSpec[];
  /** The model that chooses. */
  task: { backend: ModelBackend; model: string };
  /** Model options such as the temperature, but none that limit or format the answer. */
  parameters: JsonObject;
  template: string;
  variables: ReadonlyMap<string, string>;
  /** Calls beyond this number are dropped, with a reason in the `selection` event. */
  maxCalls: number;
  /** The request demands a call. */
  isForced: boolean;
  /** What the arguments of a function are checked against, of which the model may have read only a part. */
  schemaOf: (spec: ToolSpec) => JsonObject;
  rulesOf: (spec: ToolSpec) => FittingRules;
  /** Whether the function may run by a name that matches its own. */
  mayRunAs: (written: string, spec: ToolSpec) => boolean;
  caller: { readonly id: string };
  origin: ModelRequest['origin'];
  signal: AbortSignal;
  /** Takes usage and the gateway's own events. */
  emit: Emit<ModelEvent>;
}

export interface ChosenCall {
  name: string;
  /** Fitted to the schema of the function. */
  args: JsonObject;
  /** As the model wrote them. */
  given: JsonObject;
}

export interface Selection {
  calls: ChosenCall[];
  /** Calls of offered functions that must not run. They are reported to the answering model. */
  refused: DroppedCall[];
}

/** Collects the data of the run's `selection` event. */
interface SelectionLog {
  requests: number;
  dropped: DroppedCall[];
  repaired: string[];
  more: JsonObject;
}

/** What one model request gave. */
interface SelectionAnswer extends ReadSelection {
  text: string;
  isCut: boolean;
}

const nothing: Selection = { calls: [], refused: [] };

/**
 * Has a model choose calls in one model request, or in two when many functions are offered (names first, then arguments). One repair request follows
 * when arguments are invalid, a demanded call is missing, or words around a call that may change something leave open whether it is meant; what is
 * still invalid is dropped. When a selection fails, the answer is given without tools, and the `selection` event states the reason.
 */
export async function selectCalls(request: SelectionRequest): Promise<Selection> {
  const log: SelectionLog = { requests: 0, dropped: [], repaired: [], more: {} };
  await request.emit([{ type: 'selecting' }]);
  let selection = nothing;
  try {
    selection = await choose(request, log);
  } catch (error) {
    request.signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    log.more = { ...log.more, error: { code: error.code, message: error.message } };
  }
  const query = textOf(request.messages.findLast((message) => message.role === 'user')?.content ?? null);
  const data = {
    model: request.task.model,
    asked: { query: query.slice(0, 500), functions: request.offered.length, questions: log.requests },
    found: selection.calls.map((call) => call.name),
    dropped: [...log.dropped, ...selection.refused],
    repaired: log.repaired,
    ...log.more,
  };
  await request.emit([{ type: 'run-event', event: { type: 'selection', data } }]);
  return selection;
}

async function choose(request: SelectionRequest, log: SelectionLog): Promise<Selection> {
  const isMany = areMany(request.offered);
  const names = isMany ? await chooseNames(request, log) : { chosen: request.offered, isOpen: false };
  const { chosen } = names;
  if (chosen.length === 0) return nothing;
  if (isMany && !names.isOpen && chosen.every((spec) => hasNoParameters(spec))) {
    const calls = chosen.slice(0, request.maxCalls).map(({ name }) => ({ name, args: {}, given: {} }));
    return { calls, refused: [] };
  }
  const specs = [...new Set(chosen)];
  const messages = selectionMessages(request.messages, specs, request);
  if (messages === undefined) return nothing;
  const answer = await requestSelection(request, { purpose: 'selection', messages, specs, log });
  addToLog(log, answer);
  if (answer.isCut) return nothing;
  const entries = withinBounds(answer.entries, request, log);
  const isMissing = request.isForced && entries.length === 0;
  const faulty = entries.flatMap((entry) => (entry.type === 'faulty' && !entry.isCut ? [entry] : []));
  const again = { purpose: 'selection_repair' as const, specs, log };
  if (isOpen(answer, request)) {
    const parts = partsIn(entries, request).map(({ spec, written }) => ({ written, nearest: spec.name }));
    const messagesAgain = [...messages, ...answerMessage(answer), confirmMessage(problemsIn(faulty), parts)];
    return await confirmSelection(entries, request, { ...again, messages: messagesAgain });
  }
  if (faulty.length === 0 && !isMissing) return toSelection(entries, request);
  const repair = isMissing ? demandMessage(specs) : repairMessage(problemsIn(faulty));
  const { entries: repaired = [] } =
    (await requestAgain(request, {
      ...again,
      messages: [...messages, ...answerMessage(answer), repair],
      specs: isMissing ? specs : specs.filter((spec) => faulty.some((entry) => entry.spec === spec)),
    })) ?? {};
  return toSelection(isMissing ? repaired.slice(0, request.maxCalls) : withRepairs(entries, repaired), request);
}

function problemsIn(faulty: readonly Extract<SelectedEntry, { type: 'faulty' }>[]): { name: string; problems: string[] }[] {
  return faulty.map(({ spec, problems }) => ({ name: spec.name, problems }));
}

function answerMessage({ text }: SelectionAnswer): ChatMessage[] {
  return text.trim() === '' ? [] : [{ role: 'assistant', content: text, toolCalls: [] }];
}

/** A call that may change something has only a part of the function's name, or words around the calls leave open whether they are meant. */
function isOpen({ wordsAround, entries }: SelectionAnswer, request: SelectionRequest): boolean {
  if (partsIn(entries, request).length > 0) return true;
  return wordsAround !== 'harmless' && entries.some(({ spec }) => !request.rulesOf(spec).onlyReads);
}

/** Calls with a part of the name of a function that may change something, as `order` of `cancel_order`. */
function partsIn(entries: readonly SelectedEntry[], { mayRunAs }: SelectionRequest): SelectedEntry[] {
  return entries.filter(({ spec, written }) => !mayRunAs(written, spec));
}

/** The calls of a second answer in place of open ones. Where it does not decide either, nothing runs, and the answering model is told. */
async function confirmSelection(open: readonly SelectedEntry[], request: SelectionRequest, step: SelectionStep): Promise<Selection> {
  const answer = await requestAgain(request, step);
  if (answer === undefined || (!answer.isReadable && answer.entries.length === 0)) {
    const reason = 'Not run: it was unclear whether the model wanted this call, and it did not confirm it when asked again.';
    return { calls: [], refused: open.map(({ spec }) => ({ name: spec.name, reason })) };
  }
  for (const { spec } of open) {
    const isRepeated = answer.entries.some((entry) => entry.spec === spec);
    if (!isRepeated) step.log.dropped.push({ name: spec.name, reason: 'the model withdrew it when asked again' });
  }
  return toSelection(withinBounds(answer.entries, request, step.log), request);
}

/** Whether a first question about names alone is worth a second one about arguments. With a single function there is nothing to choose. */
function areMany(specs: readonly ToolSpec[]): boolean {
  if (specs.length > selectedAtOnce) return true;
  let characters = 0;
  for (const { description, parameters } of specs) characters += description.length + JSON.stringify(parameters).length;
  return specs.length > 1 && characters > selectedAtOnceCharacters;
}

interface ChosenNames {
  chosen: ToolSpec[];
  isOpen: boolean;
}

/** The functions that the model names, in its order; one that is to be called twice occurs twice. */
async function chooseNames(request: SelectionRequest, log: SelectionLog): Promise<ChosenNames> {
  const specs = request.offered.map((spec) => ({ ...spec, parameters: { type: 'object', properties: {} } }));
  const messages = selectionMessages(request.messages, specs, { ...request, areNames: true });
  if (messages === undefined) return { chosen: [], isOpen: false };
  const step: SelectionStep = { purpose: 'selection_names', messages, specs, log };
  const answer = await requestSelection(request, step);
  // Repairs of arguments are irrelevant here: the model has not seen the schemas yet.
  addToLog(log, { ...answer, repaired: answer.repaired.filter((repair) => repair.startsWith('name:')) });
  if (answer.isCut) return { chosen: [], isOpen: false };
  const isMissing = request.isForced && answer.entries.length === 0;
  const repeated = isMissing ? await requestAgain(request, { ...step, messages: [...messages, demandMessage(specs)] }) : answer;
  const chosen = (repeated?.entries ?? []).flatMap(({ spec }) => request.offered.find(({ name }) => name === spec.name) ?? []);
  return { chosen, isOpen: repeated !== undefined && isOpen(repeated, request) };
}

/** One of the model requests of a selection. */
interface SelectionStep {
  purpose: RequestPurpose['type'];
  messages: ChatMessage[];
  specs: readonly ToolSpec[];
  log: SelectionLog;
}

async function requestSelection(request: SelectionRequest, { purpose, messages, specs, log }: SelectionStep): Promise<SelectionAnswer> {
  const { task, parameters, maxCalls, isForced, origin, signal, emit } = request;
  log.requests += 1;
  const modelRequest: ModelRequest = {
    model: task.model,
    messages,
    tools: [],
    callerTools: [],
    toolChoice: undefined,
    parallelToolCalls: undefined,
    parameters,
    stream: false,
    signal,
    ...(origin && { origin }),
    output: selectionForm(specs, { minCalls: isForced ? 1 : 0, maxCalls: Math.min(maxCalls, selectedCalls) }),
    onRepeat: () => {
      log.requests += 1;
    },
    purpose: { type: purpose, functions: specs.map(({ name }) => name), toolChoice: isForced ? 'required' : undefined },
  };
  const { text, isCut } = await collectText(task.backend, modelRequest, emit);
  // A call that the model merely repeats from a user, a page or a tool result must not run.
  const earlierTexts = shownTexts(request.messages);
  return {
    text,
    isCut,
    ...(await readSelection(text, specs, { isCut, run: request, schemaOf: request.schemaOf, rulesOf: request.rulesOf, earlierTexts })),
  };
}

/** Undefined when the request fails, its answer is truncated, or words behind its calls speak against them. */
async function requestAgain(request: SelectionRequest, step: SelectionStep): Promise<SelectionAnswer | undefined> {
  try {
    const answer = await requestSelection(request, step);
    step.log.repaired.push(...answer.repaired.filter((repair) => !step.log.repaired.includes(repair)));
    return answer.isCut || (answer.wordsAround === 'contrary' && isOpen(answer, request)) ? undefined : answer;
  } catch (error) {
    request.signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    return undefined;
  }
}

function addToLog(log: SelectionLog, { dropped, repaired, isCut, isReadable, text }: SelectionAnswer): void {
  log.dropped.push(...dropped);
  log.repaired.push(...repaired);
  if (isCut || !isReadable) log.more = { unreadable: text.slice(0, 500), ...(isCut && { cut: true }) };
}

function withinBounds(entries: readonly SelectedEntry[], { maxCalls }: SelectionRequest, log: SelectionLog): SelectedEntry[] {
  const reason = `only ${maxCalls === 1 ? 'one call' : `${maxCalls} calls`} may be made`;
  for (const { spec } of entries.slice(maxCalls)) log.dropped.push({ name: spec.name, reason });
  return entries.slice(0, maxCalls);
}

/** Replaces each faulty call by a valid call of the same function that is not a duplicate. Nothing else in the repair runs. */
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

function toSelection(entries: readonly SelectedEntry[], request: SelectionRequest): Selection {
  const parts = new Set(partsIn(entries, request));
  return {
    calls: entries.flatMap((entry) =>
      entry.type === 'fits' && !parts.has(entry) ? [{ name: entry.spec.name, args: entry.args, given: entry.given }] : [],
    ),
    refused: entries.flatMap((entry) => {
      if (parts.has(entry)) return [{ name: entry.written.slice(0, 200), reason: 'There is no function of this name.' }];
      if (entry.type === 'fits') return [];
      return [{ name: entry.spec.name, reason: `Invalid arguments for '${entry.spec.name}': ${entry.problems.join('; ')}.` }];
    }),
  };
}

/** Keywords that may hold parameters besides `properties`. */
const otherKeywords = ['oneOf', 'anyOf', 'allOf', 'patternProperties', '$ref'];

function hasNoParameters({ parameters }: ToolSpec): boolean {
  const { properties, additionalProperties: more } = parameters;
  if (otherKeywords.some((keyword) => Object.hasOwn(parameters, keyword))) return false;
  return (more === undefined || more === false) && Object.keys(typeof properties === 'object' ? (properties ?? {}) : {}).length === 0;
}
