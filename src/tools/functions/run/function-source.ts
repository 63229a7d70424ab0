import { limits } from '../../../core/limits.ts';
import type { RunContext } from '../../../core/run.ts';
import type { Tool } from '../../../core/tool.ts';
import { leftOutWarning } from '../../catalog/offer-tools.ts';
import type { Candidate, Warning } from '../../catalog/offer-tools.ts';
import type { SuppliedFunctions } from '../../servers/request-servers.ts';
import type { ToolSource } from '../../catalog/tool-source.ts';
import type { ChatStates } from './function-state.ts';
import { chooseFunctions, functionsInReach } from './choose-functions.ts';
import { placeOf } from './function-context.ts';
import type { FunctionPlace } from '../define/function-definition.ts';
import type { FunctionFolder } from '../load/function-folder.ts';
import { isSwitchedOn } from '../load/function-registry.ts';
import type { RegisteredFunction } from '../load/function-registry.ts';
import { createFunctionTool } from './function-tool.ts';
import type { Execute } from './function-tool.ts';
import { runInThread } from './run-in-thread.ts';

export interface FunctionSourceOptions {
  folder: Pick<FunctionFolder, 'shelf'>;
  /** The folder's path; threads load their modules as it does. */
  path: string;
  states: ChatStates;
  /** Told of an `isEnabled` that failed. */
  onFault: (what: string, error: unknown) => void;
}

/** The functions of this process, for the common offer. */
export function createFunctionSource({ folder, path, states, onFault }: FunctionSourceOptions): ToolSource {
  /** All at once; one that throws or takes too long hides only itself. */
  async function enabledAmong(functions: readonly RegisteredFunction[], run: RunContext): Promise<RegisteredFunction[]> {
    const place = placeOf(run);
    const answers = await Promise.all(functions.map((entry) => isEnabled(entry, place)));
    return functions.filter((_, index) => answers[index] === true);
  }

  async function isEnabled({ definition, id }: RegisteredFunction, place: FunctionPlace): Promise<boolean> {
    const { isEnabled: condition = true } = definition.options;
    if (typeof condition === 'boolean') return condition;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`isEnabled took more than ${limits.enablementMs} ms`)), limits.enablementMs);
    try {
      const answer: unknown = await Promise.race([condition(place), late]);
      return Boolean(answer);
    } catch (error) {
      onFault(id, error);
      return false;
    } finally {
      clearTimeout(timer);
    }
  }

  function toTool({ definition, label, server, module, version }: RegisteredFunction, offeredName: string): Tool {
    const inThread: Execute = (args, context, state) =>
      runInThread({ path: module.path, folder: path, sources: module.sources, name: definition.name }, { args, context, state });
    const execute = definition.options.execute as Execute;
    return createFunctionTool({
      definition,
      offeredName,
      label,
      server,
      states,
      path: module.path,
      execute: definition.options.worker === true ? inThread : (args, context, state) => execute(args, context, state),
      ...(version !== undefined && { hold: () => version.hold() }),
    });
  }

  function toCandidate(entry: RegisteredFunction, isNamed: boolean): Candidate {
    return {
      wanted: entry.definition.name,
      key: entry.id,
      id: entry.id,
      otherNames: namesOf(entry),
      ...(isNamed && { isNamed }),
      toTool: (offeredName) => toTool(entry, offeredName),
    };
  }

  return {
    claims: (toolId) => /^(?:function|toolset):/.test(toolId),

    async supplyFor(toolIds, run, request): Promise<SuppliedFunctions> {
      const shelf = await folder.shelf();
      const { chosen, named } = chooseFunctions(toolIds, shelf, run.caller.tools);
      const on = chosen.filter((entry) => isSwitchedOn(entry, shelf));
      const off = chosen.filter((entry) => !on.includes(entry) && toolIds !== undefined);
      const functions = await enabledAmong(on, { ...run, conversation: run.conversation ?? request });
      // The run keeps what it was offered until it ends, also what is replaced meanwhile.
      for (const version of new Set(functions.map((entry) => entry.version))) holdForRun(version, run);
      const warnings = off.map((entry): Warning =>
        leftOutWarning('tool_disabled', `The function "${entry.id}"`, 'its toolset is switched off'),
      );
      return { candidates: functions.map((entry) => toCandidate(entry, named.has(entry))), warnings };
    },

    async list(caller, signal) {
      const shelf = await folder.shelf();
      const inReach = functionsInReach(shelf, caller.tools).filter((entry) => isSwitchedOn(entry, shelf));
      const run: RunContext = { runId: '', caller, chatId: undefined, messageId: undefined, sessionId: undefined, signal };
      return (await enabledAmong(inReach, run)).map((entry) => toCandidate(entry, false));
    },
  };
}

/** As the toolsets name it that hold it. */
function namesOf({ definition: { name }, toolsets }: RegisteredFunction): string[] {
  return [...toolsets].flatMap((id) => [`${id}/${name}`, `toolset:${id}/${name}`]);
}

function holdForRun(version: RegisteredFunction['version'], { whenOver }: RunContext): void {
  if (version !== undefined) whenOver?.(version.hold());
}
