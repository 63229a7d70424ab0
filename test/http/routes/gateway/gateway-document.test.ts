import { globSync, readFileSync } from 'node:fs';
import SwaggerParser from '@apidevtools/swagger-parser';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { routeRoles } from '../../../../src/http/auth/route-roles.ts';
import { describedRoutes, undescribedRoutes } from '../../../../src/http/routes/gateway/described-routes.ts';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { backendShape } from '../../../../src/storage/backend-schema.ts';
import { connectionSchema } from '../../../../src/storage/connection-schema.ts';
import { presetSchema } from '../../../../src/storage/preset-schema.ts';
import { withoutComments } from '../../../_support/read-source.ts';
import { testApp } from '../../../_support/build-app.ts';

async function documentOf(): Promise<JsonObject> {
  await using app = await testApp({}, { backends: [] });
  const answer = await app.server.inject({ url: '/openapi.json' });
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  return answer.json<JsonObject>();
}

describe('the document of the gateway', () => {
  it('is valid OpenAPI 3.1', async () => {
    const document = await documentOf();
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
    await SwaggerParser.validate(structuredClone(document) as never);
  });

  it('has every route, but pages for people', async () => {
    const described = describedRoutes({ backend: backendShape, connection: connectionSchema, preset: presetSchema });
    expect([...Object.keys(described), ...undescribedRoutes].toSorted()).toEqual(Object.keys(routeRoles).toSorted());
    const { paths } = await documentOf();
    const operations = Object.values(paths as Record<string, JsonObject>).flatMap((item) => Object.keys(item));
    expect(operations).toHaveLength(Object.keys(described).length);
  });

  it('has examples that fit their schemas', async () => {
    const document = await documentOf();
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(document, 'document');
    const operations = Object.entries(document['paths'] as Record<string, Record<string, { requestBody?: RequestBody }>>).flatMap(
      ([path, item]) => Object.entries(item).map(([method, { requestBody }]) => ({ path, method, contents: requestBody?.content ?? {} })),
    );
    const examples = operations.flatMap(({ path, method, contents }) =>
      Object.entries(contents).flatMap(([type, { example }]) => (example === undefined ? [] : [{ path, method, type, example }])),
    );
    expect(examples.length).toBeGreaterThan(10);
    const unfit = examples.filter(({ path, method, type, example }) => {
      const place = ['paths', path, method, 'requestBody', 'content', type, 'schema'];
      const pointer = place.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
      return !ajv.validate({ $ref: `document#/${pointer}` }, example);
    });
    expect(unfit).toEqual([]);
  });

  it('costs nothing before somebody asks for it', () => {
    const root = new URL('../../../../src/', import.meta.url);
    const describing = /-description\.ts$|^http\/description\/|\/(?:described-routes|gateway-document)\.ts$/;
    const importers = globSync('**/*.ts', { cwd: root })
      .filter((path) => !describing.test(path))
      .filter((path) => {
        const statements = withoutComments(readFileSync(new URL(path, root), 'utf8')).matchAll(/^import (?!type )[^;]*?from '([^']+)';/gm);
        return [...statements].some(([, from = '']) =>
          /-description\.ts$|\/description\/|\/(?:described-routes|gateway-document|api-page)\.ts$/.test(from),
        );
      });
    expect(importers).toEqual([]);
  });
});

interface RequestBody {
  content: Record<string, { example?: unknown }>;
}
