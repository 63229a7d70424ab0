import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { errorShape, serverSentEvent } from '../../description/shared-schemas.ts';
import { decisionSchema } from './approvals.ts';
import { resumeSchema } from './resume.ts';

/** The answer of a run that goes on. */
const resumedAnswer = {
  content: { 'application/json': z.looseObject({}), 'text/event-stream': serverSentEvent, 'application/x-ndjson': z.string() },
};

export const approvalDescriptions = {
  'POST /api/runs/:id/approvals/:call_id': {
    tag: 'Runs',
    summary: 'Approve or reject a waiting call',
    description: 'The last decision resumes the run; its answer is the chat’s, in the wire format of the chat.',
    params: { id: 'The id of the run.', call_id: 'The id of the call.' },
    body: {
      schema: decisionSchema,
      fields: {
        token: 'The token of the call, from `approval` of the chat’s answer.',
        arguments: 'Other arguments for an approved call.',
        params: 'Another name of `arguments`.',
        message: 'What the model reads about a rejected call.',
        remember: 'Equal calls of the chat are then decided in the same way.',
      },
    },
    answers: {
      200: { about: 'The last decision: the answer of the chat.', ...resumedAnswer },
      202: json('Other calls of the run still wait.', z.object({ waiting: z.array(z.string()) })),
    },
  },
  'POST /api/runs/:id/resume': {
    tag: 'Runs',
    summary: 'Go on after connecting to tool servers',
    description: 'Resumes a run that waited until its caller had connected; its answer is the chat’s, in the wire format of the chat.',
    params: { id: 'The id of the run.' },
    body: {
      schema: resumeSchema,
      fields: { token: 'The token from `connect` of the chat’s answer. It stays good while a server is missing.' },
    },
    answers: {
      200: { about: 'The answer of the chat.', ...resumedAnswer },
      409: json('The caller has not connected to every server yet (`credential_required`), or the run was resumed before.', errorShape),
    },
  },
} satisfies RouteDescriptions;
