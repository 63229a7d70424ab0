import { expect, it } from 'vitest';
import { estimateFunctionTokens, lazySpec, parameterWordsOf, renamedSpec } from '../../../src/tools/definitions/lazy-spec.ts';
import type { JsonObject } from '../../../src/shared/json/json.ts';

const parameters: JsonObject = {
  type: 'object',
  properties: { city: { type: 'string', description: 'Where' }, days: { type: 'integer' } },
};

function counted() {
  let built = 0;
  const build = (): JsonObject => {
    built += 1;
    return parameters;
  };
  const summary = { tokens: 40, parameterWords: () => 'city Where days', build };
  return { spec: lazySpec({ name: 'get_forecast', description: 'Tells the weather.' }, summary), built: () => built };
}

it('names, counts and searches a function without building its schema', () => {
  const { spec, built } = counted();
  const renamed = renamedSpec(spec, 'get_forecast_2');
  expect([renamed.name, renamed.description]).toEqual(['get_forecast_2', 'Tells the weather.']);
  expect([estimateFunctionTokens(spec), estimateFunctionTokens(renamed)]).toEqual([40, 40]);
  expect([parameterWordsOf(spec, 15), parameterWordsOf(renamed, 4)]).toEqual(['city Where days', 'city']);
  expect(built()).toBe(0);
  expect(renamed.parameters).toBe(parameters);
  expect({ ...spec }).toEqual({ name: 'get_forecast', description: 'Tells the weather.', parameters });
  expect(built()).toBe(2);
});

it('counts and searches an ordinary function by its schema', () => {
  const spec = { name: 'get_forecast', description: 'Tells the weather.', parameters };
  const text = JSON.stringify({ type: 'function', function: spec });
  expect(estimateFunctionTokens(spec)).toBe(Math.ceil(text.length / 4));
  expect(parameterWordsOf(renamedSpec(spec, 'other'), 100)).toBe('city Where days ');
  expect(parameterWordsOf(spec, 7)).toBe('city Wh');
  expect(renamedSpec(spec, 'other')).toEqual({ ...spec, name: 'other' });
});
