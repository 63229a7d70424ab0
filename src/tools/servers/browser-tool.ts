import type { JsonObject } from '../../shared/json/json.ts';
import type { CallBrowser, PreparedRequest } from '../../core/tools/browser-call.ts';
import type { Tool, ToolOutcome, ToolSpec } from '../../core/tools/tool.ts';
import { renamedSpec } from '../definitions/lazy-spec.ts';
import { ArgumentError } from '../openapi/call/build-request.ts';

interface BrowserToolOptions {
  /** `operationId`: the frontend's name of the function: the document's operation id, or the name in its specs. */
  described: { operationId: string; spec: ToolSpec };
  offeredName: string;
  server: { url: string; info?: JsonObject };
  /** Builds the request, without credentials, if there is a document. @throws ArgumentError */
  prepare?: (args: JsonObject) => PreparedRequest;
  callBrowser: CallBrowser;
  timeoutMs: number;
  /** As `Tool.addressOf`, if there is a document. */
  addressOf?: (args: JsonObject) => string | undefined;
  /** Known if there is a document with the method. */
  isReadOnly?: boolean;
  /** Known if there is a document. */
  takesNothing?: boolean;
  /** As `Tool.missingFrom`, if there is a document. */
  missingFrom?: NonNullable<Tool['missingFrom']>;
}

/** A function that the user's browser executes, because only the browser can reach the server or has its key. */
export function createBrowserTool(options: BrowserToolOptions): Tool {
  const { described, offeredName, server, prepare, callBrowser, timeoutMs, addressOf, missingFrom } = options;
  const { isReadOnly = false, takesNothing = false } = options;
  return {
    spec: renamedSpec(described.spec, offeredName),
    label: described.spec.name,
    server: server.url,
    kind: 'browser',
    isReadOnly,
    takesNothing,
    timeoutMs,
    ...(addressOf && { addressOf }),
    ...(missingFrom && { missingFrom }),
    async run(invocation) {
      const prepared = prepare === undefined ? undefined : tryPrepare(prepare, invocation.args);
      if (prepared !== undefined && 'type' in prepared) return prepared;
      const { callId, args } = invocation;
      const call = { callId, name: described.operationId, offeredName, params: args, server };
      return callBrowser(prepared === undefined ? call : { ...call, request: prepared }, invocation);
    },
  };
}

function tryPrepare(prepare: (args: JsonObject) => PreparedRequest, args: JsonObject): PreparedRequest | ToolOutcome {
  try {
    return prepare(args);
  } catch (error) {
    if (error instanceof ArgumentError) return { type: 'error', code: 'args_invalid', message: error.message };
    throw error;
  }
}
