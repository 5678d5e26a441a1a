import { existsSync } from 'node:fs'
import { chown, mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '#test/support/free-port.ts'
import { pidsOf, run, start } from './processes.ts'

export interface Postgres {
  version: string
  port: number
  pids: number[]
  /** Runs one statement. @returns its rows as text, one on each line. */
  sql(database: string, statement: string): Promise<string>
}

export const superuser = 'postgres'
const debian = '/usr/lib/postgresql'
const readyWithinMs = 30_000

/** A separate cluster on loopback, in a temporary folder, with default settings except the address. */
export async function startPostgres(): Promise<Postgres> {
  const programs = await findPrograms()
  const user = await otherThanRoot()
  const folder = await mkdtemp(join(tmpdir(), 'bench-postgres-'))
  if (user) await chown(folder, user.uid, user.gid)
  const as = user && { user }
  const data = join(folder, 'data')
  const made = ['-D', data, '-U', superuser, '-A', 'trust', '-E', 'UTF8']
  await run(join(programs, 'initdb'), made, { folder, leaves: folder, ...as })
  const port = await freePort()
  const settings = ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=']
  // SIGINT closes its connections and then ends it.
  const server = start(join(programs, 'postgres'), ['-D', data, '-p', `${port}`, ...settings], {
    folder,
    stopSignal: 'SIGINT',
    leaves: folder,
    ...as,
  })
  const sql = (database: string, statement: string) => {
    const where = ['-h', '127.0.0.1', '-p', `${port}`, '-U', superuser, '-d', database]
    return run(join(programs, 'psql'), [...where, '-X', '-A', '-t', '-q', '-c', statement])
  }
  const deadline = performance.now() + readyWithinMs
  for (;;) {
    const version = await sql('postgres', 'show server_version').catch(() => undefined)
    if (version) return { version: version.split(' ')[0] ?? version, port, pids: pidsOf(server), sql }
    if (performance.now() > deadline) throw new Error(`PostgreSQL did not start: ${server.output()}`)
    await sleep(200)
  }
}

/** Debian keeps the server's programs off the PATH. */
async function findPrograms(): Promise<string> {
  const versions = await readdir(debian).catch(() => [])
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a))
  const folders = [
    ...newestFirst.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ]
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')))
  if (found) return found
  throw new Error(
    'PostgreSQL is needed, and there is no initdb: on Debian and Ubuntu, apt-get install postgresql',
  )
}

/** PostgreSQL does not run as root, so it runs as the user of Debian's package. */
async function otherThanRoot(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const [uid, gid] = await Promise.all(['-u', '-g'].map((kind) => run('id', [kind, superuser])))
  return { uid: Number(uid), gid: Number(gid) }
}
