import type { Service } from '#test/support/service.ts'

const mostTries = 20

/**
 * The service for callers who send again, with the same key, what they are told may be sent again. So a machine that
 * is busy with other tests does not decide how many calls at once end.
 */
export function resending(service: Service): Service {
  return {
    ...service,
    async call(call) {
      const headers = { 'Idempotency-Key': crypto.randomUUID(), ...call.headers }
      const same = call.method === undefined || call.method === 'GET' ? call : { ...call, headers }
      for (let tries = 1; ; tries += 1) {
        const answer = await service.call(same)
        if (!answer.json?.error?.retryable || tries === mostTries) return answer
      }
    },
  }
}
