import SwaggerParser from '@apidevtools/swagger-parser';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { routeRoles } from '../../../src/http/auth/route-roles.ts';
import { describedRoutes, undescribedRoutes } from '../../../src/http/description/described-routes.ts';
import type { JsonObject } from '../../../src/shared/json.ts';
import { connectionSchema } from '../../../src/storage/connection-schema.ts';
import { presetSchema } from '../../../src/storage/preset-schema.ts';
import { testApp } from '../../_support/build-app.ts';

async function documentOf(): Promise<JsonObject> {
  await using app = await testApp({}, { backends: [] });
  const answer = await app.server.inject({ url: '/openapi.json' });
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  return answer.json<JsonObject>();
}

describe('the document of the gateway', () => {
  test('is valid OpenAPI 3.1', async () => {
    const document = await documentOf();
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
    await SwaggerParser.validate(structuredClone(document) as never);
  });

  test('has every route, but pages for people', async () => {
    const described = describedRoutes({ connection: connectionSchema, preset: presetSchema });
    expect([...Object.keys(described), ...undescribedRoutes].toSorted()).toEqual(Object.keys(routeRoles).toSorted());
    const { paths } = await documentOf();
    const operations = Object.values(paths as Record<string, JsonObject>).flatMap((item) => Object.keys(item));
    expect(operations).toHaveLength(Object.keys(described).length);
  });
});
