/** The currencies of ISO 4217 whose minor unit is no hundredth, by the number of decimals. */
const decimals = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
}
const decimalsOf = new Map(
  Object.entries(decimals).flatMap(([count, codes]) => codes.split(' ').map((code) => [code, Number(count)])),
)

/** Returns an amount of minor units in units of its currency, such as `22.50 EUR`. */
export function inUnits(amount, currency) {
  // Until the provider has answered, the currency of a charge is unknown.
  if (!currency) return `${amount} minor units`
  const code = currency.toUpperCase()
  const count = decimalsOf.get(code) ?? 2
  const digits = String(Math.abs(amount)).padStart(count + 1, '0')
  const [units, rest] = [digits.slice(0, digits.length - count), digits.slice(digits.length - count)]
  return `${amount < 0 ? '-' : ''}${units}${count > 0 ? `.${rest}` : ''} ${code}`
}
