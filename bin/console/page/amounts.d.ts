/** Returns an amount of minor units in units of its currency, such as `22.50 EUR`. */
export function inUnits(amount: number, currency: string | undefined): string
