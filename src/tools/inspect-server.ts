import type { JsonObject, JsonValue } from '../core/json.ts';
import { isJsonObject } from '../core/json.ts';
import type { SendOutbound } from '../core/outbound.ts';
import type { ToolServerRecord } from '../core/registry.ts';
import type { ServerReport, ToolServerInspector, ToolSpec } from '../core/tool.ts';
import { callHeaders, callQuery } from './connection-headers.ts';
import { openWithRemarks } from './open-registered-server.ts';
import type { OpenedServer, Opening } from './open-registered-server.ts';
import { checkDocument } from './openapi/check-document.ts';
import type { RegisteredServers } from './registered-servers.ts';

/** Validating a document of this length takes up to half a second in which every stream stands still; larger ones would take two. */
const checkedCharacters = 1_000_000;
/** Shorter values are words that a report may hold by chance. */
const shortestSecret = 6;
const charactersPerToken = 4;

export interface ServerInspectorOptions {
  servers: RegisteredServers;
  send: SendOutbound;
}

export function createServerInspector({ servers, send }: ServerInspectorOptions): ToolServerInspector {
  return {
    async verify(record, signal) {
      const opening = await openWithRemarks(record, send, { signal, remark: remarkOnDocument });
      signal.throwIfAborted();
      return withoutSecrets(toReport(opening), record);
    },
    async refresh(record, signal) {
      const opening = await servers.refresh(record, signal);
      const kept = servers.stateOf(record);
      if (opening.type !== 'unreachable' || kept?.type !== 'opened') return withoutSecrets(toReport(opening), record);
      return withoutSecrets(toKeptReport(kept.server, opening.reason), record);
    },
    reportOf(record) {
      const opening = servers.stateOf(record);
      if (opening === undefined) return undefined;
      const failures = servers.failuresOf(record);
      const isKept = opening.type === 'opened' && failures !== undefined;
      return withoutSecrets(isKept ? toKeptReport(opening.server, failures.reason) : toReport(opening), record);
    },
  };
}

/** What a validator says about the document. Remarks do not keep it from being used. */
export async function remarkOnDocument(document: JsonObject): Promise<string[]> {
  if (JSON.stringify(document).length > checkedCharacters) {
    return [`The document has more than ${checkedCharacters} characters, so it was not checked against the specification.`];
  }
  return checkDocument(document);
}

/**
 * The size of a function as a model reads it, estimated at four characters a token: tokenizers differ by more than this is wrong.
 */
export function estimateFunctionTokens({ name, description, parameters }: ToolSpec): number {
  const text = JSON.stringify({ type: 'function', function: { name, description, parameters } });
  return Math.ceil(text.length / charactersPerToken);
}

function toReport(opening: Opening): ServerReport {
  if (opening.type === 'opened') return toOpenedReport(opening.server);
  return { ok: false, error: opening.reason, functions: [], renamed: [], omitted: [], warnings: [], tokens: 0 };
}

function toKeptReport(server: OpenedServer, reason: string): ServerReport {
  return { ...toOpenedReport(server), ok: false, error: `${reason.replace(/\.$/, '')}. The functions it had before stay in use.` };
}

function toOpenedReport({ functions, withheld, conversion, about }: OpenedServer): ServerReport {
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
    warnings: [...conversion.warnings, ...about.remarks],
    tokens: listed.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

/** A server may write what it was sent into its own document. */
function withoutSecrets(report: ServerReport, record: ToolServerRecord): ServerReport {
  const sent = [...Object.values(callHeaders(record, undefined)), ...Object.values(callQuery(record)), record.key ?? ''];
  const parts = record.authType === 'basic' ? [(record.key ?? '').slice((record.key ?? '').indexOf(':') + 1)] : [];
  const values = [...sent, ...parts].flatMap((value) => [value, encodeURIComponent(value.toWellFormed()), ...value.split(' ')]);
  const secrets = [...new Set(values)].filter((value) => value.length >= shortestSecret).toSorted((a, b) => b.length - a.length);
  const text = JSON.stringify(report);
  return secrets.some((secret) => text.includes(JSON.stringify(secret).slice(1, -1)))
    ? (replaceIn(report as unknown as JsonValue, secrets) as unknown as ServerReport)
    : report;
}

/** Recursion ends with the report's own depth, which the limit of documents bounds. */
function replaceIn(value: JsonValue, secrets: readonly string[]): JsonValue {
  if (typeof value === 'string') return secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), value);
  if (Array.isArray(value)) return value.map((entry) => replaceIn(entry, secrets));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, child]) => [
    secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), key),
    child === undefined ? child : replaceIn(child, secrets),
  ]);
  return Object.fromEntries(entries) as JsonObject;
}
