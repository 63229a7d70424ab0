import type { RecordedBody, RecordedRequest } from '../../../core/runs/recorded-request.ts';
import type { JsonObject } from '../../../shared/json/json.ts';

/** A request to a tool server, and what came of it. A body that is no text is in base64. */
export function toRecordedWire({ method, url, headers, body, answer, failure }: RecordedRequest): JsonObject {
  const { status, headers: answered } = answer ?? {};
  return {
    ...(method !== undefined && { method }),
    ...(url !== undefined && { url }),
    ...(headers && { headers: { ...headers } }),
    ...toWireBody(body),
    ...(answer && {
      answer: {
        ...(status !== undefined && { status }),
        ...(answered && { headers: { ...answered } }),
        ...toWireBody(answer.readBody()),
      },
    }),
    ...(failure !== undefined && { failure }),
  };
}

function toWireBody(body: RecordedBody | undefined): JsonObject {
  if (body === undefined) return {};
  const { text, encoding, isTruncated } = body;
  return { body: text, ...(encoding && { body_encoding: encoding }), ...(isTruncated && { truncated: true }) };
}
