/** How the model uses tools (`function_calling`). The first entry is the gateway's default. `docs/modes.md` uses the same labels. */
export const modes: readonly { value: string; label: string }[] = [
  { value: '', label: 'Gateway default' },
  { value: 'auto', label: 'Automatic' },
  { value: 'native', label: 'The model calls tools itself' },
  { value: 'default', label: 'A prompt asks which tools to call' },
  { value: 'react', label: 'Step by step, in text' },
  { value: 'simple', label: 'At most one call' },
];

/** `docs/modes.md` explains the modes. */
export const whenToSetMode = 'Change this only if a model does not call tools or calls them incorrectly.';
