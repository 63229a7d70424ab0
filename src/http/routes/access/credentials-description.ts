import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { deletedShape, isoTime } from '../../description/shared-schemas.ts';
import { givenKey } from './credentials.ts';

const credentialShape = z
  .object({
    server: z.string().describe('The id of the tool server.'),
    name: z.string(),
    kind: z.enum(['key', 'oauth']),
    state: z.enum(['missing', 'connected', 'expired']),
    scopes: z.array(z.string()).optional(),
    expires: isoTime.optional(),
  })
  .meta({ id: 'Credential', description: 'What the caller has given for a tool server; never the secret itself.' });

const params = { server: 'The id of the tool server.' };
const keyParams = { id: 'The id of the key.' };
const personParams = { key: 'The id of the key.', id: 'The id of the person, percent-encoded.' };

export const credentialDescriptions = {
  'GET /api/credentials': {
    tag: 'Tools',
    summary: 'List your own credentials',
    description: 'For every tool server that you may use and that asks each person for a credential of their own.',
    answers: { 200: json('All of them.', z.object({ data: z.array(credentialShape) })) },
  },
  'PUT /api/credentials/:server': {
    tag: 'Tools',
    summary: 'Connect to a tool server with your own key',
    description: 'Your calls to this tool server carry the key from then on; calls of others do not.',
    params,
    body: {
      schema: givenKey,
      fields: { key: 'As the server expects it; `user:password` where it asks for both. It is never shown again.' },
      example: { key: 'ghp_…' },
    },
    answers: { 200: json('It is stored.', credentialShape) },
  },
  'POST /api/credentials/:server/connect': {
    tag: 'Tools',
    summary: 'Make a link to connect to a tool server',
    description: 'A page of the gateway on which a person enters what the tool server asks for. The link works once, within a day.',
    params,
    answers: { 200: json('The link.', z.object({ url: z.url(), expires: isoTime })) },
  },
  'DELETE /api/credentials/:server': {
    tag: 'Tools',
    summary: 'Delete your credential for a tool server',
    params,
    answers: { 200: json('Deleted.', deletedShape) },
  },
  'GET /api/keys/:id/credentials': {
    tag: 'Keys',
    summary: 'List what a key has connected',
    description: 'For a key that is one caller. No secret is shown. Servers that are gone or disabled are listed too.',
    params: keyParams,
    answers: { 200: json('All of them.', z.object({ data: z.array(credentialShape) })) },
  },
  'DELETE /api/keys/:id/credentials/:server': {
    tag: 'Keys',
    summary: 'Disconnect a key from a tool server',
    params: { ...keyParams, ...params },
    answers: { 200: json('It is deleted.', deletedShape) },
  },
  'GET /api/users/:key/:id/credentials': {
    tag: 'Usage',
    summary: 'List what a person has connected',
    description: 'No secret is shown. Servers that are gone or disabled are listed too.',
    params: personParams,
    answers: { 200: json('All of them.', z.object({ data: z.array(credentialShape) })) },
  },
  'DELETE /api/users/:key/:id/credentials/:server': {
    tag: 'Usage',
    summary: 'Disconnect a person from a tool server',
    description: 'For a person who has left or lost a device.',
    params: { ...personParams, ...params },
    answers: { 200: json('It is deleted.', deletedShape) },
  },
} satisfies RouteDescriptions;
