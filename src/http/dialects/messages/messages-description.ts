import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { anyObject, approvalShape, connectShape, serverSentEvent, sourceShape, warningsShape } from '../../description/shared-schemas.ts';
import { gatewayFieldDescriptions } from '../requests/gateway-fields-description.ts';
import { bodySchema, countedSchema } from './messages-body-schema.ts';

const messageShape = z
  .looseObject({
    id: z.string(),
    type: z.literal('message'),
    role: z.literal('assistant'),
    model: z.string(),
    content: z.array(z.looseObject({ type: z.string() })),
    stop_reason: z.string(),
    stop_sequence: z.string().nullable(),
    usage: z.looseObject({ input_tokens: z.number(), output_tokens: z.number() }).describe('The sum of all requests to models.'),
    sources: z.array(sourceShape).optional(),
    warnings: warningsShape.optional(),
    approval: approvalShape.optional(),
    connect: connectShape.optional(),
  })
  .meta({ id: 'Message', description: 'Anthropic’s, with fields for what the gateway did.' });

export const messagesErrorShape = z
  .looseObject({
    type: z.literal('error'),
    error: z.looseObject({ type: z.string(), message: z.string(), details: anyObject }),
    request_id: z.string(),
  })
  .meta({ id: 'MessagesError', description: 'Anthropic’s; `details.error_code` is the gateway’s code.' });

const headers = {
  'anthropic-beta': 'Names of betas. Only `mcp-client` has an effect: calls that the gateway executes are then shown as MCP blocks.',
};
const conversation = {
  tools:
    'Your own functions, which the gateway never runs: a call to one ends the answer. Those that Anthropic runs are left out with a warning.',
  mcp_servers: 'MCP servers only for this request; a `mcp_toolset` of `tools` says which of their tools are offered.',
  thinking: 'Thinking is shown only if this asks for it.',
  ...gatewayFieldDescriptions,
};

export const messagesDescriptions = {
  'POST /v1/messages': {
    tag: 'Chat',
    summary: 'A message',
    description:
      'Anthropic’s Messages. The models get the tools that are registered, or those of `tool_ids`. Fields that are not named here are left out.',
    headers,
    body: {
      schema: bodySchema,
      fields: conversation,
      example: { model: 'demo', max_tokens: 1_000, messages: [{ role: 'user', content: 'What time is it in Osaka?' }] },
    },
    answers: {
      200: {
        about:
          'The answer. With `stream: true` server-sent events from `message_start` to `message_stop`; `message_delta` has the fields of the gateway.',
        content: { 'application/json': messageShape, 'text/event-stream': serverSentEvent },
      },
    },
    errors: messagesErrorShape,
  },
  'POST /v1/messages/count_tokens': {
    tag: 'Chat',
    summary: 'Estimate the tokens of a message',
    description: 'No backend is asked, and tools of the gateway are not counted.',
    body: {
      schema: countedSchema,
      fields: gatewayFieldDescriptions,
      example: { model: 'demo', messages: [{ role: 'user', content: 'What time is it in Osaka?' }] },
    },
    answers: { 200: json('The estimate.', z.object({ input_tokens: z.number() })) },
    errors: messagesErrorShape,
  },
} satisfies RouteDescriptions;
