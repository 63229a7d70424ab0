/** What a document may cost on its way to functions. Part of `limits`; what each of the three measures stands in `ConversionBudget`. */
export const conversionLimits = {
  /** Parameters of one function, as JSON: twice the largest of the real documents. No model's context holds a few of them. */
  functionCharacters: 200_000,
  /** One document of a registered server: seventeen times what the largest of the real ones takes; at worst two or three seconds. */
  registeredNodes: 2_000_000,
  registeredValues: 5_000_000,
  registeredCharacters: 5_000_000,
  /** All documents of one request, which anybody may send: a quarter of a second at worst. 128 functions of the largest real document take a third. */
  requestNodes: 150_000,
  requestValues: 500_000,
  requestCharacters: 1_500_000,
  /** What is converted where everything else waits: twenty milliseconds; documents of 64 KB take a quarter of it. */
  waitedForNodes: 15_000,
  waitedForValues: 50_000,
} as const;
