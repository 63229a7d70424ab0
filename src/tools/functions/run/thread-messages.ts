import type { JsonValue } from '../../../shared/json.ts';
import type { FunctionPlace } from '../define/function-definition.ts';

/** What a thread is started with: the module as it was loaded, and one call of one of its functions. */
export interface ThreadJob {
  path: string;
  folder: string;
  sources: ReadonlyMap<string, string>;
  name: string;
  args: unknown;
  place: FunctionPlace;
  state: Record<string, JsonValue>;
}

/** `ask`: for something of the context that only the other side can do; answered by id. */
export type FromFunctionThread =
  | { type: 'ask'; id: number; what: 'status' | 'progress' | 'confirm' | 'ask' | 'begin-critical'; params: unknown[] }
  | { type: 'end-critical' }
  | { type: 'stop' }
  | { type: 'done'; plain: unknown; changes: ReadonlyMap<string, JsonValue | undefined> }
  | { type: 'failed'; name: string; message: string; stack: string | undefined };

export type ToFunctionThread =
  | { id: number; value: unknown; problem?: undefined }
  | { id: number; problem: { name: string; message: string } };
