import type { ChatMessage, ModelEvent } from '../../../core/chat.ts';
import { textOf } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Emit } from '../../../shared/emit.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { limits } from '../../../core/limits.ts';
import type { ModelBackend, ModelRequest } from '../../../core/model.ts';
import type { RequestPurpose } from '../../../core/model-request-log.ts';
import type { ToolSpec } from '../../../core/tool.ts';
import { collectText } from '../../loop/collect-text.ts';
import { selectionForm } from './constrain-selection.ts';
import { readSelection } from './read-selection.ts';
import type { DroppedCall, ReadSelection, SelectedEntry } from './read-selection.ts';
import { canonicalJson } from '../../tool-calls/canonical-json.ts';
import { demandMessage, repairMessage, selectionMessages } from './selection-prompt.ts';

export interface SelectionRequest {
  /** The conversation, results of earlier calls folded into it. */
  messages: readonly ChatMessage[];
  offered: readonly ToolSpec[];
  /** Who chooses. */
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
 * Has a model choose calls, by one model request; by two when many functions are offered (their names first); and by one more when arguments do not fit
 * or a demanded call is missing. What does not fit then is dropped. A selection that fails costs the tools, not the answer: the event says why.
 */
export async function selectCalls(request: SelectionRequest): Promise<Selection> {
  const log: SelectionLog = { requests: 0, dropped: [], repaired: [], more: {} };
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
  const isMany = request.offered.length > limits.selectedAtOnce;
  const chosen = isMany ? await chooseNames(request, log) : request.offered;
  if (chosen.length === 0) return nothing;
  if (isMany && chosen.every((spec) => takesNothing(spec))) {
    const calls = chosen.slice(0, request.maxCalls).map(({ name }) => ({ name, args: {} }));
    return { calls, refused: [] };
  }
  const specs = [...new Set(chosen)];
  const messages = selectionMessages(request.messages, specs, request);
  if (messages === undefined) return nothing;
  const answer = await requestSelection(request, { purpose: 'selection', messages, specs, log });
  note(log, answer);
  if (answer.isCut) return nothing;
  const entries = withinBounds(answer.entries, request, log);
  const isMissing = request.isForced && entries.length === 0;
  const faulty = entries.flatMap((entry) => (entry.type === 'faulty' && !entry.isCut ? [entry] : []));
  if (faulty.length === 0 && !isMissing) return settled(entries);
  const repair = isMissing ? demandMessage(specs) : repairMessage(faulty.map(({ spec, problems }) => ({ name: spec.name, problems })));
  const said: ChatMessage[] = answer.text.trim() === '' ? [] : [{ role: 'assistant', content: answer.text, toolCalls: [] }];
  const second = await requestRepair(request, {
    purpose: 'selection_repair',
    messages: [...messages, ...said, repair],
    specs: isMissing ? specs : specs.filter((spec) => faulty.some((entry) => entry.spec === spec)),
    log,
  });
  return settled(isMissing ? second.slice(0, request.maxCalls) : withRepairs(entries, second));
}

/** The functions that are to be called, as often and in the order that the model names them. */
async function chooseNames(request: SelectionRequest, log: SelectionLog): Promise<ToolSpec[]> {
  const specs = request.offered.map((spec) => ({ ...spec, parameters: { type: 'object', properties: {} } }));
  const messages = selectionMessages(request.messages, specs, request);
  if (messages === undefined) return [];
  const step: SelectionStep = { purpose: 'selection_names', messages, specs, log };
  const answer = await requestSelection(request, step);
  // What it wrote as arguments was written without their schemas.
  note(log, { ...answer, repaired: answer.repaired.filter((repair) => repair.startsWith('name:')) });
  if (answer.isCut) return [];
  const isMissing = request.isForced && answer.entries.length === 0;
  const entries = isMissing ? await requestRepair(request, { ...step, messages: [...messages, demandMessage(specs)] }) : answer.entries;
  return entries.flatMap(({ spec }) => request.offered.find(({ name }) => name === spec.name) ?? []);
}

/** One of the model requests of a selection. */
interface SelectionStep {
  purpose: RequestPurpose['type'];
  messages: ChatMessage[];
  specs: readonly ToolSpec[];
  log: SelectionLog;
}

async function requestSelection(request: SelectionRequest, { purpose, messages, specs, log }: SelectionStep): Promise<SelectionAnswer> {
  const { task, parameters, maxCalls, isForced, signal, emit } = request;
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
    output: selectionForm(specs, { minCalls: isForced ? 1 : 0, maxCalls: Math.min(maxCalls, limits.selectedCalls) }),
    onRepeat: () => {
      log.requests += 1;
    },
    purpose: { type: purpose, functions: specs.map(({ name }) => name), toolChoice: isForced ? 'required' : undefined },
  };
  const { text, isCut } = await collectText(task.backend, modelRequest, emit);
  // What users, pages and results say does not act through a model that repeats it.
  const earlierTexts = request.messages.map((message) => textOf(message.content));
  return { text, isCut, ...(await readSelection(text, specs, { isCut, run: request, earlierTexts })) };
}

/** A repair that cannot be had leaves what was there before. */
async function requestRepair(request: SelectionRequest, step: SelectionStep): Promise<SelectedEntry[]> {
  try {
    const { entries, repaired, isCut } = await requestSelection(request, step);
    step.log.repaired.push(...repaired.filter((repair) => !step.log.repaired.includes(repair)));
    return isCut ? [] : entries;
  } catch (error) {
    request.signal.throwIfAborted();
    if (!(error instanceof GatewayError)) throw error;
    return [];
  }
}

function note(log: SelectionLog, { dropped, repaired, isCut, isReadable, text }: SelectionAnswer): void {
  log.dropped.push(...dropped);
  log.repaired.push(...repaired);
  if (isCut || !isReadable) log.more = { unreadable: text.slice(0, 500), ...(isCut && { cut: true }) };
}

function withinBounds(entries: readonly SelectedEntry[], { maxCalls }: SelectionRequest, log: SelectionLog): SelectedEntry[] {
  const reason = `only ${maxCalls === 1 ? 'one call' : `${maxCalls} calls`} may be made`;
  for (const { spec } of entries.slice(maxCalls)) log.dropped.push({ name: spec.name, reason });
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

/** Keywords that may hold parameters beside `properties`. */
const otherKeywords = ['oneOf', 'anyOf', 'allOf', 'patternProperties', '$ref'];

function takesNothing({ parameters }: ToolSpec): boolean {
  const { properties, additionalProperties: more } = parameters;
  if (otherKeywords.some((keyword) => Object.hasOwn(parameters, keyword))) return false;
  return more !== true && Object.keys(typeof properties === 'object' ? (properties ?? {}) : {}).length === 0;
}
