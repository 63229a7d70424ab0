import { GatewayError } from '../../core/errors.ts';
import type { FoundModel } from '../../core/models/model.ts';

/** How tools are chosen. `auto` becomes `native` or `default` once the model is known. */
export type Mode = 'native' | 'default' | 'react' | 'simple' | 'auto';

const modeByName: ReadonlyMap<string, Mode> = new Map([
  ['native', 'native'],
  ['function_call', 'native'],
  ['default', 'default'],
  ['legacy', 'default'],
  ['prompt', 'default'],
  ['react', 'react'],
  ['simple', 'simple'],
  ['auto', 'auto'],
]);

/** @throws GatewayError `unknown_mode`, naming the known ones. */
export function parseMode(name: string): Mode {
  const mode = modeByName.get(name);
  if (mode !== undefined) return mode;
  const known = [...modeByName.keys()].join(', ');
  throw new GatewayError('unknown_mode', `The mode "${name.slice(0, 100)}" is not a mode. Use one of: ${known}.`, {
    param: 'params.function_calling',
  });
}

/** How one run chooses its tools: by native calls, by a selection prompt, or by ReAct steps. */
export interface ModeChoice {
  path: 'native' | 'prompt' | 'react';
  /** Whether the run may change to the selection prompt when the backend refuses tools. */
  mayFallBack: boolean;
  /** At most one tool call before the answer (mode `simple`). */
  isSingleCall: boolean;
}

/** The name of the mode in settings and the log. */
export function modeName({ path }: ModeChoice): 'native' | 'default' | 'react' {
  return path === 'prompt' ? 'default' : path;
}

/** A model of unknown abilities is assumed to support native calls; `mayFallBack` covers the case that it does not. */
export function chooseMode(mode: Mode, model: FoundModel): ModeChoice {
  const isSingleCall = mode === 'simple';
  if (mode === 'native') return { path: 'native', mayFallBack: false, isSingleCall };
  if (mode === 'react') return { path: 'react', mayFallBack: false, isSingleCall };
  if (mode === 'default') return { path: 'prompt', mayFallBack: false, isSingleCall };
  const path = model.nativeTools === 'no' ? 'prompt' : 'native';
  return { path, mayFallBack: path === 'native', isSingleCall };
}

/** For a model whose backend refuses tools. */
export function withoutNativeCalls(choice: ModeChoice): ModeChoice {
  return { ...choice, path: 'prompt', mayFallBack: false };
}
