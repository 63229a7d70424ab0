import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { ConfigError } from '../app/config/config-error.ts';
import { limits } from '../core/limits.ts';
import type { ToolServerRecord } from '../core/stores/registry.ts';
import type { ToolServerReport } from '../core/tools/tool-server-report.ts';
import { count } from '../app/doctor/finding.ts';
import { createOutbound } from '../policy/outbound/outbound-request.ts';
import { parseToolServerConnection } from '../storage/tool-server-connection.ts';
import { createServerInspector } from '../tools/servers/inspect-server.ts';
import { createRegisteredServers } from '../tools/servers/registered-servers.ts';

/** Time limit for loading a document, with all files that it refers to. */
const timeoutMs = 60_000;
/** A placeholder URL for a file, which has no server; nothing is called. */
const nowhere = 'http://127.0.0.1';

const usage = 'Usage: toolwharf convert <url or file> [--json]';

/** Prints the conversion report of a document. Exit code 1 if it cannot be converted. @throws ConfigError for an invalid command line */
export async function convert(args: string[]): Promise<void> {
  const { source, isJson } = parseCommand(args);
  const report = await reportOf(source);
  process.stdout.write(isJson ? `${JSON.stringify(report, null, 2)}\n` : toText(report));
  if (!report.ok) process.exitCode = 1;
}

function parseCommand(args: string[]): { source: string; isJson: boolean } {
  try {
    const { values, positionals } = parseArgs({ args, options: { json: { type: 'boolean', default: false } }, allowPositionals: true });
    const [source] = positionals;
    if (source !== undefined && positionals.length === 1) return { source, isJson: values.json };
  } catch (error) {
    throw new ConfigError(`${error instanceof Error ? error.message : String(error)} ${usage}`);
  }
  throw new ConfigError(`convert takes one URL or file. ${usage}`);
}

async function reportOf(source: string): Promise<ToolServerReport> {
  const outbound = createOutbound({ egress: { mode: 'any', allow: [] } });
  const signal = AbortSignal.timeout(timeoutMs);
  const servers = createRegisteredServers({ send: outbound.send, now: Date.now });
  try {
    return await createServerInspector({ servers, send: outbound.send }).verify(await recordOf(source), signal);
  } finally {
    servers.close();
    await outbound.close();
  }
}

async function recordOf(source: string): Promise<ToolServerRecord> {
  const connection = /^https?:\/\//i.test(source) ? { url: source } : { url: nowhere, spec: await readDocument(source) };
  return parseToolServerConnection({ ...connection, info: { id: 'document' } }, 'database');
}

async function readDocument(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new ConfigError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (text.length > limits.documentBytes) throw new ConfigError(`${file} is larger than ${limits.documentBytes} bytes.`);
  return text;
}

/** The report as plain text: one line per function, then everything that was renamed, omitted or changed. */
export function toText(report: ToolServerReport): string {
  if (!report.ok) return `Nothing could be converted: ${report.error ?? 'no reason is known.'}\n`;
  const { info, version, functions, renamed, omitted, warnings, tokens } = report;
  const title = typeof info?.['title'] === 'string' ? info['title'] : 'a document without a title';
  const width = Math.max(0, ...functions.map(({ name }) => name.length));
  const sections = [
    [`${title} (OpenAPI ${version ?? 'of an unknown version'})`],
    [
      `${count(functions.length, 'function')}, ${count(tokens, 'token')} together:`,
      ...functions.map((entry) => `  ${entry.name.padEnd(width)}  ${String(entry.tokens).padStart(5)}  ${entry.operation}`),
    ],
    list(
      'renamed',
      renamed.map(({ from, to, reason }) => `${from} -> ${to}: ${reason}`),
    ),
    list(
      'left out',
      omitted.map(({ operation, reason }) => `${operation}: ${reason}`),
    ),
    list('to know', warnings),
  ];
  const shown = sections.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${shown.join('\n\n')}\n`;
}

function list(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title} (${lines.length}):`, ...lines.map((line) => `  ${line}`)];
}
