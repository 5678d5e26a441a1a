import { PassThrough, Readable } from 'node:stream'
import type { Network } from '#shared/platform/formats/fetch-file.ts'

/** A file, an error of the host, or a host that pauses after the head for some time or forever. */
type Served = Buffer | 'broken' | 'silent' | { file: Buffer; afterMilliseconds: number }

interface ServingOptions {
  addresses?: readonly string[]
  onRequest?: () => void
}

/** A network with one file, which can differ between requests. */
export function serving(
  files: readonly Served[],
  { addresses = ['93.184.216.34'], onRequest = () => {} }: ServingOptions = {},
): Network {
  let asked = 0
  return {
    resolve: async () => [...addresses],
    mayReach: (address) => address === '93.184.216.34',
    request: () => {
      onRequest()
      const file = files[Math.min(asked++, files.length - 1)] ?? 'broken'
      const answer = Object.assign(bodyOf(file), {
        statusCode: file === 'broken' ? 503 : 200,
        headers: {},
        complete: true,
      })
      const listeners: Record<string, (value: unknown) => void> = {}
      return {
        on: (event: string, listener: (value: unknown) => void) => {
          listeners[event] = listener
        },
        end: () => listeners.response?.(answer),
      } as never
    },
  }
}

function bodyOf(file: Served): Readable {
  if (file === 'broken') return Readable.from([])
  if (Buffer.isBuffer(file)) return Readable.from([file])
  const body = new PassThrough()
  if (file !== 'silent') setTimeout(() => body.end(file.file), file.afterMilliseconds)
  return body
}
