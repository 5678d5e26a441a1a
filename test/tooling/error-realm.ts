import { types } from 'node:util'

/**
 * Jest runs tests in a separate realm, where Node's own errors (such as a reset connection) are not `instanceof Error`,
 * and the AWS SDK loses their code and name. Here they are errors, as in production.
 */
const ordinary = Function.prototype[Symbol.hasInstance]

Object.defineProperty(Error, Symbol.hasInstance, {
  value(this: unknown, candidate: unknown): boolean {
    return (this === Error && types.isNativeError(candidate)) || ordinary.call(this, candidate)
  },
})
