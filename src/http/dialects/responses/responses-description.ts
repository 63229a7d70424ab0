import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import {
  anyObject,
  approvalShape,
  connectShape,
  secondsSince1970,
  serverSentEvent,
  sourceShape,
  warningsShape,
} from '../../description/shared-schemas.ts';
import { gatewayFieldDescriptions } from '../requests/gateway-fields-description.ts';
import { bodySchema } from './request-schema.ts';

export const responseShape = z
  .looseObject({
    id: z.string(),
    object: z.literal('response'),
    created_at: secondsSince1970,
    completed_at: secondsSince1970.nullable(),
    status: z.enum(['completed', 'incomplete', 'failed', 'in_progress', 'queued', 'cancelled']),
    model: z.string(),
    output: z
      .array(z.looseObject({ type: z.string(), id: z.string() }))
      .describe('Items: `message`, `reasoning`, `function_call`, `mcp_call` and others.'),
    error: anyObject.nullable(),
    incomplete_details: anyObject.nullable(),
    temperature: z.number(),
    top_p: z.number(),
    presence_penalty: z.number(),
    frequency_penalty: z.number(),
    usage: anyObject.nullable().describe('The sum of all requests to models that the answer took.'),
    sources: z.array(sourceShape).optional(),
    warnings: warningsShape.optional(),
    approval: approvalShape.optional(),
    connect: connectShape.optional(),
  })
  .meta({ id: 'Response', description: 'OpenAI’s, with fields for what the gateway did.' });

export const responseDescriptions = {
  'POST /v1/responses': {
    tag: 'Chat',
    summary: 'A response',
    description:
      'OpenAI’s Responses. Calls that the gateway executes are items `mcp_call`, and calls that wait for an approval items `mcp_approval_request`: the next ' +
      'request decides with an item `mcp_approval_response`.',
    body: {
      schema: bodySchema,
      fields: {
        input: 'The conversation: a text, or items.',
        tools: 'Your own functions and custom tools, which the gateway never runs: a call to one ends the answer.',
        max_tool_calls: 'Calls that the gateway executes; then the model answers without tools.',
        ...gatewayFieldDescriptions,
      },
      example: { model: 'demo', input: 'What time is it in Osaka?' },
    },
    answers: {
      200: {
        about: 'The response. With `stream: true` server-sent events, the last of which has the whole response.',
        content: { 'application/json': responseShape, 'text/event-stream': serverSentEvent },
      },
    },
  },
  'POST /v1/responses/compact': {
    tag: 'Chat',
    summary: 'A shorter conversation',
    description:
      'The model summarizes the conversation; no tool is run. Send `output` before the next items of the conversation: its item `compaction` is encrypted ' +
      'for the caller, and the model reads the summary in its place.',
    body: {
      schema: bodySchema.pick({ model: true, input: true, instructions: true, previous_response_id: true }),
      fields: { input: 'The conversation: a text, or items.' },
      example: { model: 'demo', input: 'We agreed to launch on Tuesday.' },
    },
    answers: {
      200: json(
        'The conversation with the summary in its place.',
        z.object({
          id: z.string(),
          object: z.literal('response.compaction'),
          created_at: secondsSince1970,
          output: z.array(z.looseObject({ type: z.string(), id: z.string() })),
          usage: anyObject,
        }),
      ),
    },
  },
} satisfies RouteDescriptions;
