import type { Service } from '../support/service.ts'

const maxTries = 20

/**
 * Wraps the service with retries: a retryable failure is repeated with the same key. So the number of concurrent calls
 * that succeed does not depend on the speed of the machine.
 */
export function resending(service: Service): Service {
  return {
    ...service,
    async call(call) {
      const headers = { 'Idempotency-Key': crypto.randomUUID(), ...call.headers }
      const same = call.method === undefined || call.method === 'GET' ? call : { ...call, headers }
      for (let tries = 1; ; tries += 1) {
        const answer = await service.call(same)
        if (!answer.json?.error?.retryable || tries === maxTries) return answer
      }
    },
  }
}
