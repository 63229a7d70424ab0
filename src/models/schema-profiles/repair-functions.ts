import { setImmediate as nextTurn } from 'node:timers/promises';
import { warningEvent } from '../../core/chat/caller-warning.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Emit } from '../../shared/emit.ts';
import { withRemedies } from '../../shared/with-remedies.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { ModelEvent } from '../../core/chat/chat.ts';
import type { ModelBackend, ModelRequest } from '../../core/models/model.ts';
import type { ToolSpec } from '../../core/tools/tool.ts';
import { findFault } from './find-fault.ts';
import { simplifyParameters } from './simplify-parameters.ts';
import { specInProfile, type SchemaProfile } from './to-profile.ts';

/** How often one model request is repeated; the last times with all functions simplified. */
const maxRepairs = 6;
/** After so many refusals all functions are simplified: the backend understands little of JSON Schema. */
const repairsBeforeAll = 3;

/** Functions whose parameters are converted in one turn of the event loop; the largest take twenty milliseconds. */
const convertedInOneTurn = 2;

/** What is done about a function that a backend refused. `plain`: sent as it is, without `strict`. */
type Remedy = 'plain' | 'simplified' | 'left out';

/**
 * A backend that gets functions in its profile, and that a single bad function cannot make unusable: when an error names the schema of a
 * function, that function is simplified, then left out, and the request is repeated. What helped is remembered for the function as long as it
 * is registered. Only before the first event: no text is ever emitted twice.
 */
export function repairFunctions(backend: ModelBackend, profile: SchemaProfile): ModelBackend {
  const remedies = new WeakMap<JsonObject, Remedy>();
  /** Parameters that have been converted: the result is cached. */
  const seen = new WeakSet<JsonObject>();

  function answer(request: ModelRequest, emit: Emit<ModelEvent>): Promise<void> {
    let repairs = 0;
    return withRemedies(
      request,
      (next, emitNext: Emit<ModelEvent>) => {
        const ask = (tools: ToolSpec[]): Promise<void> => backend.answer({ ...next, tools }, emitNext);
        return next.tools.every(isConverted) ? ask(next.tools.flatMap(remedied)) : convert(next.tools).then(ask);
      },
      {
        emit,
        maxRepeats: maxRepairs,
        async remedy(error) {
          const message = remedyFor(error, request.tools, repairs);
          if (message === undefined) return undefined;
          request.signal.throwIfAborted();
          repairs += 1;
          request.onRepeat?.({ ...request, purpose: { type: 'answer', ...request.purpose, reason: 'functions_refused' } }, error);
          await emit([warningEvent({ code: 'function_schema_refused', message })]);
          return request;
        },
      },
    );
  }

  const isConverted = ({ parameters }: ToolSpec): boolean => seen.has(parameters) && !remedies.has(parameters);

  async function convert(tools: readonly ToolSpec[]): Promise<ToolSpec[]> {
    const specs: ToolSpec[] = [];
    let converted = 0;
    for (const tool of tools) {
      specs.push(...remedied(tool));
      if (isConverted(tool)) continue;
      seen.add(tool.parameters);
      converted += 1;
      if (converted % convertedInOneTurn === 0) await nextTurn();
    }
    return specs;
  }

  function remedied(spec: ToolSpec): ToolSpec[] {
    const remedy = remedies.get(spec.parameters);
    if (remedy === 'left out') return [];
    if (remedy === undefined) return [specInProfile(spec, profile)];
    const { strict: _strict, ...plain } = spec;
    return [remedy === 'plain' ? plain : { ...plain, parameters: simplifyParameters(spec.parameters) }];
  }

  /** What was done about it, in a sentence; undefined when nothing can be done. */
  function remedyFor(error: unknown, tools: readonly ToolSpec[], repairs: number): string | undefined {
    const sent = tools.filter((spec) => remedies.get(spec.parameters) !== 'left out');
    const fault = error instanceof GatewayError ? findFault(error, sent) : undefined;
    if (fault === undefined) return undefined;
    const untouched = sent.filter((spec) => !remedies.has(spec.parameters));
    const strict = untouched.filter((spec) => spec.strict === true && (fault.type === 'unnamed' || fault.spec === spec));
    if (strict.length > 0) {
      for (const spec of strict) remedies.set(spec.parameters, 'plain');
      return `The model refuses the strict form of a function; it is offered in its plain one.`;
    }
    if (fault.type === 'unnamed' || repairs >= repairsBeforeAll) {
      for (const spec of untouched) remedies.set(spec.parameters, 'simplified');
      if (untouched.length > 0) return `The model refuses the schema of a function; all are offered in a simpler form.`;
    }
    if (fault.type === 'unnamed') return undefined;
    const known = remedies.get(fault.spec.parameters);
    const remedy = known === 'simplified' ? 'left out' : 'simplified';
    remedies.set(fault.spec.parameters, remedy);
    return remedy === 'left out'
      ? `The function "${fault.spec.name}" is left out: the model refuses its schema.`
      : `The function "${fault.spec.name}" is offered in a simpler form: the model refuses its schema.`;
  }

  return { answer: (request, emit) => (request.tools.length === 0 ? backend.answer(request, emit) : answer(request, emit)) };
}
