/** The one spelling of a decimal number: `00317500.00` is `317500`. */
export function decimal(text: string): string {
  const [whole = '', part = ''] = text.replace(/^[+-]/, '').split('.')
  const rest = part.replace(/(?<!0)0+$/, '')
  return `${whole.replace(/^0+(?=\d)/, '') || '0'}${rest === '' ? '' : `.${rest}`}`
}

const SCALE = 20

/** A decimal number as a whole number of 10^-20. */
export function scaled(amount: string): bigint {
  const [whole = '', part = ''] = amount.split('.')
  return BigInt(`${whole}${part.padEnd(SCALE, '0').slice(0, SCALE)}`)
}

/** The reverse of `scaled`, also below zero. */
export function unscaled(value: bigint): string {
  const digits = String(value < 0n ? -value : value).padStart(SCALE + 1, '0')
  return `${value < 0n ? '-' : ''}${decimal(`${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`)}`
}

/** Exact: no float sees an amount. */
export const addDecimals = (amounts: readonly string[]): string =>
  unscaled(amounts.reduce((sum, amount) => sum + scaled(amount), 0n))
