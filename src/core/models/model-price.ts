/** What a model costs, in US dollars for a million tokens. */
export interface ModelPrice {
  input: number;
  output: number;
}

/** By model id; an id that ends with `*` stands for all that begin like it. */
export type ModelPrices = Readonly<Record<string, ModelPrice>>;

/** The price under the model's own id, else under the longest beginning of it. */
export function findPrice(prices: ModelPrices, model: string): ModelPrice | undefined {
  if (Object.hasOwn(prices, model)) return prices[model];
  const [longest] = Object.keys(prices)
    .filter((id) => id.endsWith('*') && model.startsWith(id.slice(0, -1)))
    .toSorted((one, other) => other.length - one.length);
  return longest === undefined ? undefined : prices[longest];
}
