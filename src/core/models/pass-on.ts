import type { Caller } from '../callers/caller.ts';
import type { JsonObject } from '../../shared/json/json.ts';
import type { OutboundBody, TraceHeaders } from '../outbound.ts';

/** Routes of OpenAI's API below `/v1` whose requests go to the backend of their model as they are. */
export const passedPaths = [
  '/embeddings',
  '/audio/speech',
  '/audio/transcriptions',
  '/audio/translations',
  '/images/generations',
  '/images/edits',
  '/images/variations',
  '/rerank',
  '/moderations',
] as const;
export type PassedPath = (typeof passedPaths)[number];

/** A request as its backend gets it, but for the name of the model, which is the backend's own there. */
export interface PassedRequest {
  path: PassedPath;
  model: string;
  content: { type: 'json'; body: JsonObject } | { type: 'form'; contentType: string; bytesFor(model: string): AsyncIterable<Uint8Array> };
  signal: AbortSignal;
  trace?: TraceHeaders | undefined;
  caller: Pick<Caller, 'id' | 'models'>;
}

/** The backend's answer, JSON as a whole, everything else as it comes. Errors of the backend are thrown instead. */
export interface PassedAnswer {
  status: number;
  contentType: string;
  body: Uint8Array | OutboundBody;
}

/** @throws GatewayError for a model that is not known, or has no such route; for every fault of its backend; what the bytes of a form throw */
export type PassOn = (request: PassedRequest) => Promise<PassedAnswer>;
