import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';
import type { SchemaBuiltEvent } from '../../src/tools/openapi/convert/schemas/packed-schemas.ts';

/** The functions whose schemas are built until the end of the test. */
export function watchBuiltSchemas(): string[] {
  const built: string[] = [];
  const onEvent = (event: unknown): void => void built.push((event as SchemaBuiltEvent).name);
  subscribe('toolwharf.schema-built', onEvent);
  onTestFinished(() => void unsubscribe('toolwharf.schema-built', onEvent));
  return built;
}
