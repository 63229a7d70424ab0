import { Readable } from 'node:stream';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { requireModel } from '../../../core/callers/require-model.ts';
import { requireFurtherModels } from '../../../runs/require-models.ts';
import { invalidField } from '../../../core/errors.ts';
import type { OutboundBody } from '../../../core/outbound.ts';
import type { PassedUse } from '../../../core/runs/metrics.ts';
import { passedPaths, type PassedRequest, type PassOn } from '../../../core/models/pass-on.ts';
import { isJsonObject, ownValue } from '../../../shared/json/json.ts';
import { disconnectSignal } from '../../disconnect-signal.ts';
import { FormForModel } from '../../body/form-for-model.ts';
import { boundaryIn, readForm } from '../../body/read-form.ts';
import { headersOf, whenDrained } from '../../raw-answer.ts';

interface PassedRouteOptions {
  passOn: PassOn;
  countPassed: (use: PassedUse) => void;
  /** Of one form, with its files. */
  formBytes: number;
  /** A client that reads nothing for this long is disconnected. */
  stallMs: number;
}

/** Requests that go to the backend of their model as they are: JSON, and forms with files. Answers come back as the backend sends them. */
export const passedRoutes: FastifyPluginAsync<PassedRouteOptions> = async (app, { passOn, countPassed, formBytes, stallMs }) => {
  for (const path of passedPaths) {
    app.post(`/v1${path}`, { config: { takesForms: true } }, async (request, reply) => {
      const begun = performance.now();
      const signal = disconnectSignal(reply);
      const { model, content } = await readRequest(request, formBytes);
      const { caller } = request;
      const answer = await passOn({ path, model, content, signal, caller, trace: request.trace }).catch((error: unknown) => {
        countPassed({ caller, model, tokens: 0, hasFailed: true });
        throw error;
      });
      countPassed({ caller, model, tokens: answer.body instanceof Uint8Array ? tokensIn(answer.body) : 0, hasFailed: false });
      reply.raw.once('close', () => {
        const facts = { model, status: answer.status, duration_ms: Math.round(performance.now() - begun) };
        request.log.info({ ...facts, ...(!reply.raw.writableFinished && { cut_off: true }) }, 'request passed on');
      });
      reply.code(answer.status).type(answer.contentType).header('x-request-id', request.id);
      return answer.body instanceof Uint8Array ? reply.send(answer.body) : pipeAnswer(answer.body, { request, reply, stallMs });
    });
  }
};

/** Characters at the beginning and at the end of an answer where its `usage` stands; between them there may be megabytes of vectors. */
const usageWithin = 1_024;

/** The tokens that a backend says it has read. */
function tokensIn(json: Uint8Array): number {
  const ends = [json.subarray(-usageWithin), json.subarray(0, usageWithin)].map((bytes) => Buffer.from(bytes).toString('latin1')).join(' ');
  const said = /"prompt_tokens"\s*:\s*(\d{1,12})\b/.exec(ends) ?? /"(?:input|total)_tokens"\s*:\s*(\d{1,12})\b/.exec(ends);
  return Number(said?.[1] ?? 0);
}

/** A backend that breaks off its answer ends the client's as well: neither can be given an error any more. */
async function pipeAnswer(
  body: OutboundBody,
  { request, reply, stallMs }: { request: FastifyRequest; reply: FastifyReply; stallMs: number },
): Promise<void> {
  const { raw } = reply;
  reply.hijack();
  raw.writeHead(reply.statusCode, { ...headersOf(reply), 'x-accel-buffering': 'no' });
  raw.flushHeaders();
  const { failure } = await body.readEach((piece) => {
    raw.write(piece);
    return raw.writableNeedDrain && !raw.destroyed ? whenDrained(raw, { stallMs }) : undefined;
  });
  if (failure === undefined) {
    raw.end();
    return;
  }
  if (!raw.destroyed) request.log.warn({ err: failure }, 'the backend broke off its answer');
  raw.destroy();
}

type ReadRequest = Pick<PassedRequest, 'model' | 'content'>;

/** @throws GatewayError `invalid_request` for one that does not name a model; `forbidden` for a model that the caller's key may not use */
async function readRequest({ body, caller, headers, releaseBody }: FastifyRequest, formBytes: number): Promise<ReadRequest> {
  if (body instanceof Readable) {
    const pieces = readForm(body.iterator({ destroyOnReturn: false }), boundaryIn(headers['content-type'] ?? ''), formBytes);
    const form = new FormForModel(pieces, {
      // `options[models][]` may become an object with a list for the backend. A key that is restricted may not use such a field at all.
      checkField(name) {
        for (const part of name.split(/[[\].]/)) requireFurtherModels(caller, { [part]: name });
      },
      onSent: () => releaseBody?.(),
    });
    const named = await form.readModel();
    requireModel(caller, named);
    return { model: named, content: { type: 'form', contentType: form.contentType, bytesFor: (name) => form.bytesFor(name) } };
  }
  const model = isJsonObject(body) ? ownValue(body, 'model') : undefined;
  if (!isJsonObject(body) || typeof model !== 'string' || model === '') throw invalidField('model', 'must name a model');
  requireModel(caller, model);
  requireFurtherModels(caller, body);
  return { model, content: { type: 'json', body } };
}
