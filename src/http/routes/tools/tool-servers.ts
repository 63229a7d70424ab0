import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import type { ChangedToolServer, ToolServerAdmin } from '../../../admin/tool-server-admin.ts';
import { knownReport, loadReport, loadReports } from '../../../admin/tool-server-reports.ts';
import { toConnectionWire, toListedReport, toReportWire } from '../../../admin/tool-server-wire.ts';
import { invalidField } from '../../../core/errors.ts';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import type { ToolServerInspector, ToolServerReport } from '../../../core/tools/tool-server-report.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { disconnectSignal } from '../../disconnect-signal.ts';
import { parseInput } from '../../parse-input.ts';
import { listQuery, pageIn } from '../list-page.ts';
import { sendInSlices } from '../send-in-slices.ts';

export interface ToolServerRouteOptions {
  admin: ToolServerAdmin;
  inspector: ToolServerInspector;
}

type WithId = { Params: { id: string } };

/** `/api/tool-servers`, for administrators. No answer contains a key or the value of a header. */
export const toolServerRoutes: FastifyPluginAsync<ToolServerRouteOptions> = async (app, { admin, inspector }) => {
  app.get('/api/tool-servers', async ({ query }, reply) => {
    const page = parseInput(listQuery, query, 'a query with limit and after');
    const { entries, next } = pageIn(await admin.list(), page, 'tool server');
    return sendInSlices(reply, { data: entries.map((record) => toListed(record, () => knownReport(inspector, record))), ...next });
  });

  app.post('/api/tool-servers', async (request, reply) => {
    const signal = disconnectSignal(reply);
    const record = await admin.create(request.body, signal);
    log(request, record.id, 'tool server created');
    return sendInSlices(reply.code(201), toShown(record, await inspector.refresh(record, signal)));
  });

  app.put('/api/tool-servers', async (request, reply) => {
    const signal = disconnectSignal(reply);
    const changed = await admin.replace(listIn(request.body), signal);
    log(request, undefined, 'tool servers replaced');
    const records = changed.map(({ record }) => record);
    const reports = await loadReports(inspector, records, signal);
    return sendInSlices(reply, {
      data: changed.map((change, index) =>
        toListed(change.record, () => withDropped(change, reports[index] ?? knownReport(inspector, change.record))),
      ),
    });
  });

  app.get<WithId>('/api/tool-servers/:id', async (request, reply) => {
    const signal = disconnectSignal(reply);
    const record = await admin.require(request.params.id);
    return sendInSlices(reply, toShown(record, inspector.reportOf(record) ?? (await loadReport(inspector, record, signal))));
  });

  app.patch<WithId>('/api/tool-servers/:id', async (request, reply) => {
    const signal = disconnectSignal(reply);
    const changed = await admin.change(request.params.id, request.body);
    const { record } = changed;
    log(request, record.id, 'tool server changed');
    return sendInSlices(reply, toShown(record, withDropped(changed, await loadReport(inspector, record, signal))));
  });

  app.delete<WithId>('/api/tool-servers/:id', async (request) => {
    const { id } = request.params;
    await admin.delete(id);
    log(request, id, 'tool server deleted');
    return { id, deleted: true };
  });

  app.post<WithId>('/api/tool-servers/:id/refresh', async (request, reply) =>
    sendInSlices(reply, toReportWire(await inspector.refresh(await admin.require(request.params.id), disconnectSignal(reply)))),
  );

  app.post<WithId>('/api/tool-servers/:id/accept', async (request, reply) => {
    const signal = disconnectSignal(reply);
    const record = await admin.require(request.params.id);
    const accepted = acceptedIn(request.body);
    const report = await inspector.accept(record, accepted, signal);
    request.log.info({ tool_server: record.id, functions: [...accepted.keys()], by: request.caller.id }, 'definitions accepted');
    return sendInSlices(reply, toReportWire(report));
  });

  app.post('/api/tool-servers/verify', async (request, reply) =>
    sendInSlices(reply, toReportWire(await admin.verify(request.body, disconnectSignal(reply)))),
  );
};

/** A bare array, or `{"data": […]}` as `GET` returns it. The parser refuses anything else. */
function listIn(body: unknown): unknown {
  return isJsonObject(body) ? body['data'] : body;
}

/** @throws GatewayError `invalid_request` */
function acceptedIn(body: unknown): Map<string, string> {
  const functions = isJsonObject(body) ? body['functions'] : undefined;
  const entries = isJsonObject(functions) ? Object.entries(functions) : [];
  const texts = entries.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : []));
  if (texts.length > 0 && texts.length === entries.length) return new Map(texts);
  throw invalidField('functions', 'must map each function to its fingerprint from the report: {"functions": {"name": "fingerprint"}}.');
}

function withDropped({ record, dropped }: ChangedToolServer, report: ToolServerReport): ToolServerReport {
  if (dropped.length === 0) return report;
  const warning = `The URL has another origin now (${new URL(record.url).origin}), so secrets for the previous one were dropped: ${dropped.join(', ')}. Send them again if they are meant for the new one.`;
  return { ...report, warnings: [warning, ...report.warnings] };
}

function toShown(record: ToolServerRecord, report: ToolServerReport): JsonObject {
  return { ...toConnectionWire(record), report: toReportWire(report) };
}

function toListed(record: ToolServerRecord, reportOf: () => ToolServerReport): JsonObject {
  return {
    ...toConnectionWire(record),
    get report() {
      return toListedReport(reportOf());
    },
  };
}

function log(request: FastifyRequest, id: string | undefined, message: string): void {
  if (id !== undefined) request.changedId = id;
  request.log.info({ tool_server: id, by: request.caller.id }, message);
}
