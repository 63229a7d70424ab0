/** All names of modes, including aliases, for requests, presets and settings. */
export const modeNames = ['auto', 'native', 'function_call', 'default', 'legacy', 'prompt', 'react', 'simple'] as const;
