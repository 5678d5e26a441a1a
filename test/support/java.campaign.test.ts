import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'

const run = promisify(execFile)
let scratch: string
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'java-'))
})
afterAll(() => rm(scratch, { recursive: true, force: true }))

/** Runs a program with modules of this folder, and returns what it prints. */
async function print(program: string, env: NodeJS.ProcessEnv): Promise<string> {
  const options = { cwd: import.meta.dirname, env: { ...process.env, ...env } }
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], options)
  return stdout.trim()
}

test('DynamoDB Local runs on a machine with Node and Python only', async () => {
  // A virtual environment refers to the Python that made it, so a link in this folder would not do.
  const { stdout } = await run('python3', ['-c', 'import sys; print(sys.executable)'])
  await writeFile(join(scratch, 'python3'), `#!/bin/sh\nexec ${stdout.trim()} "$@"\n`, { mode: 0o755 })
  const program = `import { startDynamodbLocal } from './dynamodb-local.ts'
    const local = await startDynamodbLocal()
    console.log((await fetch(local.endpoint)).status)
    await local.stop()`
  expect(await print(program, { PATH: scratch })).toBe('400')
})

describe('the mirror of Maven Central', () => {
  const pom = `<project><modelVersion>4.0.0</modelVersion>
    <groupId>example</groupId><artifactId>sample</artifactId><version>1</version></project>`
  const mirror = createServer(({ url = '' }, response) => {
    const known = url.startsWith('/mirror/example/sample/1/sample-1.')
    response.writeHead(known ? 200 : 404).end(url.endsWith('.pom') ? pom : emptyZip)
  })
  const emptyZip = Buffer.concat([Buffer.from('PK\x05\x06'), Buffer.alloc(18)])
  let address: string
  beforeAll(async () => {
    await new Promise<void>((resolve) => mirror.listen(0, '127.0.0.1', resolve))
    address = `http://127.0.0.1:${(mirror.address() as AddressInfo).port}/mirror`
  })
  afterAll(() => new Promise((resolve) => mirror.close(resolve)))

  const jgoSettings = () => `[repositories]\ncentral = ${address}\n`
  const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex')

  test.each([
    [
      '.m2/settings.xml',
      () => `<settings><mirrors><mirror>
        <mirrorOf>central</mirrorOf><url>${address}</url></mirror></mirrors></settings>`,
    ],
    ['.config/jgo.conf', jgoSettings],
  ])('is the one of %s', async (file, textOf) => {
    expect(await fetched(file, textOf(), sha256(emptyZip))).toBe("[ 'sample-1.jar' ]")
  })

  test('delivers no file of another hash', async () => {
    const fetching = fetched('.config/jgo.conf', jgoSettings(), sha256(Buffer.from('other')))
    await expect(fetching).rejects.toThrow(`${sha256(emptyZip)}  sample-1.jar`)
  })

  /** Fetches a jar with a file of settings, and returns the names of the fetched files. */
  async function fetched(file: string, text: string, hash: string): Promise<string> {
    const home = await mkdtemp(join(scratch, 'home-'))
    await mkdir(join(home, file, '..'), { recursive: true })
    await writeFile(join(home, file), text)
    const hashes = join(home, 'jars.sha256')
    await writeFile(hashes, `${hash}  sample-1.jar\n`)
    const name = `sample-${crypto.randomUUID()}`
    const program = `import { readdir, rm } from 'node:fs/promises'
      import { mavenArtifacts } from './java.ts'
      const folder = await mavenArtifacts('${name}', ['example:sample:1'], '${hashes}')
      console.log(await readdir(folder))
      await rm(folder, { recursive: true })`
    return print(program, { HOME: home, M2_REPO: join(home, 'repository') })
  }
})
