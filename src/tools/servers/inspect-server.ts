import { setImmediate } from 'node:timers/promises';
import { describeLesson } from '../../core/models/lesson.ts';
import type { LessonMemory } from '../../core/models/model.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/stores/registry.ts';
import type { ToolServerInspector, ToolServerReport } from '../../core/tools/tool-server-report.ts';
import { asSentence } from '../../shared/text/as-sentence.ts';
import { withoutUndefined } from '../../shared/json/without-undefined.ts';
import { estimateFunctionTokens, parametersOnce } from '../definitions/lazy-spec.ts';
import type { McpServers } from '../mcp/mcp-servers.ts';
import { maskOfEverythingSent } from '../outgoing/secrets-to-mask.ts';
import { lintApprovals, lintBlocks, lintConfig, lintCredential, lintDescriptions } from './lint-connection.ts';
import { openForEverybody } from './open-registered-server.ts';
import { wantsCredential, type HeldFunction, type OpenedServer, type Opening } from '../definitions/opened-server.ts';
import { retryDelayMs } from './reconnect-servers.ts';
import type { RegisteredServers } from './registered-servers.ts';

/** Refusals by backends in one report. */
const shownRefusals = 20;

interface ServerInspectorOptions {
  servers: RegisteredServers;
  send: SendOutbound;
  /** This gateway's own id. */
  gatewayId?: string | undefined;
  /** Absent: MCP servers cannot be inspected. */
  mcp?: Pick<McpServers, 'verify' | 'accept'>;
  /** Registered functions that backends have rejected. */
  lessons?: LessonMemory | undefined;
  /** The clock of `servers`; absent where nothing is tried again, as by commands. */
  now?: () => number;
}

export function createServerInspector({ servers, send, mcp, gatewayId, lessons, now }: ServerInspectorOptions): ToolServerInspector {
  async function refresh(record: ToolServerRecord, signal: AbortSignal): Promise<ToolServerReport> {
    lessons?.forgetServer(record.id);
    const opening = await servers.refresh(record, signal);
    // Building and serializing the report of a large document both take a moment; let pending work run before each.
    await setImmediate();
    const inUse = servers.stateOf(record);
    const isStillInUse = opening.type === 'unreachable' && inUse?.type === 'opened';
    const report = isStillInUse ? toReport(inUse, record, opening.reason) : toReport(opening, record);
    await setImmediate();
    return withNextTry(report, record);
  }

  /** Functions that chats currently offer simplified, or not at all. */
  function refusalsOf({ id }: ToolServerRecord): string[] {
    const about = lessons?.remembered().filter((lesson) => lesson.servers?.includes(id) === true) ?? [];
    return about.slice(0, shownRefusals).map((lesson) => `${describeLesson(lesson)} Refresh this server to offer it unchanged again.`);
  }

  function withNextTry(report: ToolServerReport, record: ToolServerRecord): ToolServerReport {
    const failures = servers.failuresOf(record);
    if (now === undefined || failures === undefined || servers.stateOf(record)?.type === 'unsupported') return report;
    return { ...report, nextTryMs: Math.max(0, Math.round(failures.endedAt + retryDelayMs(failures.count) - now())) };
  }

  return {
    async verify(record, signal) {
      const openMcp = mcp && ((...params: Parameters<McpServers['verify']>) => mcp.verify(...params));
      const opening = await openForEverybody(record, send, { signal, isChecked: true, openMcp, gatewayId });
      signal.throwIfAborted();
      await setImmediate();
      return toReport(opening, record);
    },
    refresh,
    async accept(record, functions, signal) {
      await mcp?.accept(record, functions);
      return refresh(record, signal);
    },
    reportOf(record) {
      const opening = servers.stateOf(record);
      if (opening === undefined) return undefined;
      const report = toReport(opening, record, opening.type === 'opened' ? servers.failuresOf(record)?.reason : undefined);
      return withNextTry({ ...report, warnings: [...refusalsOf(record), ...report.warnings] }, record);
    },
  };
}

/** `failure`: why the last refresh failed, while the previous functions stay in use. */
function toReport(opening: Opening, record: ToolServerRecord, failure?: string): ToolServerReport {
  const { id, wantedId } = record;
  const report = opening.type === 'opened' ? toOpenedReport(opening.server, record, failure) : toFailedReport(opening);
  const renamed = wantedId === undefined ? [] : [`The id "${wantedId}" was changed to "${id}", because it was not legal or already taken.`];
  const approvals = report.ok ? lintApprovals(report.functions, report.renamed, record) : [];
  const { functions, ...rest } = { ...report, warnings: [...renamed, ...lintConfig(record), ...approvals, ...report.warnings] };
  // Redacts the report. Paths and names of operations have been left as the server needs them, and messages repeat them.
  const mask = maskOfEverythingSent(record);
  const redacted = functions.map((fn) => {
    const { name, operation, description, tokens } = fn;
    return {
      ...mask.value({ name, operation, description }),
      get parameters() {
        return mask.value(fn.parameters);
      },
      tokens,
    };
  });
  return { ...mask.value(rest), functions: redacted };
}

function toFailedReport(opening: Exclude<Opening, { type: 'opened' }>): ToolServerReport {
  const credential = credentialWanted(opening);
  return {
    ok: false,
    error: opening.reason,
    ...(credential && { credential }),
    functions: [],
    renamed: [],
    omitted: [],
    warnings: [],
    tokens: 0,
  };
}

function credentialWanted(opening: Exclude<Opening, { type: 'opened' }>): ToolServerReport['credential'] {
  if (opening.type === 'unsupported') return opening.needsCredential === true ? 'own' : undefined;
  return wantsCredential(opening) ? 'refused' : undefined;
}

function toOpenedReport(server: OpenedServer, record: ToolServerRecord, failure: string | undefined): ToolServerReport {
  const { functions, withheld, held = [], conversion, about } = server;
  const { info, version, notes, documentUrl } = about;
  const stderr = server.stderr?.() ?? [];
  const listed = functions.map(({ method, path, spec }) => {
    const { name, description } = spec;
    return {
      name,
      operation: `${method} ${path}`,
      description,
      get parameters() {
        return parametersOnce(spec);
      },
      tokens: estimateFunctionTokens(spec),
    };
  });
  return {
    ok: failure === undefined,
    ...withoutUndefined({ error: failure && `${asSentence(failure)} Its previous functions stay in use.`, info, version, documentUrl }),
    functions: listed,
    renamed: conversion.renamed,
    omitted: [...conversion.omitted, ...withheld],
    ...(held.length > 0 && { held: held.map(toHeldReport) }),
    warnings: [
      ...lintBlocks(conversion.operations, record),
      ...lintCredential(functions, record),
      ...conversion.warnings,
      ...notes,
      ...lintDescriptions(functions),
    ],
    ...(stderr.length > 0 && { stderr }),
    tokens: listed.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

function toHeldReport({
  operation,
  changed,
  fingerprint,
  definition,
  pinned,
}: HeldFunction): NonNullable<ToolServerReport['held']>[number] {
  const { method, path, spec } = operation;
  const { description, parameters } = spec;
  return { name: path, operation: `${method} ${path}`, changed, fingerprint, description, parameters, definition, pinned: pinned ?? null };
}
