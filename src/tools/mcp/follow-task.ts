import { ProtocolError, ProtocolErrorCode, type CallToolResult, type ElicitRequestParams } from '@modelcontextprotocol/client';
import { isEndedByGateway } from '../../core/runs/end-cause.ts';
import type { ToolContext, ToolInvocation } from '../../core/tools/tool.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { answerElicitation, mcpStatusCharacters } from './call-scope.ts';
import { truncateText } from './convert-tools.ts';
import { AnswerCutOff, explainMcpFailure } from './explain-mcp-failure.ts';
import { showStructure } from './incoming/hidden-fields.ts';
import { readTask, storedTask, type McpTask } from './incoming/hidden-task.ts';
import type { McpConnection } from './mcp-connection.ts';
import type { McpPeer } from './mcp-peer.ts';

/** The poll interval for a server that names none, or an unusable one. */
const usualPollMs = 1_000;
const shortestPollMs = 100;
const longestPollMs = 60_000;
/** Polls are answered at once: only the result of a task takes long. */
const taskAnswerMs = 30_000;
/** The time for telling a server that its task is cancelled. */
const cancelMs = 5_000;
/** Consecutive requests that fail for a temporary reason, such as a restart of the server. */
const failuresInRow = 5;
/** Questions of one task; a server that asks more is in a loop. */
const taskQuestions = 100;

/** The task waits for an answer that the gateway cannot give. */
class UnknownQuestion extends ProtocolError {
  constructor(method: JsonValue | undefined) {
    const what = typeof method === 'string' ? method.slice(0, 100) : 'something unreadable';
    super(ProtocolErrorCode.MethodNotFound, `its task asks for ${what}, which the gateway does not support`);
  }
}

/** A call that its server works on as a task. */
interface FollowedTask {
  server: { readonly peer: McpPeer; readonly connection: Pick<McpConnection, 'current' | 'replace'> };
  invocation: ToolInvocation;
  context: ToolContext | undefined;
}

/**
 * Asks for a task until it has a result, in the rhythm that its server wants. The call's own limit of time without progress does not apply: each answer
 * says that the server still works on it. A call that ends before has its task cancelled, unless the gateway itself ends it and its run is stored.
 * @throws what the SDK throws, AnswerCutOff if nothing is known of the task any more, and the signal's reason
 */
export async function followTask(created: McpTask, followed: FollowedTask): Promise<CallToolResult> {
  const { server, invocation, context } = followed;
  const isKept = (await invocation.task?.begin(storedTask(created))) === true;
  const cancel = (): void => {
    if (isKept && isEndedByGateway(invocation.run.signal)) return;
    const signal = AbortSignal.timeout(cancelMs);
    void server.connection
      .current()
      .askAboutTask({ method: 'tasks/cancel', taskId: created.id, timeoutMs: cancelMs }, { ...invocation, signal }, undefined)
      .catch(() => undefined);
  };
  if (invocation.signal.aborted) cancel();
  else invocation.signal.addEventListener('abort', cancel, { once: true });
  try {
    return await untilEnd(created, followed);
  } catch (error) {
    const isOver = error instanceof ProtocolError && !(error instanceof UnknownQuestion);
    if (!isOver && !invocation.signal.aborted) cancel();
    throw error;
  } finally {
    invocation.signal.removeEventListener('abort', cancel);
    context?.keepAlive();
  }
}

async function untilEnd(created: McpTask, followed: FollowedTask): Promise<CallToolResult> {
  const answered = new Set<string>();
  let task = created;
  let shown: string | undefined;
  for (let isNew = true; ; isNew = false) {
    if (task.message !== undefined && task.message !== shown) showStatus(task.message, followed);
    shown = task.message;
    if (!isNew || task.status === 'working') await pause(task.pollMs, followed);
    const details = await ask({ method: 'tasks/get', taskId: task.id }, followed);
    task = readTask({ ...details, taskId: task.id }) ?? task;
    const { inputRequests: questions } = details;
    switch (task.status) {
      case 'completed':
      case 'failed':
        return resultOf(task.id, details, followed);
      case 'cancelled':
        throw new ProtocolError(ProtocolErrorCode.InternalError, 'the server has cancelled the task');
      case 'input_required':
        // In 2025-11-25 the server asks on the stream of the request for the result.
        if (!isJsonObject(questions)) return resultOf(task.id, details, followed);
        await answer(task.id, questions, { followed, answered });
    }
  }
}

