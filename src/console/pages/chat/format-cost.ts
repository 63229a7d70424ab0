const dollars = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD', maximumSignificantDigits: 2 });
const least = 0.0001;

/** Of US dollars; small amounts with two digits that count. */
export function formatCost(cost: number): string {
  return cost > 0 && cost < least ? `< ${dollars.format(least)}` : dollars.format(cost);
}
