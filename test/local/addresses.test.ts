import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { addressesIn, withFreePorts } from '#bin/local/addresses.ts'
import { freePort } from '#test/support/free-port.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'commerce-addresses-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function profileWith(endpoint: unknown, origins: unknown = [], more = {}): Promise<string> {
  const file = join(folder, 'chosen.json')
  const values = {
    'refunds.provider': { endpoint, attemptMilliseconds: 2000 },
    'cors.allowedOrigins': origins,
    other: 1,
    ...more,
  }
  await writeFile(file, JSON.stringify(values))
  return file
}

describe('the port of the payment provider', () => {
  test.each([
    ['http://127.0.0.1:4577', 4577],
    ['http://127.0.0.1:4577/', 4577],
    ['http://127.0.0.1', 80],
    ['https://api.stripe.com', undefined],
    ['https://127.0.0.1:4577', undefined],
    ['nonsense', undefined],
    [undefined, undefined],
  ])('of %s is %s', async (endpoint, port) => {
    expect((await addressesIn(await profileWith(endpoint))).providerPort).toBe(port)
  })
})

test('the pages are served at the first origin of this machine', async () => {
  const origins = ['https://shop.example', 'http://localhost:5173', 'http://localhost:5174']
  expect((await addressesIn(await profileWith('', origins))).pages).toBe('http://localhost:5173')
})

test.each(['', '[', '"text"', 'null', '{"cors.allowedOrigins":1}'])(
  'an invalid profile %p is left to synthesis',
  async (text) => {
    const file = join(folder, 'invalid.json')
    await writeFile(file, text)
    expect(await addressesIn(file)).toEqual({ providerPort: undefined, pages: undefined, origins: [] })
  },
)

describe('the ports of a run', () => {
  const directory = () => join(folder, 'run')
  /** Occupies a port until the work is done. */
  async function occupied<T>(port: number, host: string, work: () => Promise<T>): Promise<T> {
    const server = createServer().listen(port, host)
    await once(server, 'listening')
    return work().finally(() => server.close())
  }
  const local = async () => {
    const [provider, pages] = [await freePort(), await freePort()]
    const file = await profileWith(`http://127.0.0.1:${provider}`, [
      `http://localhost:${pages}`,
      'https://shop.example',
    ])
    return { file, provider, pages }
  }
  const portsIn = async (file: string) => {
    const { providerPort = 0, pages = '' } = await addressesIn(file)
    return { provider: providerPort, pages: Number(new URL(pages).port) }
  }

  test('are those of the profile', async () => {
    const { file } = await local()
    expect(await withFreePorts(file, { port: 1, moved: false, directory: directory() })).toBe(file)
  })

  test('are higher if another program uses them', async () => {
    const { file, provider, pages } = await local()
    const used = await occupied(provider, '127.0.0.1', () =>
      occupied(pages, 'localhost', () =>
        withFreePorts(file, { port: 1, moved: false, directory: directory() }),
      ),
    )
    const found = await portsIn(used)
    expect([found.provider > provider, found.pages > pages]).toEqual([true, true])
  })

  test('follow --port, and differ from each other', async () => {
    const { file } = await local()
    const port = await freePort()
    const found = await portsIn(await withFreePorts(file, { port, moved: true, directory: directory() }))
    expect([found.provider > port, found.pages > found.provider]).toEqual([true, true])
  })

  test('are near --port', async () => {
    const { file } = await local()
    const port = await freePort()
    const found = await portsIn(await withFreePorts(file, { port, moved: true, directory: directory() }))
    expect(found.pages).toBeLessThan(port + 1000)
  })

  test('change nothing else', async () => {
    const { file } = await local()
    const copy = await withFreePorts(file, { port: 20_000, moved: true, directory: directory() })
    const {
      'refunds.provider': provider,
      'cors.allowedOrigins': origins,
      ...rest
    } = JSON.parse(await readFile(copy, 'utf8'))
    expect([provider.attemptMilliseconds, origins.at(-1), rest]).toEqual([
      2000,
      'https://shop.example',
      { other: 1 },
    ])
  })

  test('are in the address of the page of errors, too', async () => {
    const docs = 'http://localhost:5173/errors.html'
    const file = await profileWith('https://api.stripe.com', ['http://localhost:5173'], {
      'errors.docs': docs,
    })
    const copy = await withFreePorts(file, { port: 20_000, moved: true, directory: directory() })
    const { pages } = await portsIn(copy)
    const moved = JSON.parse(await readFile(copy, 'utf8'))['errors.docs']
    expect([moved, pages > 20_000]).toEqual([`http://localhost:${pages}/errors.html`, true])
  })

  test('are in a folder for its user only', async () => {
    const { file } = await local()
    await withFreePorts(file, { port: 20_000, moved: true, directory: directory() })
    expect((await stat(directory())).mode & 0o777).toBe(0o700)
  })

  test('leave a provider and pages elsewhere alone', async () => {
    const file = await profileWith('https://api.stripe.com', ['https://shop.example'])
    expect(await withFreePorts(file, { port: 20_000, moved: true, directory: directory() })).toBe(file)
  })
})
