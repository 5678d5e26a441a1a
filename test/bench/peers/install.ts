import { createHash } from 'node:crypto'
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './processes.ts'

const installed = join(import.meta.dirname, '../../../.local/peers')
const files = ['package.json', 'package-lock.json']

/**
 * Installs a peer from npm by its lock file, unless this version of it is installed.
 * @returns its folder, which git ignores because peers are not dependencies of the project
 */
export async function install(peer: string): Promise<string> {
  const folder = join(installed, peer)
  const stamp = join(folder, 'installed.txt')
  const sources = files.map((file) => join(import.meta.dirname, peer, file))
  const hash = createHash('sha256')
  for (const source of sources) hash.update(await readFile(source))
  const wanted = hash.digest('hex')
  const present = await readFile(stamp, 'utf8').catch(() => undefined)
  if (present === wanted) return folder
  console.log(`installing ${peer} …`)
  await rm(stamp, { force: true })
  await mkdir(folder, { recursive: true })
  for (const file of files) await copyFile(join(import.meta.dirname, peer, file), join(folder, file))
  // Package scripts are not run, because no peer needs them.
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { folder })
  await writeFile(stamp, wanted)
  return folder
}

/** Returns the version of a package in a peer's folder. */
export async function versionOf(folder: string, name: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
  return version
}
