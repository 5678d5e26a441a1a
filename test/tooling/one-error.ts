import { types } from 'node:util'

/**
 * Jest runs tests in a realm of their own, where Node's own errors (a reset connection, say) are no
 * `instanceof Error`, and the AWS SDK then loses their code and name. Here they are errors, as in production.
 */
const ordinary = Function.prototype[Symbol.hasInstance]

Object.defineProperty(Error, Symbol.hasInstance, {
  value(this: unknown, candidate: unknown): boolean {
    return (this === Error && types.isNativeError(candidate)) || ordinary.call(this, candidate)
  },
})
