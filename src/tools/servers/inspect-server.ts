import { setImmediate } from 'node:timers/promises';
import type { JsonObject } from '../../shared/json.ts';
import type { SendOutbound } from '../../core/outbound.ts';
import type { ToolServerRecord } from '../../core/registry.ts';
import type { ToolServerReport, ToolServerInspector } from '../../core/tool-server-report.ts';
import { maskOfEverythingSent } from './credentials-of.ts';
import { estimateFunctionTokens } from '../catalog/estimate-tokens.ts';
import type { McpServers } from '../mcp/mcp-servers.ts';
import { openServer } from './open-registered-server.ts';
import { configValue } from './server-rules.ts';
import type { HeldFunction, OpenedServer, Opening } from './open-registered-server.ts';
import type { RegisteredServers } from './registered-servers.ts';
import { lintConfig } from './lint-config.ts';
import { lintCredential } from './lint-credential.ts';

export interface ServerInspectorOptions {
  servers: RegisteredServers;
  send: SendOutbound;
  /** Absent: MCP servers cannot be looked at. */
  mcp?: Pick<McpServers, 'verify' | 'accept'>;
}

export function createServerInspector({ servers, send, mcp }: ServerInspectorOptions): ToolServerInspector {
  async function refresh(record: ToolServerRecord, signal: AbortSignal): Promise<ToolServerReport> {
    const opening = await servers.refresh(record, signal);
    // Reporting on a large document takes a moment, and so does writing the report: what waits meanwhile comes first, each time.
    await setImmediate();
    const kept = servers.stateOf(record);
    const isKept = opening.type === 'unreachable' && kept?.type === 'opened';
    const report = toShown(isKept ? toKeptReport({ server: kept.server, record }, opening.reason) : toReport(opening, record), record);
    await setImmediate();
    return report;
  }

  return {
    async verify(record, signal) {
      const opening = await openServer(record, send, { signal, isChecked: true, openMcp: mcp && ((...asked) => mcp.verify(...asked)) });
      signal.throwIfAborted();
      await setImmediate();
      return toShown(toReport(opening, record), record);
    },
    refresh,
    async accept(record, functions, signal) {
      await mcp?.accept(record, functions);
      return refresh(record, signal);
    },
    reportOf(record) {
      const opening = servers.stateOf(record);
      if (opening === undefined) return undefined;
      const failures = servers.failuresOf(record);
      const isKept = opening.type === 'opened' && failures !== undefined;
      return toShown(isKept ? toKeptReport({ server: opening.server, record }, failures.reason) : toReport(opening, record), record);
    },
  };
}

function toReport(opening: Opening, record: ToolServerRecord): ToolServerReport {
  if (opening.type === 'opened') return toOpenedReport(opening.server, record);
  return { ok: false, error: opening.reason, functions: [], renamed: [], omitted: [], warnings: [], tokens: 0 };
}

function toKeptReport({ server, record }: { server: OpenedServer; record: ToolServerRecord }, reason: string): ToolServerReport {
  return { ...toOpenedReport(server, record), ok: false, error: `${reason.replace(/\.$/, '')}. The functions it had before stay in use.` };
}

function toOpenedReport(server: OpenedServer, record: ToolServerRecord): ToolServerReport {
  const { functions, withheld, held = [], conversion, about } = server;
  const stderr = server.stderr?.() ?? [];
  const listed = functions.map(({ method, path, spec }) => ({
    name: spec.name,
    operation: `${method} ${path}`,
    description: spec.description,
    parameters: spec.parameters,
    tokens: estimateFunctionTokens(spec),
  }));
  return {
    ok: true,
    ...(about.info !== undefined && { info: about.info }),
    ...(about.version !== undefined && { version: about.version }),
    functions: listed,
    renamed: conversion.renamed,
    omitted: [...conversion.omitted, ...withheld],
    ...(held.length > 0 && { held: held.map(toHeldReport) }),
    warnings: [...lintCredential(functions, record), ...conversion.warnings, ...about.remarks, ...remarksOnWords(functions)],
    ...(stderr.length > 0 && { stderr }),
    tokens: listed.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

function toHeldReport({
  operation: { method, path, spec },
  changed,
  fingerprint,
}: HeldFunction): NonNullable<ToolServerReport['held']>[number] {
  const { description, parameters } = spec;
  return { name: path, operation: `${method} ${path}`, changed, fingerprint, description, parameters };
}

/** As `describeOperation` writes them where a document says nothing. */
const onlyMethodAndPath = /^[A-Z]+ \/\S*(?: \([^)]*\))?(?:$|\. )/;
const namedFunctions = 5;

/** What a model has little to go by will be called at the wrong time or never. */
function remarksOnWords(functions: OpenedServer['functions']): string[] {
  const bare = functions.filter(({ spec }) => spec.description.trim() === '' || onlyMethodAndPath.test(spec.description));
  if (bare.length === 0) return [];
  const names = bare.slice(0, namedFunctions).map(({ spec }) => spec.name);
  const rest = bare.length > names.length ? ` and ${bare.length - names.length} more` : '';
  return [
    `A model has only method and path to go by for ${names.join(', ')}${rest}. Give each a description or a summary in the document.`,
  ];
}

function toShown(report: ToolServerReport, record: ToolServerRecord): ToolServerReport {
  const { id, wantedId } = record;
  const renamed = wantedId === undefined ? [] : [`The id "${wantedId}" is "${id}" here: it was not legal or already taken.`];
  return withoutSecrets(
    { ...report, warnings: [...renamed, ...lintConfig(record), ...remarksOnApproval(report, record), ...report.warnings] },
    record,
  );
}

/** A name that is spelt wrong protects nothing, and says nothing at the call. */
function remarksOnApproval({ ok, functions, renamed }: ToolServerReport, record: ToolServerRecord): string[] {
  const wanted = configValue(record, 'needs_approval');
  if (!ok || !Array.isArray(wanted)) return [];
  const own = functions.flatMap(({ name }) => [name, `${record.id}/${name}`, `server:${record.id}/${name}`]);
  const known = new Set([...own, ...renamed.map(({ from }) => from)]);
  const unknown = wanted.filter((name) => typeof name !== 'string' || !known.has(name)).map((name) => JSON.stringify(name));
  if (unknown.length === 0) return [];
  return [`needs_approval names ${unknown.join(', ')}, which is no function on offer here: nothing waits for it. Correct the name.`];
}

/** Paths and names of operations are kept as the server needs them, and what is said about them repeats them. */
function withoutSecrets(report: ToolServerReport, record: ToolServerRecord): ToolServerReport {
  return maskOfEverythingSent(record).value(report as unknown as JsonObject) as unknown as ToolServerReport;
}
