import type { ToolServerRecord } from '../core/registry.ts';
import type { Tool } from '../core/tool.ts';
import { configValue } from './open-registered-server.ts';
import type { Operation } from './openapi/operation.ts';

/** The tool as its server's `config.needs_approval` wants it: true for all calls, or the names of functions, the document's or the legal ones. */
export function withServerApproval(tool: Tool, { operationId, spec }: Operation, record: ToolServerRecord): Tool {
  const wanted = configValue(record, 'needs_approval');
  const isNamed = Array.isArray(wanted) && (wanted.includes(operationId) || wanted.includes(spec.name));
  return wanted === true || isNamed ? { ...tool, needsApproval: true } : tool;
}
