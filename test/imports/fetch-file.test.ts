import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { fetchFile, internet, type Network } from '#shared/platform/fetch/fetch-file.ts'
import { isPublicAddress } from '#shared/platform/fetch/public-address.ts'

const pages: Record<string, RequestListener> = {
  '/file.csv': (_, answer) => answer.end('email\na@example.com\n'),
  '/large': (_, answer) => {
    const piece = 'x'.repeat(10_000)
    const send = () => {
      if (answer.destroyed) return
      answer.write(piece)
      setImmediate(send)
    }
    send()
  },
  '/announced': (_, answer) => answer.writeHead(200, { 'Content-Length': '999999' }).end(),
  '/cut': (_, answer) => {
    answer.writeHead(200, { 'Content-Length': '100' })
    answer.write('email\n')
    setTimeout(() => answer.destroy(), 20)
  },
  '/packed': (_, answer) => answer.writeHead(200, { 'Content-Encoding': 'gzip' }).end('x'),
  '/gone': (_, answer) => answer.writeHead(404).end(),
  '/silent': () => {},
}
let server: Server
let port: number
const reached: string[] = []
beforeAll(async () => {
  server = createServer((asked, answer) => {
    const { pathname, searchParams } = new URL(asked.url ?? '', 'http://x')
    reached.push(`${asked.headers.host}${pathname}`)
    const to = searchParams.get('to')
    if (pathname === '/to') answer.writeHead(302, { Location: to ?? '' }).end()
    else if (pathname === '/count') {
      const left = Number(to)
      const next = left > 0 ? `/count?to=${left - 1}` : '/file.csv'
      answer.writeHead(307, { Location: next }).end()
    } else (pages[pathname] ?? pages['/gone'])?.(asked, answer)
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** The internet, but for a server on this machine: it is reached in plain HTTP, and its address counts as public. */
function network(names: Record<string, string[] | (() => string[])> = {}): Network {
  return {
    async resolve(name) {
      const known = names[name] ?? (name === 'files.example' ? ['127.0.0.1'] : undefined)
      if (!known) throw new Error('ENOTFOUND')
      return typeof known === 'function' ? known() : known
    },
    mayReach: (address) => address === '127.0.0.1' || isPublicAddress(address),
    request: (url, options) =>
      httpRequest({ ...options, host: url.hostname, port, path: url.pathname + url.search }),
  }
}

async function get(path: string, names?: Parameters<typeof network>[0], signal = AbortSignal.timeout(5000)) {
  const url = path.startsWith('/') ? `https://files.example${path}` : path
  const request = {
    url,
    field: 'file_url',
    maxBytes: 50_000,
    tooLarge: 'VALIDATION.body.too_large',
    signal,
  } as const
  let text = ''
  for await (const bytes of fetchFile(request, network(names))) text += Buffer.from(bytes).toString()
  return text
}
const redirect = (to: string) => `/to?to=${encodeURIComponent(to)}`
const privateRange = { code: 'VALIDATION.url.private_range' }

describe('a file', () => {
  test('comes from the address that its name was checked for', async () => {
    expect(await get('/file.csv')).toBe('email\na@example.com\n')
  })

  test('is given up once it is larger than allowed, whether or not it says so before', async () => {
    const details = { fields: { file_url: expect.objectContaining({ reason: 'too_large', max: 50_000 }) } }
    const tooLarge = { code: 'VALIDATION.body.too_large', http: 413, details }
    await expect(get('/large')).rejects.toMatchObject(tooLarge)
    await expect(get('/announced')).rejects.toMatchObject(tooLarge)
  })

  test.each([
    ['is cut off', '/cut', 'interrupted'],
    ['comes compressed', '/packed', 'encoded'],
    ['is not there', '/gone', 'status_404'],
    ['has a host that nobody knows', 'https://unknown.example/', 'name'],
  ])('that %s cannot be had', async (_, path, reason) => {
    await expect(get(path)).rejects.toMatchObject({
      code: 'DEPENDENCY.bad_gateway',
      details: { reason },
    })
  })

  test('of a host that says nothing is given up when the time is spent', async () => {
    await expect(get('/silent', {}, AbortSignal.timeout(200))).rejects.toMatchObject({
      code: 'DEPENDENCY.bad_gateway',
    })
  })
})

describe('a private address is never reached', () => {
  test('by a name that resolves to one, even beside a public one', async () => {
    for (const addresses of [
      ['10.0.0.1'],
      ['127.0.0.1', '169.254.169.254'],
      ['fd00:ec2::254'],
      ['::ffff:10.0.0.1'],
    ]) {
      const before = reached.length
      await expect(get('https://inner.example/', { 'inner.example': addresses })).rejects.toMatchObject(
        privateRange,
      )
      expect(reached.length).toBe(before)
    }
  })

  test.each([
    'https://127.0.0.2/',
    'https://2130706434/',
    'https://[::1]/',
    'https://[::ffff:169.254.169.254]/',
    'https://inner.example/',
  ])('by a redirect to %s', async (to) => {
    const names = { 'inner.example': ['192.168.0.1'] }
    await expect(get(redirect(to), names)).rejects.toMatchObject(privateRange)
    await expect(get(redirect(`https://files.example${redirect(to)}`), names)).rejects.toMatchObject(
      privateRange,
    )
  })

  test('by a name that stands for another address after it was checked', async () => {
    let asked = 0
    const names = { 'rebinding.example': () => [asked++ === 0 ? '127.0.0.1' : '10.0.0.1'] }
    expect(await get('https://rebinding.example/file.csv', names)).toContain('email')
    expect(asked).toBe(1)
    expect(reached.at(-1)).toBe(`rebinding.example:${port}/file.csv`)
  })

  test('by the network that is deployed: it takes public addresses alone', async () => {
    expect(internet.mayReach('127.0.0.1')).toBe(false)
    const request = {
      url: `https://localhost:${port}/`,
      field: 'file_url',
      maxBytes: 1,
      tooLarge: 'VALIDATION.body.too_large',
      signal: AbortSignal.timeout(5000),
    } as const
    await expect(fetchFile(request, internet).next()).rejects.toMatchObject(privateRange)
  })
})

describe('redirects', () => {
  test('are followed a few times, relative ones too', async () => {
    expect(await get('/count?to=4')).toContain('email')
    await expect(get('/count?to=5')).rejects.toMatchObject({ details: { reason: 'redirects' } })
  })

  test.each(['http://files.example/file.csv', 'ftp://files.example/', 'https://user:pw@files.example/'])(
    'to %s are refused',
    async (to) => {
      await expect(get(redirect(to))).rejects.toMatchObject({ code: 'VALIDATION.field.format' })
    },
  )
})