/** The result is in the details of the task, or has its own request (2025-11-25). */
async function resultOf(taskId: string, { result, error }: JsonObject, followed: FollowedTask): Promise<CallToolResult> {
  if (isJsonObject(error)) {
    const { code, message } = error;
    const number = typeof code === 'number' ? code : ProtocolErrorCode.InternalError;
    throw new ProtocolError(number, typeof message === 'string' ? message : 'the task has failed');
  }
  const given = isJsonObject(result) ? result : await ask({ method: 'tasks/result', taskId }, followed);
  const content = Array.isArray(given['content']) ? given['content'] : [];
  return showStructure({ ...given, content } as unknown as CallToolResult);
}

interface AskedAboutTask {
  method: 'tasks/get' | 'tasks/result' | 'tasks/update';
  taskId: string;
  inputResponses?: JsonObject;
}

/** Over the current connection: a task outlives the session in which it began. */
async function ask(request: AskedAboutTask, { server, invocation, context }: FollowedTask): Promise<JsonObject> {
  for (let failures = 1; ; failures += 1) {
    const used = server.connection.current();
    try {
      const timeoutMs = request.method === 'tasks/result' ? undefined : taskAnswerMs;
      const answer = await used.askAboutTask({ ...request, ...(timeoutMs !== undefined && { timeoutMs }) }, invocation, context);
      context?.keepAlive();
      return answer;
    } catch (error) {
      invocation.signal.throwIfAborted();
      const { kind, isSessionLost, message } = explainMcpFailure(error);
      const mayPass = isSessionLost === true || kind === 'never-sent' || kind === 'maybe-sent' || kind === 'timeout';
      // That the server has no such task does not mean that the call was without effect.
      if (kind === 'answered' && request.method === 'tasks/get')
        throw new AnswerCutOff(`The server does not know its task any more: ${message}`);
      if (!mayPass) throw error;
      if (failures >= failuresInRow) throw new AnswerCutOff(`The server no longer answers questions about its task: ${message}`);
      if (kind !== 'timeout') server.connection.replace(used);
      await pause(failures * usualPollMs, { server, invocation, context });
    }
  }
}

/** Each question is asked once, however often the task shows it. */
async function answer(
  taskId: string,
  questions: JsonObject,
  { followed, answered }: { followed: FollowedTask; answered: Set<string> },
): Promise<void> {
  const { server, invocation, context } = followed;
  const { peer } = server;
  const mask = (peer.masksFor?.(invocation.run) ?? peer).mask;
  const open = Object.entries(questions).filter(([key]) => !answered.has(key));
  const responses = await Promise.all(
    open.map(async ([key, question]): Promise<[string, JsonValue]> => {
      const { method, params } = isJsonObject(question) ? question : {};
      answered.add(key);
      if (method !== 'elicitation/create' || !isJsonObject(params) || answered.size > taskQuestions) throw new UnknownQuestion(method);
      const asked = mask.value(params) as unknown as ElicitRequestParams;
      const reply = await answerElicitation(asked, peer.name ?? peer.id, { run: invocation.run, context });
      return [key, reply as unknown as JsonObject];
    }),
  );
  if (responses.length > 0) await ask({ method: 'tasks/update', taskId, inputResponses: Object.fromEntries(responses) }, followed);
}

function showStatus(text: string, { server: { peer }, invocation, context }: FollowedTask): void {
  const mask = (peer.masksFor?.(invocation.run) ?? peer).mask;
  void context?.status(truncateText(mask.text(text), mcpStatusCharacters)).catch(() => undefined);
}

/** @throws the signal's reason */
async function pause(wantedMs: number = usualPollMs, { invocation: { signal, timeoutMs }, context }: FollowedTask): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const leave = (): void => reject(signal.reason as Error);
  const timer = setTimeout(resolve, Math.min(Math.max(wantedMs, shortestPollMs), longestPollMs));
  const keepAlive = setInterval(() => context?.keepAlive(), Math.min(Math.max(timeoutMs / 3, 10), longestPollMs));
  signal.addEventListener('abort', leave, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    clearInterval(keepAlive);
    signal.removeEventListener('abort', leave);
  }
}
