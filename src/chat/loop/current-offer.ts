import { warningEvent } from '../../core/chat/caller-warning.ts';
import type { ChatEvent, ToolCall } from '../../core/chat/chat.ts';
import { limits } from '../../core/limits.ts';
import type { ResultStore } from '../../core/stores/result-store.ts';
import type { Tool, ToolOffer, ToolSpec } from '../../core/tools/tool.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { createReadResultTool, readerNameBeside } from '../results/read-result-tool.ts';
import { createResultStore } from '../results/stored-results.ts';
import { resultShareBytes } from '../results/truncate-result.ts';
import type { ToolCallResult } from '../tool-calls/tool-call-result.ts';
import type { RoundScope } from '../tool-calls/tool-call-scope.ts';
import { formerIn, hasShortened, namesOf, specsOf } from './offered-lists.ts';
import { changeData, changesOf, configUpdate } from '../config/config-update.ts';

interface CurrentOfferOptions {
  offer: Pick<ToolOffer, 'tools' | 'finder' | 'describer'>;
  /** The names of the caller's own functions. */
  callerNames: ReadonlySet<string>;
  /** Only a model that may call again can read the rest of a truncated result. */
  canReadOn: boolean;
  /** The context size of the model in tokens, if known. */
  contextTokens: number | undefined;
  /** The function that `tool_choice` demands. It is offered even if it was deferred. */
  demanded: string | undefined;
  /** The offer of a resumed run when it was suspended, and the results that it had stored. */
  resumed: { tools: readonly string[]; results: readonly string[] } | undefined;
}

/** The entries of `tool_ids` that name one tool. */
const idOfOne = /^(?:function:|preset:|toolset:|server:[^/]+\/)/;

/** The functions that the model may call now. The offer grows when tools are found, and functions can replace it. */
export class CurrentOffer {
  /** By offered name. A change replaces the map: other chats may have been offered the same one. */
  tools: ReadonlyMap<string, Tool>;
  readonly #results: ResultStore | undefined;
  /** The most bytes of one result that the model gets. */
  readonly shareBytes: number;
  readonly #callerNames: ReadonlySet<string>;
  #finder: ToolOffer['finder'];
  #describer: Tool | undefined;
  #readerName: string | undefined;

  constructor({ offer, callerNames, canReadOn, contextTokens, demanded, resumed }: CurrentOfferOptions) {
    this.tools = offer.tools;
    this.#callerNames = callerNames;
    this.#results = canReadOn ? createResultStore(resumed?.results) : undefined;
    this.shareBytes = resultShareBytes(contextTokens);
    for (const name of formerIn(offer.tools)) if (resumed?.tools.includes(name) !== true) this.#remove(name);
    this.#takeHelpers(offer);
    if (resumed !== undefined) for (const name of resumed.tools) this.#undefer(name);
    if (demanded !== undefined) this.#undefer(demanded);
    this.#addDescriber();
  }

  get names(): readonly string[] {
    return namesOf(this.tools);
  }

  get specs(): readonly ToolSpec[] {
    return specsOf(this.tools);
  }

  get finderName(): string | undefined {
    return this.#finder?.tool.spec.name;
  }

  /** The truncated results so far, whole. */
  get storedTexts(): string[] {
    return this.#results?.entries() ?? [];
  }

  /** Stores truncated results for `read_result`, which may have another name; undefined if the model cannot call it. */
  get reader(): RoundScope['reader'] {
    return this.#results && { results: this.#results, name: this.#nameOfReader() };
  }

  /** What the model may call now or after a search, as in `tool_ids`. Tools of the request's own servers have no entry there. */
  toolIds(): string[] {
    const all = new Set([...this.tools.values(), ...(this.#finder?.deferred.values() ?? [])]);
    return Array.from(all).flatMap(({ otherNames }) => otherNames?.find((name) => idOfOne.test(name)) ?? []);
  }

  /**
   * Adds the deferred functions that the model calls by their exact names, which it knows from earlier in the conversation. Must run before names
   * are matched, or a similar name on offer would be called instead. Returns the event that reports it.
   */
  addCalled(calls: readonly ToolCall[], time: number): ChatEvent[] {
    return this.#addDeferred(
      calls.map(({ name }) => name.trim()),
      time,
    );
  }

  /** Adds the tools that a search has found. */
  addFound(results: readonly ToolCallResult[], time: number): ChatEvent[] {
    return this.#addDeferred(
      results.flatMap(({ outcome }) => (outcome.type === 'result' ? (outcome.offers ?? []) : [])),
      time,
    );
  }

  /** Adds `read_result` once a result has been truncated. */
  addReader(): void {
    if (this.#results === undefined || this.#results.isEmpty || this.tools.has(this.#nameOfReader())) return;
    this.#add([createReadResultTool(this.#nameOfReader(), this.#results, this.shareBytes)]);
  }

  /** Replaces the offer by one that functions have chosen. */
  replace(offer: ToolOffer): void {
    this.tools = offer.tools;
    this.#readerName = undefined;
    this.#takeHelpers(offer);
    this.#addDescriber();
  }

  /** Replaces the offer by the same one as it is now. Tools that a search has found stay. */
  renew(offer: ToolOffer): void {
    const before = this.names;
    this.replace(offer);
    this.#add(before.flatMap((name) => offer.finder?.deferred.get(name) ?? []));
    this.#addDescriber();
  }

  /** Reports a changed offer. `before`: the names that were offered until then; `changed`: what has changed besides. */
  changeEvents(before: readonly string[], changed: JsonObject, warnings: ToolOffer['warnings'] = []): ChatEvent[] {
    const { names } = this;
    return [
      configUpdate({ ...changed, tools: names.length, functions: [...names], ...changesOf(before, names) }),
      ...warnings.map(warningEvent),
    ];
  }

  /** Its name yields to all other functions of the offer. */
  #nameOfReader(): string {
    return (this.#readerName ??= readerNameBeside(new Set([...this.names, ...this.#callerNames])));
  }

  #takeHelpers({ finder, describer }: Pick<ToolOffer, 'finder' | 'describer'>): void {
    this.#finder = finder;
    this.#describer = describer;
    if (finder !== undefined) this.#add([finder.tool]);
  }

  #add(tools: readonly Tool[]): void {
    if (tools.length > 0) this.tools = new Map([...this.tools, ...tools.map((tool) => [tool.spec.name, tool] as const)]);
  }

  #undefer(name: string): void {
    const tool = this.#finder?.deferred.get(name);
    if (tool !== undefined) this.#add([tool]);
  }

  #remove(name: string): void {
    this.tools = new Map(Array.from(this.tools).filter(([other]) => other !== name));
  }

  #addDeferred(names: readonly string[], time: number): ChatEvent[] {
    const wanted = new Set(
      names.flatMap((name) => this.#finder?.deferred.get(name) ?? []).filter(({ spec }) => !this.tools.has(spec.name)),
    );
    // Providers refuse requests with more tools; the last ones found are dropped.
    const added = [...wanted].slice(0, Math.max(0, limits.toolsPerRequest - this.tools.size));
    this.#add(added);
    if (added.length === 0) return [];
    const data = { tools: this.tools.size, added: added.map(({ spec }) => spec.name), removed: [] };
    this.#addDescriber();
    return [configUpdate({ ...changeData({}, time), ...data })];
  }

  /** Adds the tool that describes shortened functions, once one of them is offered. */
  #addDescriber(): void {
    const describer = this.#describer;
    if (describer === undefined || this.tools.has(describer.spec.name) || this.tools.size >= limits.toolsPerRequest) return;
    if (hasShortened(this.tools)) this.#add([describer]);
  }
}
