import type {
  Response,
  ResponseFunctionToolCall,
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';

/** An event before it has its place in a stream. */
export type UnnumberedEvent = ResponseStreamEvent extends infer Event
  ? Event extends unknown
    ? Omit<Event, 'sequence_number'>
    : never
  : never;

/** A response in the published shape of the vendor's types. */
export function responseOf(output: ResponseOutputItem[], fields: Partial<Response> = {}): Response {
  return {
    id: 'resp_68a1',
    access_programs: null,
    object: 'response',
    created_at: 1_755_000_000,
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: 'gpt-5.6-sol',
    output,
    output_text: '',
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    service_tier: 'default',
    usage: {
      input_tokens: 75,
      input_tokens_details: { cached_tokens: 64, cache_write_tokens: 0 },
      output_tokens: 41,
      output_tokens_details: { reasoning_tokens: 20 },
      total_tokens: 116,
    },
    ...fields,
  };
}

export function messageItem(text: string, id = 'msg_1', fields: Partial<ResponseOutputMessage> = {}): ResponseOutputMessage {
  return {
    id,
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
    ...fields,
  };
}

export function callItem(id: string, name: string, args: string): ResponseFunctionToolCall {
  return { id: `fc_${id}`, type: 'function_call', status: 'completed', call_id: `call_${id}`, name, arguments: args };
}

export function reasoningItem(id: string, ...summary: string[]): ResponseReasoningItem {
  const parts = summary.map((text) => ({ type: 'summary_text' as const, text }));
  return { id: `rs_${id}`, type: 'reasoning', status: 'completed', summary: parts, encrypted_content: `gAAA${id}` };
}

/** Everything that is streamed of one item, in the documented order, with its text in pieces of three characters. */
function eventsOfItem(item: ResponseOutputItem, output_index: number): UnnumberedEvent[] {
  if (item.type === 'message') {
    const events = item.content.flatMap((part, content_index): UnnumberedEvent[] => {
      const place = { item_id: item.id, output_index, content_index };
      if (part.type === 'refusal')
        return [
          ...piecesOf(part.refusal).map((delta): UnnumberedEvent => ({ type: 'response.refusal.delta', ...place, delta })),
          { type: 'response.refusal.done', ...place, refusal: part.refusal },
        ];
      return [
        { type: 'response.content_part.added', ...place, part: { type: 'output_text', text: '', annotations: [] } },
        ...piecesOf(part.text).map((delta): UnnumberedEvent => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
        { type: 'response.output_text.done', ...place, text: part.text, logprobs: [] },
        { type: 'response.content_part.done', ...place, part },
      ];
    });
    return framed({ ...item, content: [], status: 'in_progress' }, { item, output_index, events });
  }
  if (item.type === 'function_call') {
    const place = { item_id: item.id ?? '', output_index };
    const events: UnnumberedEvent[] = [
      ...piecesOf(item.arguments).map((delta): UnnumberedEvent => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
      { type: 'response.function_call_arguments.done', ...place, arguments: item.arguments },
    ];
    return framed({ ...item, arguments: '', status: 'in_progress' }, { item, output_index, events });
  }
  if (item.type === 'reasoning') {
    const events = item.summary.flatMap(({ text }, summary_index): UnnumberedEvent[] => {
      const place = { item_id: item.id, output_index, summary_index };
      return [
        { type: 'response.reasoning_summary_part.added', ...place, part: { type: 'summary_text', text: '' } },
        ...piecesOf(text).map((delta): UnnumberedEvent => ({ type: 'response.reasoning_summary_text.delta', ...place, delta })),
        { type: 'response.reasoning_summary_text.done', ...place, text },
        { type: 'response.reasoning_summary_part.done', ...place, part: { type: 'summary_text', text } },
      ];
    });
    return framed({ ...item, summary: [], encrypted_content: 'gAAAincomplete' }, { item, output_index, events });
  }
  return framed(item, { item, output_index, events: [] });
}

function framed(
  begun: ResponseOutputItem,
  { item, output_index, events }: { item: ResponseOutputItem; output_index: number; events: UnnumberedEvent[] },
): UnnumberedEvent[] {
  return [
    { type: 'response.output_item.added', output_index, item: begun },
    ...events,
    { type: 'response.output_item.done', output_index, item },
  ];
}

function piecesOf(text: string): string[] {
  return text.match(/.{1,3}/gsu) ?? [];
}

/** A whole stream in the documented order, with everything that OpenAI sends around an answer. */
export function eventsOfResponse(output: ResponseOutputItem[], fields: Partial<Response> = {}): UnnumberedEvent[] {
  const begun = responseOf([], { status: 'in_progress' });
  const response = responseOf(output, fields);
  const last =
    response.status === 'incomplete' ? 'response.incomplete' : response.status === 'failed' ? 'response.failed' : 'response.completed';
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...output.flatMap(eventsOfItem),
    { type: last, response },
  ];
}

/** The bytes of a stream, one event each, with names and numbers as OpenAI sends them. */
export function toPieces(events: readonly object[]): string[] {
  return events.map((event, sequence_number) => {
    const { type } = event as { type?: string };
    return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify({ ...event, sequence_number })}\n\n`;
  });
}
