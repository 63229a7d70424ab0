import type { z } from 'zod';
import { chatCompletionDescriptions } from '../../dialects/chat-completions/chat-completions-description.ts';
import { completionDescriptions } from '../../dialects/completions/completions-description.ts';
import { ollamaChatDescriptions } from '../../dialects/ollama/ollama-description.ts';
import { messagesDescriptions } from '../../dialects/messages/messages-description.ts';
import { responseDescriptions } from '../../dialects/responses/responses-description.ts';
import { auditDescriptions } from './audit-description.ts';
import { clientDescriptions } from '../access/clients-description.ts';
import { approvalDescriptions } from '../runs/approvals-description.ts';
import { credentialDescriptions } from '../access/credentials-description.ts';
import { doctorDescriptions } from './doctor-description.ts';
import { gatewayDescriptions } from './gateway-description.ts';
import { keyDescriptions } from '../access/keys-description.ts';
import { mcpDescriptions } from '../tools/mcp-description.ts';
import { backendDescriptions } from '../models/backends-description.ts';
import { modelDescriptions } from '../models/models-description.ts';
import { openApiToolDescriptions } from '../tools/openapi-tools-description.ts';
import { ollamaDescriptions } from '../models/ollama-description.ts';
import { passedDescriptions } from '../models/passed-description.ts';
import { openWebUiConfigDescriptions } from './open-webui-config-description.ts';
import { presetDescriptions } from '../models/presets-description.ts';
import { runDescriptions } from '../runs/runs-description.ts';
import { socketDescriptions } from '../chats/socket-description.ts';
import { consoleChatDescriptions } from '../chats/console-chats-description.ts';
import { storedChatDescriptions } from '../chats/stored-chats-description.ts';
import { storedResponseDescriptions } from '../chats/stored-responses-description.ts';
import { toolServerDescriptions } from '../tools/tool-servers-description.ts';
import { toolDescriptions } from '../tools/tools-description.ts';
import { usageDescriptions } from './usage-description.ts';
import type { RouteDescriptions } from '../../description/route-description.ts';

/** Schemas of bodies that are checked where they are stored. */
export interface StoredSchemas {
  backend: z.ZodType;
  connection: z.ZodType;
  preset: z.ZodType;
}

/** Every route that programs call, with its own schemas, from which the console has its types. A test compares it with the table of roles. */
export function describedRoutes({ backend, connection, preset }: StoredSchemas) {
  return {
    ...chatCompletionDescriptions,
    ...ollamaChatDescriptions,
    ...messagesDescriptions,
    ...completionDescriptions,
    ...responseDescriptions,
    ...socketDescriptions,
    ...modelDescriptions,
    ...ollamaDescriptions,
    ...passedDescriptions,
    ...toolDescriptions,
    ...openApiToolDescriptions,
    ...credentialDescriptions,
    ...clientDescriptions,
    ...mcpDescriptions,
    ...runDescriptions,
    ...approvalDescriptions,
    ...consoleChatDescriptions,
    ...storedChatDescriptions,
    ...storedResponseDescriptions,
    ...backendDescriptions(backend),
    ...presetDescriptions(preset),
    ...toolServerDescriptions(connection),
    ...openWebUiConfigDescriptions(connection),
    ...keyDescriptions,
    ...usageDescriptions,
    ...auditDescriptions,
    ...doctorDescriptions,
    ...gatewayDescriptions,
  } satisfies RouteDescriptions;
}

/** Routes that the document leaves out: pages for people, what answers to these pages alone, what OAuth describes, and the answer to a browser's preflight. */
export const undescribedRoutes: readonly string[] = [
  'GET /approvals/:link',
  'POST /approvals/:link',
  'GET /connect/:link',
  'POST /connect/:link',
  'GET /oauth/callback',
  'GET /oauth/callback/:issuer',
  'GET /oauth/client-metadata.json',
  'GET /oauth/client-metadata/:issuer',
  'GET /.well-known/oauth-protected-resource',
  'GET /.well-known/oauth-protected-resource/*',
  'GET /.well-known/oauth-authorization-server',
  'GET /.well-known/oauth-authorization-server/*',
  'GET /oauth/authorize',
  'GET /oauth/authorize/:uid',
  'GET /oauth/consent/:uid',
  'POST /oauth/consent/:uid',
  'POST /oauth/token',
  'POST /oauth/register',
  'POST /oauth/revoke',
  'GET /login',
  'GET /login/callback',
  'POST /login/token',
  'POST /logout',
  'GET /console',
  'GET /console/*',
  'GET /console/assets/:file',
  'GET /docs',
  'OPTIONS *',
];
