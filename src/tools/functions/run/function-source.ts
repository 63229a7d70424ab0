import type { RunContext } from '../../../core/runs/run.ts';
import { waitAtMost } from '../../../shared/async/wait-for.ts';
import { leftOutWarning, type Candidate, type ToolSource } from '../../definitions/tool-source.ts';
import type { FunctionPlace } from '../define/function-definition.ts';

import type { FunctionFolder } from '../load/function-folder.ts';
import { chooseFunctions, permittedFunctions, isSwitchedOn, type RegisteredFunction } from '../load/function-registry.ts';
import type { FunctionStates } from './function-state.ts';
import { createFunctionTool, placeOf } from './function-tool.ts';

/** `isEnabled` of a function; every chat waits for the slowest. */
const enablementMs = 1_000;

interface FunctionSourceOptions {
  folder: Pick<FunctionFolder, 'registry'>;
  /** The folder's path. */
  path: string;
  states: FunctionStates;
  /** An `isEnabled` threw or took too long. */
  onFault: (functionId: string, error: unknown) => void;
}

/** Supplies the operator's functions to the tool catalog. */
export function createFunctionSource({ folder, path, states, onFault }: FunctionSourceOptions): ToolSource {
  /** Evaluates `isEnabled` of all functions in parallel; one that throws or takes too long hides only its own function. */
  async function enabledAmong(functions: readonly RegisteredFunction[], run: RunContext): Promise<RegisteredFunction[]> {
    const hasConditions = functions.some(({ definition }) => typeof definition.options.isEnabled === 'function');
    const place = placeOf(run, hasConditions ? await states.read(run) : { get: () => undefined });
    const answers = await Promise.all(functions.map((entry) => isEnabled(entry, place)));
    return functions.filter((_, index) => answers[index] === true);
  }

  async function isEnabled({ definition, id }: RegisteredFunction, place: FunctionPlace): Promise<boolean> {
    const { isEnabled: condition = true } = definition.options;
    if (typeof condition === 'boolean') return condition;
    try {
      const answer: unknown = await waitAtMost(enablementMs, Promise.resolve(condition(place)), () => {
        throw new Error(`isEnabled took more than ${enablementMs} ms`);
      });
      return Boolean(answer);
    } catch (error) {
      onFault(id, error);
      return false;
    }
  }

  function toCandidate(entry: RegisteredFunction, isNamed: boolean): Candidate {
    const { name } = entry.definition;
    return {
      wanted: name,
      key: entry.id,
      id: entry.id,
      // Its names within its toolsets.
      otherNames: [...entry.toolsets].flatMap((id) => [`${id}/${name}`, `toolset:${id}/${name}`]),
      isNamed,
      toTool: (offeredName) => createFunctionTool(entry, { offeredName, states, folder: path }),
    };
  }

  /** The same object for the same function, so that lists and offers with it can be kept. */
  const listed = new WeakMap<RegisteredFunction, Candidate>();
  function listedCandidate(entry: RegisteredFunction): Candidate {
    const candidate = listed.get(entry) ?? toCandidate(entry, false);
    listed.set(entry, candidate);
    return candidate;
  }

  return {
    claims: (toolId) => /^(?:function|toolset):/.test(toolId),

    async supplyFor(toolIds, run, request) {
      const registry = await folder.registry();
      const { chosen, named } = chooseFunctions(toolIds, registry, run.caller.tools);
      const enabled = chosen.filter((entry) => isSwitchedOn(entry, registry));
      const disabled = chosen.filter((entry) => !enabled.includes(entry) && toolIds !== undefined);
      const functions = await enabledAmong(enabled, { ...run, conversation: run.conversation ?? request });
      // Toolsets stay open until the run that was offered their functions ends, even if they are replaced meanwhile.
      for (const version of new Set(functions.flatMap((entry) => entry.version ?? []))) run.whenOver?.(version.hold());
      return {
        candidates: functions.map((entry) => (named.has(entry) ? toCandidate(entry, true) : listedCandidate(entry))),
        warnings: disabled.map(({ id }) => leftOutWarning('tool_disabled', `The function "${id}"`, 'its toolset is switched off')),
      };
    },

    async list(caller, signal) {
      const registry = await folder.registry();
      const permitted = permittedFunctions(registry, caller.tools).filter((entry) => isSwitchedOn(entry, registry));
      const run: RunContext = { runId: '', caller, chatId: undefined, messageId: undefined, sessionId: undefined, signal };
      return (await enabledAmong(permitted, run)).map(listedCandidate);
    },
  };
}
