import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  assertProviderPortFree,
  startPaymentProvider as startLocalProvider,
} from '#bin/local/payment-provider.ts'
import { freePort } from '../free-port.ts'
import { startPaymentProvider } from './payment-provider.ts'

const command = join(import.meta.dirname, 'main.ts')

describe('the command', () => {
  async function run() {
    const child = spawn(process.execPath, [command, '--port', '0'], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
    const [line] = await once(child.stdout ?? child, 'data')
    return { child, endpoint: /http:\S+/.exec(String(line))?.[0] ?? '' }
  }

  test.each(['SIGTERM', 'SIGINT'] as const)('prints its address, and ends on %s', async (signal) => {
    const { child, endpoint } = await run()
    expect((await fetch(`${endpoint}/refunds`)).status).toBe(200)
    const ended = once(child, 'exit')
    child.kill(signal)
    expect(await ended).toEqual([0, null])
  })

  test('ends after the process that started it ended', async () => {
    const { child } = await run()
    const ended = once(child, 'exit')
    child.disconnect()
    expect(await ended).toEqual([0, null])
  })
})

describe('the local run', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'commerce-provider-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  test('starts the provider, which holds its port and ends', async () => {
    const port = await freePort()
    await assertProviderPortFree(port)
    const local = await startLocalProvider({ port, logFile: join(folder, 'provider.log') })
    expect((await fetch(`${local.endpoint}/v1/refunds`)).status).toBe(200)
    await expect(assertProviderPortFree(port)).rejects.toThrow(
      `Port ${port} of the local payment provider is in use`,
    )
    await local.stop()
    await local.stop()
    await assertProviderPortFree(port)
  })

  test('reports an unexpected end with the path of the log', async () => {
    const logFile = join(folder, 'provider.log')
    const local = await startLocalProvider({ port: await freePort(), logFile })
    process.kill(local.pid, 'SIGKILL')
    expect(await local.died).toContain(logFile)
  })

  test('reports an occupied port with the log', async () => {
    const fake = await startPaymentProvider()
    const port = Number(new URL(fake.endpoint).port)
    const starting = startLocalProvider({ port, logFile: join(folder, 'provider.log') })
    await expect(starting).rejects.toMatchObject({ output: expect.stringContaining('EADDRINUSE') })
    await fake.stop()
  })
})
