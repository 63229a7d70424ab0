import { setImmediate as nextTick } from 'node:timers/promises';
import type { ModelBackend, ModelRequest, SchemaForm } from '../../core/models/model.ts';
import type { ToolSpec } from '../../core/tools/tool.ts';
import { isJsonObject, type JsonObject } from '../../shared/json/json.ts';
import { convertCallerFunction, nameOfFunction } from './caller-schemas.ts';
import { specInProfile, type SchemaProfile } from './to-profile.ts';

/** Functions whose parameters are converted in one tick of the event loop; the largest take twenty milliseconds. */
const convertedInOneTick = 2;

/**
 * A backend that gets the gateway's functions in its profile. The caller's are sent as they are, unless the request says otherwise; `callers`: what
 * they are converted to if it does not.
 */
export function convertOffer(backend: ModelBackend, profile: SchemaProfile, callers?: SchemaForm): ModelBackend {
  /** Parameters that have been converted: the result is cached. */
  const converted = new WeakSet<JsonObject>();
  const toSent = (spec: ToolSpec): ToolSpec => specInProfile(spec, profile);
  /** By the list, so that what is derived of the converted one can be kept. */
  const sentLists = new WeakMap<readonly ToolSpec[], readonly ToolSpec[]>();
  /** Undefined if something of the list has to be converted. */
  function knownList(tools: readonly ToolSpec[]): readonly ToolSpec[] | undefined {
    const known = sentLists.get(tools);
    if (known !== undefined) return known;
    if (tools.some(({ parameters }) => !converted.has(parameters))) return undefined;
    const sent = tools.map(toSent);
    sentLists.set(tools, sent);
    return sent;
  }

  async function convertInTicks({ tools, callerTools, callerSchemas }: ModelRequest): Promise<Pick<ModelRequest, 'tools' | 'callerTools'>> {
    let count = 0;
    async function countNew(parameters: JsonObject): Promise<void> {
      if (converted.has(parameters)) return;
      converted.add(parameters);
      count += 1;
      if (count % convertedInOneTick === 0) await nextTick();
    }
    const specs: ToolSpec[] = [];
    for (const spec of tools) {
      specs.push(toSent(spec));
      await countNew(spec.parameters);
    }
    const entries: JsonObject[] = [];
    for (const entry of callerTools) {
      const isSimple = callerSchemas?.simple?.includes(nameOfFunction(entry) ?? '') === true;
      const form = isSimple ? 'simple' : (callerSchemas?.all ?? callers);
      entries.push(form === undefined ? entry : convertCallerFunction(entry, form, profile));
      await countNew(isJsonObject(entry['function']) ? entry['function'] : entry);
    }
    return { tools: specs, callerTools: entries };
  }

  return {
    answer(request, emit) {
      const { tools, callerTools, callerSchemas } = request;
      const isCallersUnchanged = callerTools.length === 0 || (callers === undefined && callerSchemas === undefined);
      if (isCallersUnchanged && tools.length === 0) return backend.answer(request, emit);
      const known = isCallersUnchanged ? knownList(tools) : undefined;
      if (known !== undefined) return backend.answer({ ...request, tools: known }, emit);
      return convertInTicks(request).then((offer) => backend.answer({ ...request, ...offer }, emit));
    },
  };
}
