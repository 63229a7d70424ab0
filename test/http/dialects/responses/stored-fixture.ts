import { OpenAI } from 'openai';
import type { Response, ResponseCreateParamsNonStreaming } from 'openai/resources/responses/responses';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { listen } from '../../../_support/build-app.ts';
import { bankGateway, call } from '../../../gateway/approvals/approval-fixture.ts';
import type { Gateway, GatewayOptions } from '../../../gateway/gateway.ts';

export const adminKey = 'sk-tw-fixed-administrator';

export interface Office {
  gateway: Gateway;
  url: string;
  client: OpenAI;
  /** For another key. */
  clientOf: (key: string) => OpenAI;
  newKey: (fields?: JsonObject) => Promise<{ id: string; key: string }>;
  /** One response, without a stream. */
  ask: (fields?: Partial<ResponseCreateParamsNonStreaming> & object) => Promise<Response>;
  /** What the model was asked last, as roles and texts. */
  lastAsked: () => unknown[];
}

/** A gateway that stores, with the bank's functions, before a model that gives the turns one by one. */
export async function openOffice({ environment = {}, ...options }: GatewayOptions = {}): Promise<Office> {
  const gateway = await bankGateway({
    environment: { TOOLWHARF_ADMIN_KEY: adminKey, STORE_CHATS: 'true', DRAIN_TIMEOUT_MS: '100', ...environment },
    ...options,
  });
  onTestFinished(() => gateway.app.close());
  const url = await listen(gateway.app);
  const clientOf = (apiKey: string): OpenAI => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  const client = clientOf(adminKey);
  return {
    gateway,
    url,
    client,
    clientOf,
    async newKey(fields = {}) {
      const payload = { name: 'some', role: 'user', ...fields };
      return (await call(gateway, 'POST /api/keys', { key: adminKey, payload })).json<{ id: string; key: string }>();
    },
    ask: (fields = {}) =>
      client.responses.create({ model: 'model', input: 'Where is the kettle?', ...fields } as ResponseCreateParamsNonStreaming),
    lastAsked: () => (gateway.model.requests.at(-1)?.messages ?? []).map(({ role, content }) => [role, content]),
  };
}
