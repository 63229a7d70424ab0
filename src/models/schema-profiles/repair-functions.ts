import { setImmediate as nextTick } from 'node:timers/promises';
import type { ModelBackend, ModelLessons, ModelRequest } from '../../core/models/model.ts';
import type { ToolSpec } from '../../core/tools/tool.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import { applyRemedies } from '../remedies/apply-remedies.ts';
import { ownLessons } from '../remedies/refusal-memory.ts';
import { functionRemedy } from './function-remedy.ts';
import { specInProfile, type SchemaProfile } from './to-profile.ts';

/** Functions whose parameters are converted in one tick of the event loop; the largest take twenty milliseconds. */
const convertedInOneTurn = 2;

/**
 * A backend that gets functions in its profile, and that a single bad function cannot make unusable: when an error names the schema of a
 * function, that function is simplified, then left out, and the request is repeated.
 */
export function repairFunctions(
  backend: ModelBackend,
  profile: SchemaProfile,
  lessonsOf: (model: string) => ModelLessons = ownLessons(),
): ModelBackend {
  /** Parameters that have been converted: the result is cached. */
  const converted = new WeakSet<JsonObject>();
  const repaired = new WeakSet<ToolSpec>();

  const inProfile: ModelBackend = {
    answer(request, emit) {
      const { tools } = request;
      const isConverted = tools.every((spec) => converted.has(spec.parameters) || repaired.has(spec));
      if (isConverted) return backend.answer({ ...request, tools: tools.map(toSent) }, emit);
      return convert(tools).then((specs) => backend.answer({ ...request, tools: specs }, emit));
    },
  };

  const toSent = (spec: ToolSpec): ToolSpec => (repaired.has(spec) ? spec : specInProfile(spec, profile));

  async function convert(tools: readonly ToolSpec[]): Promise<ToolSpec[]> {
    const specs: ToolSpec[] = [];
    let count = 0;
    for (const spec of tools) {
      specs.push(toSent(spec));
      if (converted.has(spec.parameters) || repaired.has(spec)) continue;
      converted.add(spec.parameters);
      count += 1;
      if (count % convertedInOneTurn === 0) await nextTick();
    }
    return specs;
  }

  const repairing = applyRemedies(inProfile, [functionRemedy(repaired)], lessonsOf);
  return {
    answer: (request: ModelRequest, emit) => (request.tools.length === 0 ? backend.answer(request, emit) : repairing.answer(request, emit)),
  };
}
