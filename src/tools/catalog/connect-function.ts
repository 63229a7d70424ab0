import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { RunContext } from '../../core/runs/run.ts';
import type { Tool, ToolOutcome, ToolSpec } from '../../core/tools/tool.ts';
import type { Opening } from '../definitions/opened-server.ts';
import { withNames } from './named-functions.ts';
import type { Candidate } from '../definitions/tool-source.ts';
import type { CallerServers } from '../servers/caller-servers.ts';
import { trustSchema } from '../../validation/trusted-schemas.ts';

/** The longest name of a function. */
const nameCharacters = 64;
/** Names of functions in its result; the others are only counted. */
const maxNamed = 50;

export function connectFunctionName({ id }: Pick<ToolServerRecord, 'id'>): string {
  return `connect_${id}`.slice(0, nameCharacters);
}

/** The same object for the same record, because indexes and counts are cached by object. */
const specs = new WeakMap<ToolServerRecord, ToolSpec>();

function specFor(record: ToolServerRecord): ToolSpec {
  const { id, name = id, description = '' } = record;
  const about = description === '' ? '' : ` About it: ${description}`;
  const spec = specs.get(record) ?? {
    name: connectFunctionName(record),
    description: `Connects the user to ${name}. Call it when the user wants something that ${name} may have; its functions can be called afterwards.${about}`,
    parameters: trustSchema({ type: 'object', properties: {} }),
  };
  specs.set(record, spec);
  return spec;
}

/**
 * Offered instead of the functions of a server that lists them only to people who have connected. Calling it asks the caller to connect; the run then
 * continues with the functions themselves. `isFormer`: the caller has connected, and this function is needed only for a call that waited for that.
 */
export function connectCandidate(record: ToolServerRecord, open: CallerServers['open'], isFormer: boolean): Candidate {
  const { id } = record;
  const spec = specFor(record);
  const wanted = spec.name;
  const candidate = { wanted, key: `${id} connect`, spec };
  const openNow = async (run: RunContext): Promise<Opening> => open(record, run, true);
  return {
    ...candidate,
    toTool: (offeredName): Tool =>
      withNames(
        {
          spec: offeredName === wanted ? spec : { ...spec, name: offeredName },
          label: `${id}/${wanted}`,
          server: id,
          kind: record.type,
          isHelper: true,
          ...(isFormer && { isFormer }),
          async whyNotReady(run) {
            const opening = await openNow(run);
            return needsCredential(opening) ? credentialRequired(record, opening.reason) : undefined;
          },
          run: async ({ run }) => resultOf(record, await openNow(run)),
        },
        candidate,
      ),
  };
}

type Closed = Exclude<Opening, { type: 'opened' }>;

/** Whether the server lists its functions once its caller has connected. */
export function needsCredential(opening: Opening): opening is Closed {
  return opening.type === 'unsupported' && opening.needsCredential === true;
}

function credentialRequired({ id, name = id }: ToolServerRecord, reason: string): Extract<ToolOutcome, { type: 'error' }> {
  const message = `The tool server "${id}" cannot be used yet: ${reason}.`;
  return { type: 'error', code: 'credential_required', message, state: 'not_started', connect: { server: id, name } };
}

function resultOf(record: ToolServerRecord, opening: Opening): ToolOutcome {
  if (needsCredential(opening)) return credentialRequired(record, opening.reason);
  if (opening.type !== 'opened')
    return {
      type: 'error',
      code: record.type === 'mcp' ? 'mcp_unavailable' : 'tool_error',
      message: `"${record.id}" is connected but does not list its functions at the moment.`,
    };
  const names = opening.server.functions.map(({ spec }) => spec.name);
  const functions = names.slice(0, maxNamed);
  const more = names.length - functions.length;
  return {
    type: 'result',
    value: { connected: record.name ?? record.id, functions, ...(more > 0 && { more }) },
    note: 'These functions can be called now.',
    renewsOffer: true,
  };
}
