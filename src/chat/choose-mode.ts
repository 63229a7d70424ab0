import { GatewayError } from '../core/errors.ts';
import type { FoundModel } from '../core/model.ts';

/** How tools are chosen. `auto` becomes `native` or `default` once the model is known. */
export type Mode = 'native' | 'default' | 'simple' | 'auto';

const modeByName: ReadonlyMap<string, Mode> = new Map([
  ['native', 'native'],
  ['function_call', 'native'],
  ['default', 'default'],
  ['legacy', 'default'],
  ['prompt', 'default'],
  ['simple', 'simple'],
  ['auto', 'auto'],
]);

/** @throws GatewayError `unknown_mode`, naming the known ones. */
export function parseMode(name: string): Mode {
  const mode = modeByName.get(name);
  if (mode !== undefined) return mode;
  const known = [...modeByName.keys()].join(', ');
  const reason = name === 'react' ? 'is not available in this version' : 'is not a mode';
  throw new GatewayError('unknown_mode', `The mode "${name}" ${reason}. Use one of: ${known}.`, {
    param: 'params.function_calling',
  });
}

/** How one run chooses: over the model's own calls or by a selection pass, and with how many calls at most. */
export interface ModeChoice {
  path: 'native' | 'prompt';
  /** Whether a refusal of tools by the backend may move this run to the selection pass. */
  mayFallBack: boolean;
  /** `simple`: one call, then the answer. */
  isSingleCall: boolean;
}

/** A model that says nothing about itself is taken to be able; a refusal corrects that. */
export function chooseMode(mode: Mode, model: FoundModel): ModeChoice {
  const isSingleCall = mode === 'simple';
  if (mode === 'native') return { path: 'native', mayFallBack: false, isSingleCall };
  if (mode === 'default') return { path: 'prompt', mayFallBack: false, isSingleCall };
  const path = model.nativeTools === 'no' ? 'prompt' : 'native';
  return { path, mayFallBack: path === 'native', isSingleCall };
}
