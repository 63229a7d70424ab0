import { expect, it } from 'vitest';
import { shownEndpoint } from '../../../src/shared/text/shown-endpoint.ts';

it.each([
  ['DELETE http://shop.test:8080/tasks/12?hard=true', 'DELETE /tasks/12?hard=true'],
  ['DELETE http://shop.test/tasks/{id}', 'DELETE /tasks/{id}'],
  ['tools/call add', 'tools/call add'],
])('shows %s as %s', (endpoint, shown) => {
  expect(shownEndpoint(endpoint)).toBe(shown);
});
