/** How the model uses tools (`function_calling`); the first leaves it to the gateway. `docs/modes.md` has the same words. */
export const modes: readonly { value: string; label: string }[] = [
  { value: '', label: 'As set for this gateway' },
  { value: 'auto', label: 'Automatic, by what the model can' },
  { value: 'native', label: 'The model calls tools itself' },
  { value: 'default', label: 'A prompt asks which tools to call' },
  { value: 'react', label: 'Step by step, in words' },
  { value: 'simple', label: 'At most one call' },
];

/** Whoever has to know more reads docs/modes.md. */
export const whenToSetMode = 'Leave it as it is, unless a model calls no tools or calls them wrongly.';
