/** How tools are chosen (`function_calling`); the first leaves it to the gateway. */
export const modes: readonly { value: string; label: string }[] = [
  { value: '', label: 'As the gateway has it' },
  { value: 'auto', label: 'Automatic' },
  { value: 'native', label: 'The model calls functions itself' },
  { value: 'default', label: 'Functions are chosen by a prompt' },
  { value: 'react', label: 'Step by step, in words' },
  { value: 'simple', label: 'At most one call' },
];
