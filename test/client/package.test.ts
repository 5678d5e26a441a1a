import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { build } from 'esbuild'
import { clientTypes } from '#bin/client-types.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const client = join(root, 'client')
const built = join(root, 'node_modules/.cache', `commerce-client-${process.pid}`)

beforeAll(async () => {
  await mkdir(built, { recursive: true })
  await copyFile(join(client, 'package.json'), join(built, 'package.json'))
  // With the types of a browser, without those of Node.
  await run('node', [
    join(root, 'node_modules/typescript/bin/tsc'),
    '-p',
    client,
    '--outDir',
    join(built, 'dist'),
  ])
}, 60_000)
afterAll(() => rm(built, { recursive: true, force: true }))

test('schema.ts is generated from openapi.json', async () => {
  const description = JSON.parse(await readFile(join(root, 'openapi.json'), 'utf8'))
  expect(await readFile(join(client, 'schema.ts'), 'utf8')).toBe(await clientTypes(description))
})

test('the built package contains its types and runs without a compiler', async () => {
  const { exports } = JSON.parse(await readFile(join(built, 'package.json'), 'utf8'))
  const entry = join(built, exports['.'])
  const script = `import { commerceClient, CommerceError } from ${JSON.stringify(entry)}
    const client = commerceClient({ baseUrl: 'http://localhost' })
    console.log(typeof client.POST, CommerceError.name)`
  const { stdout } = await run('node', ['--no-experimental-strip-types', '--input-type=module', '-e', script])
  expect(stdout.trim()).toBe('function CommerceError')
  expect(await readFile(entry.replace(/\.js$/, '.d.ts'), 'utf8')).toContain('interface CommerceClient')
})

test('the package is as small as its README states, for a browser and with its dependencies', async () => {
  const { outputFiles } = await build({
    entryPoints: [join(client, 'commerce-client.ts')],
    ...{ bundle: true, minify: true, write: false, format: 'esm', platform: 'browser' },
  })
  const [, kilobytes] =
    /([\d.]+) KB with\s+gzip/.exec(await readFile(join(client, 'README.md'), 'utf8')) ?? []
  expect(gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length / 1000).toBeLessThan(Number(kilobytes))
})
