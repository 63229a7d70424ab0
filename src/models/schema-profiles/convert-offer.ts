import { setImmediate as nextTick } from 'node:timers/promises';
import type { ModelBackend } from '../../core/models/model.ts';
import type { ToolSpec } from '../../core/tools/tool.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { specInProfile, type SchemaProfile } from './to-profile.ts';

/** Functions whose parameters are converted in one tick of the event loop; the largest take twenty milliseconds. */
const convertedInOneTick = 2;

/** A backend that gets the gateway's functions in its profile. */
export function convertOffer(backend: ModelBackend, profile: SchemaProfile): ModelBackend {
  /** Parameters that have been converted: the result is cached. */
  const converted = new WeakSet<JsonObject>();
  const toSent = (spec: ToolSpec): ToolSpec => specInProfile(spec, profile);

  async function convertInTicks(tools: readonly ToolSpec[]): Promise<ToolSpec[]> {
    const specs: ToolSpec[] = [];
    let count = 0;
    for (const spec of tools) {
      specs.push(toSent(spec));
      if (converted.has(spec.parameters)) continue;
      converted.add(spec.parameters);
      count += 1;
      if (count % convertedInOneTick === 0) await nextTick();
    }
    return specs;
  }

  return {
    answer(request, emit) {
      const { tools } = request;
      if (tools.length === 0) return backend.answer(request, emit);
      if (tools.every(({ parameters }) => converted.has(parameters))) return backend.answer({ ...request, tools: tools.map(toSent) }, emit);
      return convertInTicks(tools).then((specs) => backend.answer({ ...request, tools: specs }, emit));
    },
  };
}
