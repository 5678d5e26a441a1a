import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { compileCache } from '#test/support/compile-cache.ts'
import type * as functions from './cdk-functions.ts'

type Functions = typeof functions

/**
 * Runs a function of `cdk-functions.ts` in the CDK process of this run of the tests, once for each input. Every test
 * file that loaded CDK would spend more time on that than on its checks.
 */
export async function inCdkProcess<Name extends keyof Functions>(
  name: Name,
  ...input: Parameters<Functions[Name]>
): Promise<Awaited<ReturnType<Functions[Name]>>> {
  const endpoint = process.env.CDK_PROCESS
  if (!endpoint) throw new Error('CDK_PROCESS is not set: run the tests through jest, which sets it.')
  // Without a limit, which fetch has: other test files may wait for this process, too.
  const sent = request(endpoint, { method: 'POST' }).end(JSON.stringify([name, ...input]))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const answer = await text(response)
  if (response.statusCode !== 200) throw new Error(answer)
  return JSON.parse(answer)
}

interface CdkProcess {
  readonly endpoint: string
  stop(): Promise<void>
}

/** Starts the CDK process, which loads CDK at its first request. It ends with this process at the latest. */
export async function startCdkProcess(): Promise<CdkProcess> {
  const child = fork(join(import.meta.dirname, 'cdk-server.ts'), { env: { ...process.env, ...compileCache } })
  const [port] = await once(child, 'message')
  return {
    endpoint: `http://127.0.0.1:${port}`,
    async stop() {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
  }
}
