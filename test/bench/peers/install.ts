import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './processes.ts'

const installed = join(import.meta.dirname, '../../../.local/peers')

/**
 * Installs a peer from npm in the versions of its package.json, unless they are installed. There is no lock file: as for
 * users of a peer, npm chooses what the peer itself depends on.
 * @returns its folder, which git ignores because peers are not dependencies of the project
 */
export async function install(peer: string): Promise<string> {
  const folder = join(installed, peer)
  const stamp = join(folder, 'installed.txt')
  const wanted = await readFile(join(import.meta.dirname, peer, 'package.json'), 'utf8')
  const present = await readFile(stamp, 'utf8').catch(() => undefined)
  if (present === wanted) return folder
  console.log(`installing ${peer} …`)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), wanted)
  // Package scripts are not run, because no peer needs them.
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { folder })
  await writeFile(stamp, wanted)
  return folder
}

/** Returns the version of a package in a peer's folder. */
export async function versionOf(folder: string, name: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
  return version
}
