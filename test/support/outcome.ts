import type { Answer } from './service.ts'

/** Returns the status of a response and its error code: `404 NOT_FOUND.code`. */
export function outcome({ status, json }: Pick<Answer, 'status' | 'json'>): string {
  return json?.error ? `${status} ${json.error.code}` : String(status)
}
