import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { withGo } from '../go.ts'

const version = 'v0.203.0'
const module = 'github.com/stripe/stripe-mock'
const cache = join(import.meta.dirname, '../../../node_modules/.cache/stripe-mock')
const readyWithinMilliseconds = 120_000

interface StripeMock {
  endpoint: string
  stop(): Promise<void>
}

/**
 * Starts Stripe's own mock on loopback, which validates requests against Stripe's API description. It is built once.
 */
export async function startStripeMock(): Promise<StripeMock> {
  const binary = await ensureBinary()
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  const child = spawn(binary, ['-http-addr', `127.0.0.1:${port}`], { stdio: 'ignore' })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.removeListener('exit', kill))
  await once(child, 'spawn')
  if (!(await answers(endpoint, child))) {
    kill()
    throw new Error(`stripe-mock ${version} did not answer within ${readyWithinMilliseconds / 1000} s`)
  }
  return { endpoint, stop: () => stop(child) }
}

/** Returns the path of the binary, which is compiled once: no package registry publishes it. */
async function ensureBinary(): Promise<string> {
  const folder = join(cache, version)
  const binary = join(folder, 'stripe-mock')
  if (existsSync(binary)) return binary
  await mkdir(cache, { recursive: true })
  const aside = await mkdtemp(join(cache, 'build-'))
  try {
    await withGo((go) => go('install', `${module}@${version}`), { GOBIN: aside })
    // A rename is atomic for other runs. If another run was faster, its folder is used.
    await rename(aside, folder).catch((error) => {
      if (!existsSync(binary)) throw error
    })
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
  return binary
}

async function answers(endpoint: string, child: ChildProcess): Promise<boolean> {
  const deadline = performance.now() + readyWithinMilliseconds
  while (performance.now() < deadline && child.exitCode === null) {
    // Any response suffices: without a key it is a 401.
    const response = await fetch(endpoint).catch(() => undefined)
    await response?.body?.cancel()
    if (response) return true
    await sleep(50)
  }
  return false
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
