/** Every name under which a mode of choosing tools is known: of a request, a preset, a setting. */
export const modeNames = ['auto', 'native', 'function_call', 'default', 'legacy', 'prompt', 'react', 'simple'] as const;
