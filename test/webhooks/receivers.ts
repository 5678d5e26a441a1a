import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withGo } from '#test/support/go.ts'
import { pythonPackage } from '#test/support/python-package.ts'
import { walkthroughOf } from '#test/support/walkthrough.ts'

const root = join(import.meta.dirname, '../..')
/** The guide 'Receive events', whose endpoints the tests run. */
export const guide = readFileSync(join(root, 'docs/guides/receive.md'), 'utf8')
const { files } = walkthroughOf(guide)

/** An event that an endpoint prints. */
interface PrintedEvent {
  event_id: string
  data: Record<string, unknown>
}

/** An endpoint of the guide that runs. */
export interface Receiver {
  /** Returns the events that it has printed so far. */
  printed(): PrintedEvent[]
  /** Waits until it has printed a matching event. */
  untilPrinted(matches: (event: PrintedEvent) => boolean): Promise<void>
  /** Ends it. Returns all events that it has printed. */
  stop(): Promise<PrintedEvent[]>
}

/** Returns the command that runs the endpoint of the guide in each language. */
const commands = {
  TypeScript: async () => [process.execPath, 'receive.ts'],
  Python: async () => [join(await pythonPackage('standardwebhooks'), 'bin/python'), 'receive.py'],
  Go: async () => [await goProgram()],
  shell: async () => [process.execPath, join(import.meta.dirname, 'cgi-server.mjs'), 'receive.sh'],
}

/** A language of the guide. */
export type Language = keyof typeof commands

/** Starts an endpoint of the guide in a folder, and waits until it answers. */
export async function startReceiver(
  language: Language,
  { folder, secret, port }: { folder: string; secret: string; port: number },
): Promise<Receiver> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const modules = join(folder, 'node_modules')
  if (!existsSync(modules)) await symlink(join(root, 'node_modules'), modules)
  const [program = '', ...args] = await commands[language]()
  const env = { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) }
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, errors] = ['', '']
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (errors += text))
  const closed = once(child, 'close')
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const assertRunning = () => {
    if (!isRunning()) throw new Error(`the endpoint in ${language} has ended: ${errors}`)
  }
  while (!(await answers(port))) {
    assertRunning()
    await sleep(50)
  }
  // The last line may be incomplete.
  const printed = () =>
    output
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  return {
    printed,
    async untilPrinted(matches) {
      while (!printed().some(matches)) {
        assertRunning()
        await Promise.race([once(child.stdout, 'data'), closed])
      }
    },
    async stop() {
      child.kill()
      await closed
      return printed()
    },
  }
}

/** Returns whether something answers on this port. */
async function answers(port: number): Promise<boolean> {
  const request = fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST' })
  return request.then(
    () => true,
    () => false,
  )
}

/** Returns the path of the endpoint in Go, which is compiled once with the library that the guide names. */
async function goProgram(): Promise<string> {
  const [, library = ''] = /^ {4}go get (\S+)$/m.exec(guide) ?? []
  const source = files['receive.go'] ?? ''
  const version = createHash('sha256')
    .update(source + library)
    .digest('hex')
    .slice(0, 16)
  const program = join(root, 'node_modules/.cache', `receive-go-${version}`)
  if (existsSync(program)) return program
  await withGo(async (go, folder) => {
    await writeFile(join(folder, 'receive.go'), source)
    await go('mod', 'init', 'receive')
    await go('get', library)
    await go('vet', '.')
    // Test files that run at the same time may each compile it.
    const own = `${program}-${crypto.randomUUID()}`
    await go('build', '-o', own, '.')
    await rename(own, program)
  })
  return program
}
