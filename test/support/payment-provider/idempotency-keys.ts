import { type Answer, type Call, errorAnswer } from './stripe-wire.ts'

interface KnownKey {
  /** The first request with the key. */
  fingerprint: string
  /** Absent while the first request is in progress. */
  answer?: Answer
}

interface IdempotencyKeys {
  /**
   * Executes a request once for each key. Later requests with the same parameters get its response, errors included,
   * marked as replayed. Each account has its own keys.
   */
  once(call: Call, carryOut: () => Promise<Answer>): Promise<Answer>
  /** Expires all keys, as after a day. */
  forget(): void
}

export function idempotencyKeys(): IdempotencyKeys {
  const keys = new Map<string, KnownKey>()
  return {
    async once(call, carryOut) {
      if (call.key === undefined) return carryOut()
      const name = JSON.stringify([call.account, call.key])
      const fingerprint = fingerprintOf(call)
      const known = keys.get(name)
      if (known) return repeated(known, fingerprint, call.key)
      const fresh: KnownKey = { fingerprint }
      keys.set(name, fresh)
      fresh.answer = await carryOut()
      return fresh.answer
    },
    forget: () => keys.clear(),
  }
}

function repeated({ fingerprint, answer }: KnownKey, asked: string, key: string): Answer {
  if (fingerprint !== asked) {
    const message = `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`
    return errorAnswer(400, { type: 'idempotency_error', message })
  }
  if (!answer) {
    const message = `There is currently another in-progress request using this Idempotent Key: ${key}`
    return errorAnswer(409, { type: 'idempotency_error', code: 'idempotency_key_in_use', message })
  }
  return { ...answer, late: false, headers: { ...answer.headers, 'Idempotent-Replayed': 'true' } }
}

function fingerprintOf({ method, path, parameters }: Call): string {
  return JSON.stringify([method, path, Object.entries(parameters).sort()])
}
