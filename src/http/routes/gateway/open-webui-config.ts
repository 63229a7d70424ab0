import type { FastifyPluginAsync } from 'fastify';
import { GatewayError, invalidField } from '../../../core/errors.ts';
import { isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import type { ToolServerRecord } from '../../../core/stores/registry.ts';
import type { ToolServerReport } from '../../../core/tools/tool-server-report.ts';
import { errorBody, type ErrorFormat } from '../../errors/error-handler.ts';
import { loadReports } from '../../../admin/tool-server-reports.ts';
import { toOpenWebUiWire, toReportWire } from '../../../admin/tool-server-wire.ts';
import { disconnectSignal } from '../../disconnect-signal.ts';
import { sendInSlices } from '../send-in-slices.ts';
import type { ToolServerRouteOptions } from '../tools/tool-servers.ts';

const path = '/api/v1/configs/tool_servers';

/** Open WebUI's `detail` beside the usual body. */
const errors: ErrorFormat = { body: (error) => ({ ...errorBody(error), detail: error.message }) };
const config = { errors };

/**
 * The tool servers in Open WebUI's shape, `{"TOOL_SERVER_CONNECTIONS": […]}`, for its settings page and for scripts made for it.
 * A key that is omitted or empty stays as it is stored for that id or URL.
 */
export const openWebUiConfigRoutes: FastifyPluginAsync<ToolServerRouteOptions> = async (app, { admin, inspector }) => {
  app.get(path, { config }, async (_request, reply) => sendInSlices(reply, toList(await admin.list())));

  app.post(path, { config }, async (request, reply) => {
    const signal = disconnectSignal(reply);
    const changed = await admin.replace(entriesIn(request.body), signal);
    request.log.info({ by: request.caller.id }, 'tool servers replaced');
    // Open WebUI's answer has no field for warnings, so they go to the log.
    for (const { record, dropped } of changed.filter((change) => change.dropped.length > 0))
      request.log.warn({ tool_server: record.id, dropped }, 'credentials dropped, because the new URL has another origin');
    const records = changed.map(({ record }) => record);
    await loadReports(inspector, records, signal);
    return sendInSlices(reply, toList(records));
  });

  app.post(`${path}/verify`, { config }, async (request, reply) => {
    const signal = disconnectSignal(reply);
    const report = await admin.verify(withoutEmptyKey(request.body), signal);
    if (report.ok) return sendInSlices(reply, toVerified(report));
    const message = `Failed to connect to the tool server: ${report.error ?? 'unknown reason'}`;
    throw new GatewayError('upstream_unreachable', message, { status: 400 });
  });
};

function toList(records: readonly ToolServerRecord[]): JsonObject {
  return { TOOL_SERVER_CONNECTIONS: records.map(toOpenWebUiWire) };
}

/** The report, with the functions also as Open WebUI's `specs`. */
function toVerified(report: ToolServerReport): JsonObject {
  const specs = report.functions.map((fn) => ({
    name: fn.name,
    description: fn.description,
    get parameters() {
      return fn.parameters;
    },
  }));
  return { status: true, ...toReportWire(report), specs };
}

/** @throws GatewayError `invalid_request` */
function entriesIn(body: unknown): unknown[] {
  const entries = isJsonObject(body) ? body['TOOL_SERVER_CONNECTIONS'] : undefined;
  if (!Array.isArray(entries)) throw invalidField('TOOL_SERVER_CONNECTIONS', 'must be an array of connections.');
  return entries.map(withoutEmptyKey);
}

/** Open WebUI sends back an empty key for every entry that it was shown. With `auth_type: "none"` an empty key removes the stored one. */
function withoutEmptyKey(entry: unknown): unknown {
  if (!isJsonObject(entry)) return entry;
  const { key, ...rest } = entry;
  if (key !== undefined && key !== null && key !== '') return entry;
  return entry['auth_type'] === 'none' ? { ...rest, key: '' } : rest;
}
