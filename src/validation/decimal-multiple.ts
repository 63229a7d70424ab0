/**
 * Whether a number is a multiple of another in decimals, as both are written: 19.99 is a multiple of 0.01, although their binary approximations are not.
 * Nothing is a multiple of zero.
 */
export function isDecimalMultiple(value: number, factor: number): boolean {
  if (factor === 0 || !Number.isFinite(value)) return false;
  if (Number.isSafeInteger(value) && Number.isSafeInteger(factor)) return value % factor === 0;
  const [one, other] = [decimalOf(value), decimalOf(factor)];
  const exponent = Math.min(one.exponent, other.exponent);
  return scaled(one, exponent) % scaled(other, exponent) === 0n;
}

interface Decimal {
  digits: bigint;
  exponent: number;
}

/** The shortest decimal that stands for the number, which is the one that was written if that has at most 15 digits. */
function decimalOf(value: number): Decimal {
  const [mantissa = '0', power = '0'] = value.toExponential().split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}

/** Numbers have exponents between -340 and 308, so this has less than 700 digits. */
function scaled({ digits, exponent }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to);
}
