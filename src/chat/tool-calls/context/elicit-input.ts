import type { SendElicitation } from '../../../core/tools/send-elicitation.ts';
import type { ElicitationRequest } from '../../../core/user-input/elicitation.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../../shared/json/json.ts';
import type { RunContext } from '../../../core/runs/run.ts';
import { ToolError, type ToolContext } from '../../../core/tools/tool.ts';
import type { Supervision } from '../supervise-call.ts';
import { checkArguments, type CallingRun } from '../prepare-tool-call.ts';

/** How functions ask the user for input; absent if users cannot be asked. */
export interface Elicitations {
  ask: SendElicitation;
  /** How long the user may take to answer. */
  timeoutMs: number;
}

interface ElicitingCall {
  run: RunContext;
  elicitations: Elicitations | undefined;
  supervision: Supervision;
  tool: string;
  args: JsonObject;
}

/** How often the call's idle time is restarted while the user thinks; its total limit still applies. */
const heartbeatMs = 250;

/** Lets a running function ask its user for input. A question ends with its call. */
export function createElicitation({
  run,
  elicitations,
  supervision,
  tool,
  args,
}: ElicitingCall): Pick<ToolContext, 'ask' | 'askToOpen' | 'confirm'> {
  async function request(type: ElicitationRequest['type'], data: JsonObject): Promise<JsonObject | undefined> {
    if (elicitations === undefined) throw unavailable(tool);
    const { signal } = supervision;
    const heartbeat = setInterval(() => supervision.touch(), heartbeatMs);
    try {
      const reply = await elicitations.ask(
        { type, data: { run_id: run.runId, ...data } },
        { run, signal, timeoutMs: elicitations.timeoutMs },
      );
      if (reply.type === 'answered') return reply.data;
      if (reply.type === 'unavailable') throw unavailable(tool);
      if (reply.type === 'disconnected')
        throw new ToolError(`The browser disconnected while '${tool}' asked the user.`, { code: 'client_disconnected' });
      return undefined;
    } finally {
      clearInterval(heartbeat);
    }
  }

  return {
    async ask(title, { message = '', schema } = {}) {
      const data = await request('input', { title, message, ...(schema !== undefined && { schema }) });
      const value = data === undefined || ownValue(data, 'cancelled') === true ? undefined : ownValue(data, 'value');
      if (value !== undefined && schema !== undefined) await requireMatch(value, { schema, tool, run });
      return value;
    },
    async askToOpen(url, message) {
      if (run.askClient === undefined) throw unavailable(tool);
      const data = await request('connect', { url, message });
      return data !== undefined && ownValue(data, 'cancelled') !== true;
    },
    async confirm(title, message = '') {
      const data = await request('confirmation', { tool, params: args, title, message });
      return data !== undefined && ownValue(data, 'decision') === 'approve';
    },
  };
}

/** @throws ToolError */
async function requireMatch(value: JsonValue, { schema, tool, run }: { schema: JsonObject; tool: string; run: CallingRun }): Promise<void> {
  const check = isJsonObject(value)
    ? await checkArguments(value, schema, run)
    : await checkArguments({ value }, { type: 'object', properties: { value: schema }, required: ['value'] }, run);
  const given = `The user's input for '${tool}'`;
  switch (check.type) {
    case 'fits':
      return;
    case 'faulty':
      throw new ToolError(`${given} does not match the requested schema: ${check.errors.join('; ')}.`);
    case 'too_large':
      throw new ToolError(`${given} is too large to be checked.`);
    case 'unchecked':
      throw new ToolError(`${given} could not be checked in time: the check ${check.reason}. Ask again.`);
  }
}

function unavailable(tool: string): ToolError {
  return new ToolError(
    `'${tool}' needs input from the user, and nobody can be asked: no browser session of this user is connected, and no MCP client that answers questions.`,
    {
      code: 'client_unavailable',
    },
  );
}
