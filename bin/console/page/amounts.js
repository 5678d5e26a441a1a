/**
 * The currencies whose unit at Stripe is no hundredth, by the number of decimals. Stripe differs from ISO 4217: ISK and UGX have
 * two decimals, and MGA none.
 */
const decimals = {
  0: 'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF',
  3: 'BHD JOD KWD OMR TND',
}
const decimalsOf = new Map(
  Object.entries(decimals).flatMap(([count, codes]) => codes.split(' ').map((code) => [code, Number(count)])),
)

/** Returns an amount at Stripe in units of its currency, such as `22.50 EUR`. */
export function inUnits(amount, currency) {
  // Until the provider has answered, the currency of a charge is unknown.
  if (!currency) return `${amount} minor units`
  const code = currency.toUpperCase()
  const count = decimalsOf.get(code) ?? 2
  const digits = String(Math.abs(amount)).padStart(count + 1, '0')
  const [units, rest] = [digits.slice(0, digits.length - count), digits.slice(digits.length - count)]
  return `${amount < 0 ? '-' : ''}${units}${count > 0 ? `.${rest}` : ''} ${code}`
}
