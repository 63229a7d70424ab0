import type { ChatEvent, ChatRequest } from '../../src/core/chat/chat.ts';
import type { JsonObject, JsonValue } from '../../src/shared/json/json.ts';
import { plainRequest } from '../../src/core/chat/plain-request.ts';
import type { RunContext } from '../../src/core/runs/run.ts';
import type { Tool, ToolFinder, ToolInvocation, ToolOutcome } from '../../src/core/tools/tool.ts';

type Answer = JsonValue | ((invocation: ToolInvocation) => Promise<ToolOutcome> | ToolOutcome);

/** A tool that answers a value, or whatever its function does. */
export function toolNamed(name: string, answer: Answer, options: Partial<Omit<Tool, 'run'>> & { parameters?: JsonObject } = {}): Tool {
  const { parameters = { type: 'object', properties: {}, required: [] }, ...rest } = options;
  return {
    spec: { name, description: `Does ${name}`, parameters },
    label: `server/${name}`,
    server: 'server',
    kind: 'openapi',
    ...rest,
    run: async (invocation) => (typeof answer === 'function' ? answer(invocation) : { type: 'result', value: answer }),
  };
}

export function toolMap(...tools: Tool[]): Map<string, Tool> {
  return new Map(tools.map((tool) => [tool.spec.name, tool]));
}

export function offering(...tools: Tool[]): ToolFinder {
  return { offerFor: async () => ({ tools: toolMap(...tools), warnings: [] }), list: async () => [] };
}

export function runContext(overrides: Partial<RunContext> = {}): RunContext {
  return {
    runId: 'run-1',
    caller: { id: 'local', role: 'admin', isOpen: true },
    chatId: undefined,
    messageId: undefined,
    sessionId: undefined,
    signal: new AbortController().signal,
    ...overrides,
  };
}

export function chatRequest(overrides: Partial<ChatRequest> = {}): ChatRequest {
  return plainRequest({ model: 'model', messages: [{ role: 'user', content: 'What time is it?' }], stream: true, ...overrides });
}

export async function collect(events: AsyncIterable<ChatEvent>): Promise<ChatEvent[]> {
  const all: ChatEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

export function textOfEvents(events: readonly ChatEvent[]): string {
  return events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('');
}

/** The run events of a type, in order. */
export function eventsOf(events: readonly ChatEvent[], type: string): JsonObject[] {
  return events.flatMap((event) => (event.type === 'run-event' && event.event.type === type ? [event.event.data] : []));
}
